"""The committed ``organisms``: size, gates, leak 0.0, and figures measured again by its weights."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faithshift_data as fd
from builders.organisms.building import chosen, draw, found
from builders.organisms.gate import EXACT, passes
from builders.organisms.items import chains
from builders.organisms.masks import Route
from builders.organisms.measuring import descriptors, interventions, said
from builders.organisms.preset import load_organisms
from builders.organisms.store import load
from builders.organisms.tracing import layout_of
from builders.organisms.words import vocabulary
from faithshift_data.schema import SPLITS

MOST_BYTES = 6e6


@pytest.fixture(scope="module")
def data() -> fd.FaithShift:
    return fd.open("organisms")


@pytest.fixture(scope="module")
def traces(data: fd.FaithShift) -> dict[str, dict[str, Any]]:
    return {row["trace_id"]: row for row in data.table("traces").to_pylist()}


def models(data: fd.FaithShift) -> dict[str, Path]:
    root = data.path / "models"
    return {model.model_id: root / model.model_id.split("/")[1] for model in data.manifest.models}


def test_it_is_sound_and_small(data: fd.FaithShift, traces: dict[str, Any]) -> None:
    assert fd.check("organisms") == []
    files = [path for path in data.path.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    assert len(traces) >= 2000
    assert data.manifest.counts["items_by_fold"]["calib"] >= 60
    assert len({row["model_family"] for row in traces.values()}) == 3


def test_split_by_problem_nonce_and_model(data: fd.FaithShift, traces: dict[str, Any]) -> None:
    preset = load_organisms("organisms-small")
    organisms = chosen(preset, found(preset, data.path / "models"))
    items = {item.item_id: item for item in draw(preset, organisms)}
    for mark in (
        lambda row: chains(items[row["item_id"]].problem),
        lambda row: row["prompt"].split()[1],
    ):
        seen: dict[Any, set[str]] = defaultdict(set)
        for row in traces.values():
            seen[mark(row)].add(row["split"])
        assert all(len(splits) == 1 for splits in seen.values())
    wrote = {
        split: {r["model_id"] for r in traces.values() if r["split"] == split} for split in SPLITS
    }
    assert len(wrote["train"]) == 3 and not wrote["train"] & (wrote["validation"] | wrote["test"])


def test_twins_are_equal_and_text_is_at_chance(data: fd.FaithShift, traces: dict[str, Any]) -> None:
    twins: dict[Any, dict[int, tuple[str, ...]]] = defaultdict(dict)
    for row in traces.values():
        said = row["prompt"], row["reasoning"], row["answer"], row["model_id"], row["split"]
        twins[row["item_id"], row["condition"]][row["label"]] = said
    assert all(set(both) == {0, 1} and both[0] == both[1] for both in twins.values())
    for told in data.manifest.audit["text"].values():
        assert told["low"] <= 0.5 <= told["high"]


def test_gates(data: fd.FaithShift) -> None:
    gates = data.manifest.audit["gates"]
    assert {gate["model_id"] for gate in gates} == set(models(data)) and len(gates) >= 6
    for gate in gates:
        assert gate["passed"] is True
        assert set(gate["leak"].values()) == {0.0}
        for by_length in gate["exact"].values():
            assert np.mean(list(by_length.values())) >= EXACT


def test_answers_move_with_the_text_or_with_the_prompt(
    data: fd.FaithShift, traces: dict[str, Any]
) -> None:
    moved: Counter[tuple[str, int, bool]] = Counter()
    for row in data.table("interventions").to_pylist():
        if row["changed"] is not None:
            moved[row["kind"], traces[row["trace_id"]]["label"], row["changed"]] += 1

    def rate(kind: str, label: int) -> float:
        yes, no = (moved[kind, label, changed] for changed in (True, False))
        assert yes + no > 100, kind
        return yes / (yes + no)

    assert (rate("mistake", 1), rate("mistake", 0)) == (pytest.approx(1, abs=0.01), 0.0)
    assert (rate("cue_flipped", 0), rate("cue_flipped", 1)) == (pytest.approx(1, abs=0.01), 0.0)
    for kind in ("truncate", "scramble", "filler"):
        assert rate(kind, 0) == 0.0 and rate(kind, 1) > 0.5
    assert rate("paraphrase", 0) == 0.0 and rate("paraphrase", 1) < 0.05


@pytest.mark.parametrize("place", range(6))
def test_a_model_does_again_what_is_written_down(
    data: fd.FaithShift, traces: dict[str, Any], place: int
) -> None:
    """Opening it asserts leak 0.0; it must write its own texts and move as the tables say."""
    name, folder = sorted(models(data).items())[place]
    rows = [row for row in traces.values() if row["model_id"] == name][:12]
    model = load(folder)
    for row, again in zip(
        rows, said(model, [layout_of(r, Route(r["label"])) for r in rows]), strict=True
    ):
        assert str(again.answer) == row["answer"]
        if row["condition"] in ("base", "cued_base", "language", "budget", "paraphrase"):
            assert again.written == len(row["reasoning"].split())
    stored = {row["intervention_id"]: row for row in data.table("interventions").to_pylist()}
    for measured in interventions(model, rows).values():
        for row in measured:
            assert stored[row["intervention_id"]] == row
    close = {"rtol": 0.02, "atol": 2e-3}
    for key, arrays in descriptors(load(folder, "eager"), rows[:4]).items():
        for kind, array in arrays.items():
            (kept,) = data.trajectories.get(kind, [key])
            np.testing.assert_allclose(kept.astype(float), array.astype(float), **close)


def test_texts_are_what_the_model_writes_word_by_word(
    data: fd.FaithShift, traces: dict[str, Any]
) -> None:
    """One pass over a text decided that; here the words are written one after the other."""
    name, folder = sorted(models(data).items())[-1]
    mine = [row for row in traces.values() if row["model_id"] == name]
    model, words = load(folder), {number: word for word, number in vocabulary().items()}
    for condition in ("base", "cued_base", "language"):
        for row in [row for row in mine if row["condition"] == condition][:2]:
            written: list[str] = []
            ends = row["reasoning"].split()[-1]
            while len(written) < 64 and ends not in written:
                asked = layout_of(row, Route(row["label"]), reasoning=" ".join(written))
                shown = replace(asked, ids=asked.ids[:-1], parts=asked.parts[:-1])
                ((_, likely),) = passes(model, [shown])
                written.append(words[int(likely[-1].argmax())])
            assert written == row["reasoning"].split()
