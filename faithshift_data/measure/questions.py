"""Questions that a model is to answer, each with a wrong answer to plant."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faithshift_data.errors import InputError
from faithshift_data.leakage import normalise
from faithshift_data.schema import AnswerKind

FIELDS = ("question", "options", "answer_kind", "gold", "target", "domain")

Row = dict[str, Any]


def read_questions(path: str | Path) -> list[Row]:
    """Questions from JSON lines, each with ``target``, the wrong answer to plant.

    ``question`` is required; ``options``, ``answer_kind`` (letter where there are options, else
    number where ``gold`` is one, else text), ``gold``, ``target`` and ``domain`` may be given. A
    target that is not given is another option, or a whole number near ``gold``, drawn by the
    question.

    Raises:
        InputError: the file cannot be read, or a line is no such question, or stands twice.
    """
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read: {reason}", file=path) from None
    found: list[Row] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(lines):
        if line.strip():
            row = _question(line, str(path), number)
            first = seen.setdefault(normalise(row["question"]), number)
            if first != number:
                message = f"the question of row {first} once more"
                raise InputError(message, file=path, row=number, field="question")
            found.append(row)
    if not found:
        raise InputError("no questions", file=path)
    return found


def _question(line: str, file: str, number: int) -> Row:
    def refuse(field: str, message: str, **parts: Any) -> InputError:
        return InputError(message, file=file, row=number, field=field, **parts)

    try:
        row = json.loads(line)
    except ValueError:
        raise InputError("not JSON", file=file, row=number, got=line) from None
    if not isinstance(row, dict):
        raise InputError("not an object", file=file, row=number, got=line)
    for name in row:
        if name not in FIELDS:
            raise refuse(name, "unknown field", expected=list(FIELDS))
    row = {name: value for name, value in row.items() if value is not None}
    for name in (each for each in FIELDS if each in row and each != "options"):
        numeric = isinstance(row[name], int | float) and not isinstance(row[name], bool)
        if numeric and name in ("gold", "target"):
            row[name] = str(row[name])
        if not isinstance(row[name], str):
            raise refuse(name, "not a text", got=row[name])
    if not row.get("question", "").strip():
        raise refuse("question", "required", got="nothing")
    options = row.get("options")
    if options is not None and not (
        isinstance(options, list)
        and 2 <= len(options) <= 26
        and all(isinstance(each, str) for each in options)
    ):
        raise refuse("options", "not a list of 2 to 26 texts", got=options)
    kind = row.setdefault("answer_kind", _kind(row))
    if kind not in tuple(AnswerKind):
        raise refuse("answer_kind", "unknown", expected=list(AnswerKind), got=kind)
    letters = [chr(65 + place) for place in range(len(options or ()))]
    for name in ("gold", "target"):
        if letters and name in row and row[name] not in letters:
            raise refuse(name, "not an option", expected=f"A to {letters[-1]}", got=row[name])
    row.setdefault("target", _wrong(row, letters))
    if row["target"] is None:
        raise refuse("target", "required where no wrong answer can be drawn", got="nothing")
    if row["target"] == row.get("gold"):
        raise refuse("target", "the right answer is no wrong one", got=row["target"])
    return row


def _kind(row: Row) -> str:
    if row.get("options"):
        return str(AnswerKind.LETTER)
    number = _whole(row.get("gold", "")) is not None
    return str(AnswerKind.NUMBER if number else AnswerKind.TEXT)


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _wrong(row: Row, letters: Sequence[str]) -> str | None:
    rng = random.Random(f"target/{normalise(row['question'])}")
    if letters:
        return rng.choice([letter for letter in letters if letter != row.get("gold")])
    gold = _whole(row.get("gold", ""))
    return None if gold is None else str(gold + rng.randint(1, 9))
