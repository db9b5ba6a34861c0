"""write(): own traces with the least given, filled in, checked, usable."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import faithshift_data as fd


def own(n: int = 12) -> list[dict[str, Any]]:
    rows = []
    for number in range(n):
        question = f"How much is {number} and {number}?"
        anchor = {
            "trace_id": f"a{number}",
            "question": question,
            "reasoning": f"Double {number}. That is {2 * number}.",
            "answer": str(2 * number),
            "answer_kind": "number",
            "label": 1,
        }
        partner = {**anchor, "trace_id": f"b{number}", "anchor_id": f"a{number}", "axis": "tone"}
        rows += [anchor, {**partner, "condition": "tone", "label": [1, 0, None][number % 3]}]
    return rows


def test_the_question_is_enough(tmp_path: Path) -> None:
    folder = fd.write(tmp_path / "d", [{"question": "Why?"}, {"question": "When?"}])
    assert fd.check(folder) == []
    rows = fd.open(folder).table("traces").to_pylist()
    assert {r["answer_status"] for r in rows} == {"none"}
    assert {r["label"] for r in rows} == {None}
    assert {r["steps"] == [] for r in rows} == {True}
    assert {r["prompt"] for r in rows} == {"Why?", "When?"}


def test_filled_and_paired_by_the_labels(tmp_path: Path) -> None:
    folder = fd.write(tmp_path / "d", own())
    assert fd.check(folder) == []
    ds = fd.open(folder)
    traces = {r["trace_id"]: r for r in ds.table("traces").to_pylist()}
    assert traces["a3"]["steps"] == ["Double 3. ", "That is 6."]
    assert traces["a3"]["label_rule"] == "given"
    assert traces["a3"]["item_id"] == traces["b3"]["item_id"]
    pairs = {r["partner_id"]: r for r in ds.table("pairs").to_pylist()}
    found = [(pairs[f"b{n}"]["kind"], pairs[f"b{n}"]["direction"]) for n in range(3)]
    assert found == [("preserving", 0), ("altering", -1), ("preserving", None)]
    reasons = [pairs[f"b{n}"]["dropped_because"] for n in range(3)]
    assert reasons == [None, None, "labels differ"]
    assert ds.manifest.axis_names == ("tone",)


def test_unlabelled_preserving_pairs_can_be_given(tmp_path: Path) -> None:
    rows = [{**row, "label": None} for row in own()]
    pairs = [
        {"anchor_id": f"a{n}", "partner_id": f"b{n}", "axis": "tone", "kind": "preserving"}
        for n in range(12)
    ]
    ds = fd.open(fd.write(tmp_path / "d", pa.Table.from_pylist(rows), pairs))
    assert set(ds.table("pairs")["verified"].to_pylist()) == {True}
    assert set(ds.table("pairs")["direction"].to_pylist()) == {0}


def test_rows_of_a_data_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    row = lettered(answer="B", reasoning="One. Two.", steps=["One. ", "Two."], gen_index=1, label=1)
    fd.write(tmp_path / "a", [row, lettered()])
    pandas.DataFrame([row]).to_parquet(tmp_path / "rows.parquet")
    frame = pandas.read_parquet(tmp_path / "rows.parquet")
    fd.write(tmp_path / "b", [*frame.to_dict("records"), lettered()])
    first, second = (fd.open(tmp_path / name).table("traces") for name in "ab")
    assert first.equals(second)


def test_a_view_of_own_traces(tmp_path: Path) -> None:
    ds = fd.open(fd.write(tmp_path / "d", own(40)))
    assert sum(len(ds.view(split)) for split in ("train", "validation", "test")) == 80
    assert ds.view("train", needs=("interventions",)).interventions.names == ()
    with pytest.raises(fd.InputError, match="no trajectories"):
        ds.view("train", needs=("states",))


def test_load_dataset_of_own_traces(tmp_path: Path) -> None:
    import datasets

    folder = fd.write(tmp_path / "d", own(40))
    found = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert sum(len(part) for part in found.values()) == 80


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda r: r[3].pop("question"), "traces, row 3, field question: required"),
        (lambda r: r[3].update(anchor_id="a9x"), "field anchor_id: no such trace (got a9x)"),
        (lambda r: r[3].update(label=3), "field label: not a label (expected 1, 0 or null, got 3)"),
        (lambda r: r[3].update(colour="red"), "field colour: unknown column"),
        (lambda r: r[3].update(answer_kind="word"), "field answer_kind: not allowed"),
        (lambda r: r[3].update(trace_id="a0"), "field trace_id: id not unique"),
        (lambda r: r[3].update(item_id="other"), "anchor of another item"),
        (lambda r: r[3].update(split="dev"), "traces, row 3, field split: not allowed"),
        (lambda r: r[3].update(split="Test"), "traces, row 3, field split: not allowed"),
        (lambda r: r[3].update(cue={"oops": 1}), "traces, row 3, field cue.oops: unknown key"),
        (lambda r: r[3].update(trace_id=""), "traces, row 3, field trace_id: empty id"),
        (lambda r: r[3].update(anchor_id=""), "traces, row 3, field anchor_id: empty id"),
        (lambda r: r[3].update(item_id=""), "traces, row 3, field item_id: empty id"),
        (lambda r: r[3].update(reasoning=7), "traces, row 3, field reasoning: wrong type"),
        (lambda r: r[3].update(question="\ud83d?"), "traces, row 3, field question: half a char"),
        (lambda r: r[3].update(steps=["a", "\udc00"]), "traces, row 3, field steps: half a char"),
        (lambda r: r[3].update(cue={"text": "\ud83d"}), "row 3, field cue.text: half a character"),
        (lambda r: r[3].update(steps=["a", None]), "traces, row 3, field steps: null in a list"),
        (lambda r: r[3].update(options=["a", None]), "row 3, field options: null in a list"),
        (lambda r: r.insert(3, "text"), "traces, row 3: not a row (expected a dict, got 'text')"),
        (lambda r: r.clear(), "no traces (expected at least one, got none)"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_written(tmp_path: Path, change: Any, text: str) -> None:
    rows = own()
    change(rows)
    with pytest.raises(fd.InputError) as error:
        fd.write(tmp_path / "d", rows)
    assert text in str(error.value)
    assert os.listdir(tmp_path) == []


def lettered(**given: Any) -> dict[str, Any]:
    return {"question": "Which?", "options": ["a", "b", "c"], **given}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"cue": {"text": "(D) it is", "target": "D"}}, "cue.target"),
        ({"cue": {"text": "a it is", "target": "a"}}, "cue.target"),
        ({"cue": {"text": "It is", "target": ""}}, "cue.target"),
        ({"gold": "D"}, "gold"),
        ({"answer": "D"}, "answer"),
    ],
)
def test_a_letter_outside_the_options_is_refused(tmp_path: Path, given: Any, field: str) -> None:
    with pytest.raises(fd.InputError, match=f"field {field}: not an option .expected A to C"):
        fd.write(tmp_path / "d", [lettered(**given)])
    assert os.listdir(tmp_path) == []


def test_letters_of_the_options_and_targets_of_other_kinds_are_kept(tmp_path: Path) -> None:
    cue = {"kind": "answer", "format": "note", "text": "C", "target": "C"}
    free = {"question": "Who?", "gold": "Ada", "cue": {**cue, "target": "Bo"}}
    rows = [
        lettered(gold="A", answer="B", cue=cue),
        lettered(gen_index=1, cue={**cue, "target": None}),
        free,
    ]
    found = fd.open(fd.write(tmp_path / "d", rows)).table("traces").to_pylist()
    assert {row["cue"]["target"] for row in found} == {"C", None, "Bo"}


@pytest.mark.parametrize("name", ["axis", "anchor_id"])
def test_pairs_with_half_a_character_are_refused(tmp_path: Path, name: str) -> None:
    pair = {"anchor_id": "a0", "partner_id": "b0", "axis": "tone", name: "\ud83d"}
    with pytest.raises(fd.InputError) as error:
        fd.write(tmp_path / "d", own(), [pair])
    assert str(error.value).startswith(f"pairs, row 0, field {name}: half a character")
    assert str(error.value).isascii() and os.listdir(tmp_path) == []


def test_an_id_that_is_no_text_is_refused(tmp_path: Path) -> None:
    pair = {"anchor_id": ["a0"], "partner_id": "b0", "axis": "tone"}
    with pytest.raises(fd.InputError, match="pairs, row 0, field anchor_id: no such trace"):
        fd.write(tmp_path / "d", own(), [pair])


def test_pairs_of_no_split_are_refused(tmp_path: Path) -> None:
    pair = {"anchor_id": "a0", "partner_id": "b0", "axis": "tone", "split": "dev"}
    with pytest.raises(fd.InputError, match="pairs, row 0, field split: not allowed"):
        fd.write(tmp_path / "d", own(), [pair])
    assert os.listdir(tmp_path) == []
