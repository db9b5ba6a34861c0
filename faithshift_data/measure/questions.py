"""Questions that a model is to answer, each with a wrong answer to plant."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from faithshift_data.answers.numbers import value_of
from faithshift_data.answers.texts import same
from faithshift_data.errors import InputError
from faithshift_data.leakage import normalise
from faithshift_data.markup import clean
from faithshift_data.schema import AnswerKind
from faithshift_data.wellformed import refuse_half_characters

FIELDS = ("question", "options", "answer_kind", "gold", "target", "domain")

Row = dict[str, Any]


def read_questions(path: str | Path) -> list[Row]:
    """Questions from JSON lines, each with ``target``, the wrong answer to plant.

    ``question`` is required; ``options``, ``answer_kind`` (letter where there are options, and
    only there; else number where ``gold`` is one, else text), ``gold``, ``target`` and ``domain``
    may be given. A target that is not given is another option, or a whole number near ``gold``,
    drawn by the question.

    Raises:
        InputError: the file cannot be read, or a line is no such question, or stands twice.
    """
    try:
        lines = Path(path).read_text("utf-8-sig").split("\n")
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
    except (ValueError, RecursionError):
        raise InputError("not JSON", file=file, row=number, got=line) from None
    if not isinstance(row, dict):
        raise InputError("not an object", file=file, row=number, got=line)
    for name in row:
        if name not in FIELDS:
            raise refuse(name, "unknown field", expected=list(FIELDS))
    refuse_half_characters(row, file=file, row=number)
    row = {name: value for name, value in row.items() if value is not None}
    if "question" not in row:
        raise refuse("question", "required", got="nothing")
    for name in (each for each in FIELDS if each in row and each != "options"):
        if name in ("gold", "target") and _is_number(row[name]):
            row[name] = str(row[name])
        if not isinstance(row[name], str):
            raise refuse(name, "not a text", got=row[name])
        if not row[name].strip():
            raise refuse(name, "an empty text")
    options = row.get("options")
    if options is not None and not _are_options(options):
        raise refuse("options", "not a list of 2 to 26 different texts", got=options)
    kind = row.setdefault("answer_kind", _kind(row))
    if kind not in tuple(AnswerKind):
        raise refuse("answer_kind", "unknown", expected=", ".join(AnswerKind), got=kind)
    if (kind == AnswerKind.LETTER) != bool(options):
        raise refuse("answer_kind", "letter goes with options, and options with it", got=kind)
    letters = [chr(65 + place) for place in range(len(options or ()))]
    for name in (each for each in ("gold", "target") if each in row):
        if letters and row[name] not in letters:
            raise refuse(name, "not an option", expected=f"A to {letters[-1]}", got=row[name])
        if kind == AnswerKind.NUMBER and _value(row[name]) is None:
            raise refuse(name, "not a number", got=row[name])
    row.setdefault("target", _wrong(row, letters))
    if row["target"] is None:
        raise refuse("target", "required where no wrong answer can be drawn", got="nothing")
    if "gold" in row and same(clean(row["target"]), row["gold"]):
        raise refuse("target", "the right answer is no wrong one", got=row["target"])
    return row


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def _are_options(given: object) -> bool:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        return False
    texts = {" ".join(each.split()) for each in given} - {""}
    return 2 <= len(given) == len(texts) <= 26


def _kind(row: Row) -> str:
    if row.get("options"):
        return str(AnswerKind.LETTER)
    number = _value(row.get("gold", "")) is not None
    return str(AnswerKind.NUMBER if number else AnswerKind.TEXT)


def _value(text: str) -> Fraction | None:
    return value_of(clean(text))


def _wrong(row: Row, letters: Sequence[str]) -> str | None:
    rng = random.Random(f"target/{normalise(row['question'])}")
    if letters:
        return rng.choice([letter for letter in letters if letter != row.get("gold")])
    gold = _value(row.get("gold", ""))
    if gold is None or gold.denominator != 1:
        return None
    return str(gold + rng.randint(1, 9))
