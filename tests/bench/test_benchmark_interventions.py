"""The benchmark of interventions on a tiny model: both ways answer alike, tokens are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import interventions
from tests.tiny_model import write_tiny_model

TRACE = {
    "trace_id": "t-1",
    "prompt": "<|user|>How many?\n<|assistant|>Let us see.",
    "reasoning": " First, we need to add 3 and 4.\nThat gives 7. So there are 7 pens there.",
    "answer_kind": "number",
    "options": None,
    "clean_prompt": None,
}


def test_both_ways_answer_alike(tmp_path: Path) -> None:
    from faithshift_data.measure.engines.transformers import TransformersEngine

    engine = TransformersEngine(write_tiny_model(tmp_path))
    found = interventions.measured(engine, [TRACE, TRACE | {"trace_id": "t-2"}])
    assert found["traces"] == 2 and found["answers"] == found["same_answers"] == 2 * 6
    line = len(engine.ids("\nThe answer is"))
    whole = len(engine.ids(TRACE["prompt"] + TRACE["reasoning"]))
    assert found["tokens_requested"] > 2 * (6 * line + whole)
    assert 2 * (whole + 6 * line) <= found["tokens_computed"] <= 2 * (whole + 6 * (line + 1))
    assert found["ratio"] == found["tokens_computed"] / found["tokens_requested"] < 0.6
    assert found["ratio"] < found["full_set"] < 1


def test_traces_are_chosen_evenly_and_without_their_cue() -> None:
    chosen = interventions.chosen(16)
    ids = [trace["trace_id"] for trace in chosen]
    assert len(set(ids)) == 16 and ids == sorted(ids)
    cued = [trace for trace in chosen if trace["clean_prompt"] is not None]
    assert cued and all(len(t["clean_prompt"]) < len(t["prompt"]) for t in cued)


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ({}, []),
        ({"ratio": 0.51}, ["at most half of the tokens"]),
        ({"speed_of_one_by_one": 0.9}, ["faster than one by one"]),
        ({"same_answers": 95}, ["same answers"]),
    ],
)
def test_missed_targets_are_named(fault: dict[str, float], named: list[str]) -> None:
    good = {"ratio": 0.5, "speed_of_one_by_one": 1.1, "answers": 96, "same_answers": 96}
    assert interventions.missed(good | fault) == named
