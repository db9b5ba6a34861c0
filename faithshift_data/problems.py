"""A problem that a check found, as data and as one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from faithshift_data.errors import InputError, describe

SHOWN = 20


@dataclass(frozen=True)
class Problem:
    """One finding: which check, where, and what was expected and got. ``str()`` is one line."""

    check: str
    message: str
    file: str | None = None
    row: str | int | None = None
    field: str | None = None
    expected: object = None
    got: object = None

    def __str__(self) -> str:
        """One line: place, message, expected, got."""
        place = (self.file, self.row, self.field)
        return f"{self.check}: {describe(self.message, *place, self.expected, self.got)}"

    @classmethod
    def of(cls, check: str, error: InputError) -> Problem:
        """The problem that an InputError reports."""
        return cls(
            check,
            error.message,
            file=None if error.file is None else str(error.file),
            row=error.row if error.row is None or isinstance(error.row, int) else str(error.row),
            field=error.field,
            expected=error.expected,
            got=error.got,
        )


def capped(problems: Iterable[Problem], limit: int = SHOWN) -> Iterator[Problem]:
    """The first ``limit`` of each kind in a file, in order, then one line a kind with the rest.

    Problems are of one kind if check, message, file and field are the same.
    """
    seen: Counter[tuple[str, str, str | None, str | None]] = Counter()
    for problem in problems:
        kind = (problem.check, problem.message, problem.file, problem.field)
        seen[kind] += 1
        if seen[kind] <= limit:
            yield problem
    for (check, message, file, field), count in seen.items():
        if count > limit:
            text = f"{message}: {count - limit} more, {count} in all"
            yield Problem(check, text, file, field=field)
