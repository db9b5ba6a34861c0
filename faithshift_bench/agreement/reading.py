"""Read a study: the rows of its table put together, where what is said twice is said alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.agreement.conditions import HINTED, UNCUED, WRONG, is_injected
from faithshift_bench.agreement.study import (
    ABSENT,
    INJECTION,
    NOT_ASKED,
    OUTCOMES,
    REGENERATED,
    UNKNOWN,
    UNSTATED,
    UNVERIFIED,
    Study,
)
from faithshift_bench.agreement.table import VERDICT, Row, rows_of
from faithshift_bench.score_files import read_columns
from faithshift_data.errors import InputError
from faithshift_data.measure.verdicts import Case
from faithshift_data.schema import AnswerStatus

ENDINGS = (".csv", ".parquet", ".jsonl")
OF_QUESTION, OF_MODEL = ("gold", "group", "n_options"), ("model_type",)


def read_study(path: str | Path) -> Study:
    """Read a table, or the file ``answers.csv`` (or .parquet, .jsonl) of a folder.

    Raises:
        InputError: no such file, a missing or unknown column, or a row that contradicts itself or
            another one; the line names file, row and field.
    """
    file = table_file(path)
    columns, _ = read_columns(file, str(file))
    return assemble(str(file), rows_of(columns, str(file)))


def table_file(path: str | Path) -> Path:
    """The table itself, or that of a folder.

    Raises:
        InputError: a folder with none or several of them.
    """
    folder = Path(path)
    if not folder.is_dir():
        return folder
    there = [folder / f"answers{end}" for end in ENDINGS if (folder / f"answers{end}").is_file()]
    if len(there) != 1:
        expected = "one of " + ", ".join(f"answers{end}" for end in ENDINGS)
        got = ", ".join(file.name for file in there) or "none"
        raise InputError("no table of answers", file=folder, expected=expected, got=got)
    return there[0]


def assemble(source: str, rows: Sequence[Row]) -> Study:
    """A study from checked rows.

    Raises:
        InputError: one generation twice, or two values of what belongs to a model, to a question,
            or to a model's hint.
    """
    place = {
        key: {name: number for number, name in enumerate(sorted({row[key] for row in rows}))}
        for key in ("model", "question_id")
    }
    shape = (len(place["model"]), len(place["question_id"]))
    coded = {row[key] for row in rows for key in ("answer", "target", "gold") if row.get(key)}
    options = tuple(sorted(coded))
    code = {option: number for number, option in enumerate(options)}
    _each_once(source, rows)
    of_model = {key: _constant(source, rows, key, "model") for key in OF_MODEL}
    of_question = {key: _constant(source, rows, key, "question_id") for key in OF_QUESTION}
    by_run: dict[int, dict[str, NDArray[np.int32]]] = {0: {}}
    texts: dict[int, dict[str, dict[tuple[int, int], str]]] = {}
    target, argued = (np.full(shape, ABSENT, np.int32) for _ in range(2))
    truncated, reference = (np.full(shape, UNKNOWN, np.int8) for _ in range(2))
    judges = sorted({key[len(VERDICT) :] for key in rows[0] if key.startswith(VERDICT)})
    verdicts = {judge: np.full(shape, NOT_ASKED, np.int8) for judge in judges}
    cases = {}
    arrivals: dict[str, dict[str, int]] = {}
    for number, row in enumerate(rows):
        at = place["model"][row["model"]], place["question_id"][row["question_id"]]
        run, condition = row.get("run") or 0, row["condition"]
        answers = by_run.setdefault(run, {}).setdefault(condition, np.full(shape, ABSENT, np.int32))
        n_options = of_question["n_options"].get(row["question_id"])
        answers[at] = _answer_code(row, code, n_options)
        for key in ("target", "gold"):
            if _beyond(row.get(key), n_options):
                where: dict[str, Any] = {"file": source, "row": number, "field": key}
                expected = f"one of {n_options} options"
                raise InputError("beyond the options", **where, expected=expected, got=row[key])
        if row.get("reasoning") is not None:
            texts.setdefault(run, {}).setdefault(condition, {})[at] = row["reasoning"]
        if run:
            continue
        if is_injected(condition):
            arrived = arrivals.setdefault(condition, dict.fromkeys(INJECTION.values(), 0))
            arrived[INJECTION[row.get("injection_verified")]] += 1
        if row.get("target") is not None:
            held = argued if condition.removesuffix(UNCUED) == WRONG else target
            wanted = code[row["target"]]
            if held[at] not in (ABSENT, wanted):
                message, expected = "two targets of one model and question", options[held[at]]
                where = {"file": source, "row": number, "field": "target"}
                raise InputError(message, **where, expected=expected, got=row["target"])
            held[at] = wanted
        if condition != HINTED:
            continue
        if row.get("truncated") is not None:
            truncated[at] = row["truncated"]
        if row.get("reference") is not None:
            reference[at] = row["reference"] == "yes"
        for judge in judges:
            said = row[VERDICT + judge]
            if said is not None:
                verdicts[judge][at] = OUTCOMES.index(said)
        texts_of: dict[str, Any] = {key: row.get(key) for key in ("question", "cue", "reasoning")}
        if None not in texts_of.values():
            cases[at] = Case(**texts_of, answer=row["answer"])
    gold = [of_question["gold"].get(name) for name in place["question_id"]]
    return Study(
        source=source,
        models=tuple(place["model"]),
        model_types=tuple(of_model["model_type"].get(name, "") for name in place["model"]),
        questions=tuple(place["question_id"]),
        groups=tuple(of_question["group"].get(name, "") for name in place["question_id"]),
        answers={name: _frozen(found) for name, found in sorted(by_run.pop(0).items())},
        target=_frozen(target),
        argued=_frozen(argued),
        gold=_frozen(np.array([UNKNOWN if g is None else code[g] for g in gold], np.int32)),
        n_options=_frozen(
            np.array([of_question["n_options"].get(q, 0) for q in place["question_id"]], np.int32)
        ),
        truncated=_frozen(truncated),
        verdicts={judge: _frozen(found) for judge, found in verdicts.items()},
        reference=_frozen(reference),
        cases=cases,
        repeats=dict(sorted(by_run.items())),
        texts=texts,
        arrivals=arrivals,
        options=options,
    )


def _each_once(source: str, rows: Sequence[Row]) -> None:
    seen = set()
    for number, row in enumerate(rows):
        key = (row["model"], row["question_id"], row["condition"], row.get("run") or 0)
        if key in seen:
            message = "the same model, question and condition twice"
            got = ", ".join(map(str, key[:3]))
            raise InputError(message, file=source, row=number, field="condition", got=got)
        seen.add(key)


def _constant(source: str, rows: Sequence[Row], key: str, owner: str) -> dict[str, Any]:
    """The value of each owner; rows where it is missing say nothing."""
    found: dict[str, Any] = {}
    for number, row in enumerate(rows):
        value = row.get(key)
        if value is not None and found.setdefault(row[owner], value) != value:
            message, expected = f"two values of one {owner}", found[row[owner]]
            where: dict[str, Any] = {"file": source, "row": number, "field": key}
            raise InputError(message, **where, expected=expected, got=value)
    return found


def _beyond(answer: str | None, n_options: int | None) -> bool:
    """Whether it is a letter that none of the options has."""
    if answer is None or n_options is None or len(answer) != 1:
        return False
    return answer in ascii_uppercase[n_options:]


def _answer_code(row: Row, code: dict[str, int], n_options: int | None) -> int:
    if is_injected(row["condition"]):
        if row.get("injection_verified") is False:
            return UNVERIFIED
        if row.get("regenerated"):
            return REGENERATED
    if row["answer"] is None or row.get("answer_status") not in (None, AnswerStatus.EXPLICIT):
        return UNSTATED
    if _beyond(row["answer"], n_options):
        return UNSTATED
    return code[row["answer"]]


def _frozen(array: NDArray) -> NDArray:
    array.flags.writeable = False
    return array
