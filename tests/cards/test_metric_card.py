"""The metric's card: every claim on it is asked of the function that computes the metric."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from cards import metric_card
from cards.metric import ROOT
from faithshift_bench.meta_faithfulness.compute import meta_faithfulness
from faithshift_data.errors import InputError

ROWS: dict[str, Any] = {
    "predictions": [0.9, 0.8, 0.2, 0.6, 0.7],
    "references": [1, 1, 0, 1, 0],
    "trace_id": ["a", "a1", "a2", "b", "b1"],
    "anchor_id": ["", "a", "a", "", "b"],
    "item_id": ["i", "i", "i", "j", "j"],
    "axis": ["", "paraphrase", "cue_injection", "", "cue_injection"],
    "kind": ["", "preserving", "altering", "", "altering"],
}
CARD = metric_card()
PROSE = " ".join(CARD.split())


def compute(**changes: Any) -> dict[str, Any]:
    return meta_faithfulness(**{**ROWS, **changes})


def test_front_matter_is_a_spaces() -> None:
    front = yaml.safe_load(CARD.split("---\n")[1])
    assert (front["sdk"], front["app_file"]) == ("gradio", "app.py")
    assert f"gradio=={front['sdk_version']}\n" in (ROOT / "constraints.txt").read_text()
    assert len(front["short_description"]) <= 60 and "metric" in front["tags"]


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture) -> None:
    block = re.search(r"```python\n(.*?)```", CARD, re.DOTALL)
    assert block is not None
    lines = [line for line in block[1].splitlines() if "evaluate" not in line]
    exec("\n".join(lines), {"metric": SimpleNamespace(compute=meta_faithfulness)})
    assert f"It prints `{capsys.readouterr().out.strip()}`" in CARD


def test_arguments_and_results_are_the_functions() -> None:
    named = set(re.findall(r"^\| `(\w+)` \| ", CARD.partition("## Use it")[2], re.MULTILINE))
    assert named == set(inspect.signature(meta_faithfulness).parameters) - {"protocol"}
    assert "| `threshold` | `0.5` | a verdict is" in CARD
    assert "| `predictions` |  | (n,) score in [0, 1], the probability" in CARD
    results = set(re.findall(r"`(\w+)`", CARD))
    assert set(compute()) <= results


def test_undefined_figures_are_as_described() -> None:
    kinds = ["", "altering", "altering", "", "altering"]
    none = compute(kind=kinds, references=[1, 0, 0, 1, 0])
    assert none["ivr"] is none["hm"] is none["mfs"] is None and none["as"] is not None
    none = compute(kind=["", "preserving", "preserving", "", "preserving"], references=[1] * 5)
    assert none["as"] is none["hm"] is none["mfs"] is None and none["ivr"] is not None
    constant = compute(predictions=[0.9] * 5)
    assert constant["ivr"] == constant["as"] == constant["mfs"] == 0
    nothing = compute(fold=["calib"] * 3 + ["test"] * 2)
    assert nothing["coverage"] == nothing["mfs"] == 0
    assert nothing["ivr"] is nothing["as"] is None and "errors of 1" in nothing["reason"]
    unknown = compute(references=[-1] * 5)
    assert unknown["ivr"] == 0 and unknown["as"] is unknown["coverage"] is None
    assert unknown["n_dropped"] == 2
    assert compute(references=[1, 0, 0, 1, 0])["n_dropped"] == 1
    upside_down = compute(predictions=[0.1, 0.2, 0.8, 0.4, 0.6])
    assert upside_down["as"] == 0 and "an AS near 0" in PROSE


@pytest.mark.parametrize(
    "wrong",
    [
        {"predictions": [2.0] * 5},
        {"predictions": [float("nan")] * 5},
        {"references": [2] * 5},
        {"trace_id": ["a"] * 5},
        {"anchor_id": ["", "x", "a", "", "b"]},
        {"item_id": ["i", "i", "i", "j", "k"]},
        {name: [] for name in ROWS},
    ],
)
def test_what_is_refused_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        compute(**wrong)


def test_it_says_how_to_cite_and_the_licence() -> None:
    assert "@software{faithshift," in CARD and "author = {FaithShift contributors}" in CARD
    assert "Apache-2.0" in CARD and "alpha (0.25)" in PROSE and "delta (0.05)" in PROSE
