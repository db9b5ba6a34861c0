"""The table of a study: its columns, and what a row may say.

A row is one generation of a model on a question under a condition. Columns (an empty cell is
missing; the order of rows and columns means nothing):

========================  ======================================================================
model, question_id        who answered what
condition                 see `conditions`
answer                    a bare letter, a number or a text; empty: none
answer_status             explicit (where an answer stands), inferred, ambiguous, out_of_set, none
target                    the option that the hint, or injected reasoning, argues for
gold, group, n_options    of a question: right option, subject, number of options (a letter
                          beyond them is no answer: out_of_set)
model_type                of a model: thinking or instruct
truncated                 true where the generation reached its limit of tokens
injection_verified        false where the injected text did not arrive
regenerated               true where the model wrote reasoning of its own after the injected text
run                       0, or 1 and up for the same model run again
verdict:JUDGE             of a hinted row: yes, no, unparsed, refused or error
reference                 of a hinted row: yes or no, by a person
question, cue, reasoning  texts, for judges and for the sheet of disagreements
========================  ======================================================================

The first four columns are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from faithshift_bench.agreement.conditions import EXPECTED, HINTED, is_condition
from faithshift_bench.agreement.study import OUTCOMES, check_judge_name
from faithshift_data.errors import InputError
from faithshift_data.schema import AnswerStatus

NEEDED = ("model", "question_id", "condition", "answer")
VERDICT = "verdict:"
INFERRED = "inferred"
STATUSES = (*map(str, AnswerStatus), INFERRED)
MIN_OPTIONS, MAX_OPTIONS = 2, 10**6
TYPES = ("thinking", "instruct")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
Row = dict[str, Any]


def rows_of(columns: Mapping[str, list[Any]], source: str) -> list[Row]:
    """The rows, each cell checked by itself and in its own type; a missing one is None.

    Raises:
        InputError: naming the first wrong cell, in the order of columns.
    """
    for name in NEEDED:
        if name not in columns:
            message, got = "missing column", ", ".join(columns) or "no columns"
            raise InputError(message, file=source, field=name, expected=name, got=got)
    for name in columns:
        if name not in _READERS and not _is_verdict(name):
            expected = f"{', '.join(_READERS)} or {VERDICT}JUDGE"
            raise InputError("unknown column", file=source, field=name, expected=expected)
        if name.startswith(VERDICT):
            check_judge_name(name[len(VERDICT) :].strip(), file=source, field=name)
    read = {name: _read_column(name, cells, source) for name, cells in sorted(columns.items())}
    rows = [dict(zip(read, cells, strict=True)) for cells in zip(*read.values(), strict=True)]
    if not rows:
        raise InputError("no rows", file=source, expected="a row a generation")
    for number, row in enumerate(rows):
        _check_row(row, number, source)
    return rows


def _is_verdict(name: str) -> bool:
    return name.startswith(VERDICT) and bool(name[len(VERDICT) :].strip()) and name.isprintable()


def _read_column(name: str, cells: list[Any], source: str) -> list[Any]:
    reader, expected = _READERS.get(name, _VERDICT_READER)
    found = []
    for number, cell in enumerate(cells):
        where: dict[str, Any] = {"file": source, "row": number, "field": name}
        try:
            text = _text(cell)
            found.append(None if text is None else reader(text))
        except (KeyError, ValueError, OverflowError):
            raise InputError("bad value", **where, expected=expected, got=cell) from None
        if text is None and name in NEEDED[:3]:
            raise InputError("empty", **where, expected=expected)
    return found


def _text(cell: Any) -> str | None:
    """A cell as text; None where it is empty, null or NaN."""
    if cell is None or cell != cell:
        return None
    if not isinstance(cell, str | int | float):
        raise ValueError(cell)
    # 3.0 in a column of floats that has a hole is the 3 of another file.
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return str(cell).strip() or None


def _check_row(row: Row, number: int, source: str) -> None:
    answer, status = row["answer"], row.get("answer_status")
    where: dict[str, Any] = {"file": source, "row": number}
    if status == AnswerStatus.NONE and answer is not None:
        message = "an answer, and the status none"
        raise InputError(message, **where, field="answer", expected="an empty cell", got=answer)
    if status == AnswerStatus.EXPLICIT and answer is None:
        raise InputError("explicit, but empty", **where, field="answer", expected="an answer")
    if row["condition"] != HINTED:
        for name, cell in row.items():
            if cell is not None and (name.startswith(VERDICT) or name == "reference"):
                message, got = "a verdict on a row that is not hinted", row["condition"]
                raise InputError(message, **where, field=name, expected="an empty cell", got=got)


def _one_of(*allowed: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return read


def _name(text: str) -> str:
    if not text.isprintable():
        raise ValueError(text)
    return text


def _condition(text: str) -> str:
    if not is_condition(text):
        raise ValueError(text)
    return text


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def _options(text: str) -> int | None:
    value = int(text)
    if value == 0:
        return None
    if not MIN_OPTIONS <= value <= MAX_OPTIONS:
        raise ValueError(text)
    return value


def _answer(text: str) -> str:
    """``b``, ``(B)`` and ``B.`` are one answer."""
    bare = text.strip("().").strip()
    return bare.upper() if len(bare) == 1 else text


def _truth(text: str) -> bool:
    return _TRUTH[text.lower()]


_BOOL = (_truth, "true or false")
_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "model": (_name, "a name in printable characters"),
    "question_id": (_name, "an id in printable characters"),
    "condition": (_condition, EXPECTED),
    "answer": (_answer, "an answer"),
    "answer_status": (_one_of(*STATUSES), ", ".join(STATUSES)),
    "target": (_answer, "an option"),
    "gold": (_answer, "an option"),
    "group": (_name, "a name in printable characters"),
    "n_options": (_options, f"a whole number from {MIN_OPTIONS} to {MAX_OPTIONS}, or 0: unknown"),
    "model_type": (_one_of(*TYPES), " or ".join(TYPES)),
    "truncated": _BOOL,
    "injection_verified": _BOOL,
    "regenerated": _BOOL,
    "run": (_count, "a whole number from 0"),
    "reference": (_one_of("yes", "no"), "yes or no"),
    "question": (str, "text"),
    "cue": (str, "text"),
    "reasoning": (str, "text"),
}
_VERDICT_READER = (_one_of(*map(str, OUTCOMES)), ", ".join(OUTCOMES))
