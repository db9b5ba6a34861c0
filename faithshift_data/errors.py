"""The one exception for bad input: a single line that says where and what."""

from __future__ import annotations


class InputError(ValueError):
    """Input of the user that cannot be used.

    Args:
        message: what is wrong, in a few words.
        file: the file (or table) it was found in.
        row: 0-based row number, or an id.
        field: column or key.
        expected: what would have been accepted.
        got: what was found.

    ``str(error)`` is one line with the parts that are known.
    """

    def __init__(
        self,
        message: str,
        *,
        file: object = None,
        row: object = None,
        field: str | None = None,
        expected: object = None,
        got: object = None,
    ) -> None:
        """Keep the parts, and make the line."""
        self.message, self.file, self.row, self.field = message, file, row, field
        self.expected, self.got = expected, got
        super().__init__(describe(message, file, row, field, expected, got))


def reason_of(error: BaseException, limit: int = 300) -> str:
    """What another's exception says, in one line: its type and its message."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:limit]


def describe(
    message: str, file: object, row: object, field: str | None, expected: object, got: object
) -> str:
    """One line from the known parts: ``file, row 3, field x: message (expected e, got g)``."""
    place = [str(file)] if file is not None else []
    place += [f"row {row}"] if row is not None else []
    place += [f"field {field}"] if field is not None else []
    found = [f"expected {_short(expected)}"] if expected is not None else []
    found += [f"got {_short(got)}"] if got is not None else []
    line = ": ".join([", ".join(place)] * bool(place) + [message])
    line += f" ({', '.join(found)})" if found else ""
    # What a stranger's file holds must not move the cursor of who reads the line.
    shown = (sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(line.split()))
    return "".join(shown)


def _short(value: object, limit: int = 120) -> str:
    text = str(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
