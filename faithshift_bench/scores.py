"""A scores file: one score a trace and seed, and the 1:1 check against the data.

Columns: trace_id, seed (0 where absent), score (finite, in [0, 1], the probability that the trace
is faithful) and optionally confidence in [0, 1]. Every trace of validation and test must appear
once a seed; rows of train are ignored with a count. Rows are numbered from 0 in messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.score_files import about_of, read_columns
from faithshift_data.errors import InputError

COLUMNS = ("trace_id", "seed", "score", "confidence")
UNIT = "a finite number in [0, 1]"
MAX_SEED = 2**31 - 1


class Aligned(NamedTuple):
    """Scores in the order of the data's traces: seeds (S,), scores and confidence (S, n)."""

    seeds: tuple[int, ...]
    scores: NDArray[np.float64]
    confidence: NDArray[np.float64] | None
    n_ignored: int


@dataclass(frozen=True)
class ScoreTable:
    """Checked scores (n rows), not yet matched against data.

    Attributes:
        trace_id: (n,) ids.
        seed: (n,) integers, 0 or more.
        score: (n,) in [0, 1]: the probability that the trace is faithful.
        confidence: (n,) in [0, 1], or None: the margin around tau is used.
        source: what messages call the input.
        about: detector, revision, params, reads_label_evidence, where the file says so.
    """

    trace_id: NDArray[np.str_]
    seed: NDArray[np.int64]
    score: NDArray[np.float64]
    confidence: NDArray[np.float64] | None = None
    source: str = "scores"
    about: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.trace_id)

    @classmethod
    def load(cls, scores: Any, *, source: str | None = None) -> ScoreTable:
        """Scores from a path (.parquet, .csv, .jsonl), a table, a data frame or a dict of columns.

        Raises:
            InputError: naming the file, row and field of the first fault.
        """
        if isinstance(scores, ScoreTable):
            return scores
        about: dict[str, Any] = {}
        if isinstance(scores, str | Path):
            path = Path(scores)
            source = source or path.name
            columns, about = read_columns(path, source)
        else:
            columns = _columns_of(scores)
            about = about_of(getattr(getattr(scores, "schema", None), "metadata", None))
        return cls.from_columns(columns, source=source or "scores", about=about)

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Iterable[Any]],
        *,
        source: str = "scores",
        about: Mapping[str, Any] | None = None,
    ) -> ScoreTable:
        """Check raw columns, each a sequence of n values.

        Raises:
            InputError: on an unknown or missing column, unequal lengths, no rows, or a value that
                is null, of another type, or out of range.
        """
        unknown = [str(name) for name in columns if name not in COLUMNS]
        if unknown:
            raise InputError(
                "unknown column",
                file=source,
                field=unknown[0],
                expected=" | ".join(COLUMNS),
                got=unknown[0],
            )
        for name in ("trace_id", "score"):
            if name not in columns:
                raise InputError(
                    "missing column",
                    file=source,
                    field=name,
                    expected=name,
                    got=", ".join(map(str, columns)) or "no columns",
                )
        ids = _each(columns["trace_id"], _text, source, "trace_id", "a non-empty string")
        n = len(ids)
        if n == 0:
            raise InputError(
                "no rows",
                file=source,
                row="-",
                field="trace_id",
                expected="a row a trace and seed",
                got="none",
            )
        seeds = [0] * n
        if "seed" in columns:
            seeds = _each(columns["seed"], _integer, source, "seed", "a whole number, 0 or more")
        values = _each(columns["score"], _unit, source, "score", UNIT)
        trust = None
        if "confidence" in columns:
            trust = _each(columns["confidence"], _unit, source, "confidence", UNIT)
        for name, column in (("seed", seeds), ("score", values), ("confidence", trust)):
            if column is not None and len(column) != n:
                raise InputError(
                    "columns of unequal length",
                    file=source,
                    row=min(n, len(column)),
                    field=name,
                    expected=f"{n} values",
                    got=len(column),
                )
        return cls(
            np.array(ids, dtype=np.str_),
            np.array(seeds, dtype=np.int64),
            np.array(values),
            None if trust is None else np.array(trust),
            source,
            dict(about or {}),
        )

    def align(self, trace_id: NDArray[np.str_], ignore: Iterable[str] = ()) -> Aligned:
        """Match against the traces to be scored: once each, for every seed.

        Args:
            trace_id: (n,) distinct ids, ascending.
            ignore: ids (of train) whose rows are left out and counted.

        Raises:
            InputError: on an unknown trace, a repeated row, or a missing one.
        """
        ignored = np.isin(self.trace_id, np.array(sorted(ignore), dtype=np.str_))
        rows = np.flatnonzero(~ignored)
        ids, n = self.trace_id[rows], len(trace_id)
        at = np.minimum(np.searchsorted(trace_id, ids), max(n - 1, 0))
        strange = np.flatnonzero(trace_id[at] != ids) if n else np.arange(len(ids))
        if len(strange):
            raise InputError(
                "unknown trace",
                file=self.source,
                row=int(rows[strange[0]]),
                field="trace_id",
                expected="a trace_id of the data",
                got=_some(ids[strange]),
            )
        seeds = np.unique(self.seed)
        cell = np.searchsorted(seeds, self.seed[rows]) * n + at
        first = np.full(len(seeds) * n, -1)
        order = np.arange(len(rows))[::-1]
        first[cell[order]] = order
        again = np.flatnonzero(first[cell] != np.arange(len(rows)))
        if len(again):
            row, before = int(rows[again[0]]), int(rows[first[cell[again[0]]]])
            repeat = f"{self.trace_id[row]} of seed {self.seed[row]} as in row {before}"
            repeat += f", and {len(again) - 1} more" * (len(again) > 1)
            raise InputError(
                "repeated row",
                file=self.source,
                row=row,
                field="trace_id",
                expected="each trace once a seed",
                got=repeat,
            )
        absent = np.flatnonzero(first < 0)
        if len(absent):
            seed, trace = seeds[absent[0] // n], trace_id[absent[0] % n]
            raise InputError(
                "missing row",
                file=self.source,
                row=f"{trace} of seed {seed}",
                field="trace_id",
                got=f"{len(absent)} missing",
                expected="every trace of validation and test once a seed",
            )
        placed = rows[first].reshape(len(seeds), n)
        return Aligned(
            tuple(int(s) for s in seeds),
            self.score[placed],
            None if self.confidence is None else self.confidence[placed],
            int(ignored.sum()),
        )


def _some(names: NDArray[np.str_]) -> str:
    """A name alone; of several, how many there are and the first ones."""
    different = list(dict.fromkeys(names.tolist()))
    if len(different) == 1:
        return str(different[0])
    return f"{len(different)}, such as {', '.join(different[:5])}"


def _each(
    values: Iterable[Any], convert: Callable[[Any], Any], source: str, name: str, expected: str
) -> list[Any]:
    result = []
    for row, value in enumerate(values):
        try:
            result.append(convert(value))
        except (ValueError, TypeError, OverflowError):
            got = "nothing" if value is None or value == "" else value
            raise InputError(
                "bad value", file=source, row=row, field=name, expected=expected, got=got
            ) from None
    return result


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _unit(value: Any) -> float:
    if value is None or isinstance(value, bool | np.bool_ | bytes):
        raise ValueError
    number = float(value)
    if not 0 <= number <= 1:
        raise ValueError
    return number


def _integer(value: Any) -> int:
    if isinstance(value, bool | np.bool_ | bytes):
        raise ValueError
    if isinstance(value, str):
        # Tables that pass through floats write 1 as 1.0.
        value = re.sub(r"\.0+(?=\s*$)", "", value)
    number = int(value)
    if number != (value if not isinstance(value, str) else number) or not 0 <= number <= MAX_SEED:
        raise ValueError
    return number


def _columns_of(scores: Any) -> dict[str, list[Any]]:
    if hasattr(scores, "to_pydict"):
        return scores.to_pydict()
    if hasattr(scores, "to_dict") and hasattr(scores, "columns"):
        # pandas: NaN stands for null, which _unit refuses all the same.
        return {str(name): list(scores[name]) for name in scores.columns}
    if isinstance(scores, Mapping):
        return {
            str(k): v.tolist() if isinstance(v, np.ndarray) else list(v) for k, v in scores.items()
        }
    raise InputError(
        "not scores",
        got=type(scores).__name__,
        expected="a path, ScoreTable, pyarrow Table, data frame or dict of columns",
    )
