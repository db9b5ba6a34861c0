"""The dataset of organisms: sound, twins equal, labels the route, text at chance."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faithshift_data as fd
from builders.organisms.conditions import CONDITIONS
from builders.organisms.masks import Part, Route
from builders.organisms.pairing import CHECKS, OF_AXIS, make_pairs
from builders.organisms.tracing import layout_of, spans_of
from builders.organisms.words import encode
from faithshift_bench.detectors.runs import run_detector
from faithshift_data.errors import InputError
from faithshift_data.views import TEXT

TWINS = (*TEXT, "gold", "cue", "condition", "split", "fold", "truncated", "generation")


@pytest.fixture(scope="module")
def traces(data: fd.FaithShift) -> dict[str, dict[str, Any]]:
    return {row["trace_id"]: row for row in data.table("traces").to_pylist()}


@pytest.fixture(scope="module")
def twins(traces: dict[str, dict[str, Any]]) -> list[dict[int, dict[str, Any]]]:
    found: dict[Any, dict[int, dict[str, Any]]] = {}
    for row in traces.values():
        found.setdefault((row["item_id"], row["condition"]), {})[row["label"]] = row
    return list(found.values())


def test_the_folder_is_sound(folder: Path) -> None:
    assert fd.check(folder) == []


def test_every_text_stands_under_both_routes(twins: list[dict[int, dict[str, Any]]]) -> None:
    for both in twins:
        assert set(both) == {0, 1}
        assert [both[0][name] for name in TWINS] == [both[1][name] for name in TWINS]
    assert {both[0]["condition"] for both in twins} == {"base", *CONDITIONS}


def test_labels_are_the_route_by_mechanism(
    data: fd.FaithShift, traces: dict[str, dict[str, Any]]
) -> None:
    seen = Counter()
    for row in data.table("interventions").to_pylist():
        if row["kind"] in ("mistake", "cue_flipped"):
            label = traces[row["trace_id"]]["label"]
            assert row["changed"] == (label == (row["kind"] == "mistake"))
            seen[row["kind"], label] += 1
    assert len(seen) == 4 and min(seen.values()) > 10
    assert {row["label_rule"] for row in traces.values()} == {"mechanism"}


def test_text_is_at_chance_on_every_condition(data: fd.FaithShift) -> None:
    for found in data.manifest.audit["text"].values():
        assert found["low"] <= 0.5 <= found["high"]
        assert found["n_traces"] > 100
    traces = {row["trace_id"]: row for row in data.table("traces").to_pylist()}
    table = run_detector("length_only", data, (0,)).to_pylist()
    by_condition: dict[str, dict[int, list[float]]] = {}
    for row in table:
        trace = traces[row["trace_id"]]
        by_condition.setdefault(trace["condition"], {0: [], 1: []})[trace["label"]].append(
            row["score"]
        )
    assert set(by_condition) == {"base", *CONDITIONS}
    for scores in by_condition.values():
        assert sorted(scores[0]) == sorted(scores[1])


def test_kinds_follow_from_labels(data: fd.FaithShift) -> None:
    pairs = data.table("pairs").to_pylist()
    assert all(row["verified"] for row in pairs)
    found = Counter((row["axis"], row["kind"], row["direction"]) for row in pairs)
    for name, condition in CONDITIONS.items():
        same = found[condition.axis, "preserving", 0]
        up, down = (found[condition.axis, "altering", way] for way in (1, -1))
        assert same and same % 2 == 0, name
        assert up == down == (same // 2 if condition.kind == "altering" else 0)
    for row in pairs:
        same = row["anchor_label"] == row["partner_label"]
        assert row["mechanism_preserved"] == same == (row["kind"] == "preserving")


def test_a_pair_that_fails_a_check_is_dropped_with_its_name(
    traces: dict[str, dict[str, Any]],
) -> None:
    key = next(key for key, row in traces.items() if row["condition"] == "step_reorder")
    broken = {**traces, key: {**traces[key], "reasoning": traces[key]["reasoning"] + " 1"}}
    (pair,) = (row for row in make_pairs(broken) if row["partner_id"] == key)
    assert (pair["verified"], pair["dropped_because"]) == (False, "words kept")
    assert {name for names in OF_AXIS.values() for name in names} == set(CHECKS)


def test_verbalised_text_under_the_other_mask_stays_unfaithful(
    data: fd.FaithShift, traces: dict[str, dict[str, Any]]
) -> None:
    controls = [
        row
        for row in data.table("pairs").to_pylist()
        if row["axis"] == "cue_verbalization" and row["partner_label"] == 0
    ]
    assert {row["anchor_label"] for row in controls} == {0, 1}
    for row in controls:
        assert {"trust", "güven"} & set(traces[row["partner_id"]]["steps"][-1].split())


def test_drops_are_counted_with_their_reason(data: fd.FaithShift) -> None:
    dropped = data.manifest.screening["dropped_traces_of_kept_items"]
    assert dropped["causal_truncation"]["the answer coincides"] % 2 == 0
    assert data.manifest.screening["seeds"]["cohere"] == {"passed": [0, 1], "failed": []}


def test_a_row_is_all_that_a_model_reads(traces: dict[str, dict[str, Any]]) -> None:
    for row in traces.values():
        layout = layout_of(row, Route(row["label"]))
        text = (row["prompt"] + row["reasoning"]).split()
        assert list(layout.ids[:-1]) == encode(text)
        hinted = [w for w, p in zip(text, layout.parts, strict=False) if p == Part.HINT]
        assert " ".join(hinted) == (row["cue"] or {"text": ""})["text"]
        assert len(layout.steps) == len(row["steps"])
        assert layout.begin == len(row["prompt"].split())


def test_descriptors_stop_before_the_answer(
    data: fd.FaithShift, traces: dict[str, dict[str, Any]]
) -> None:
    for key, row in list(traces.items())[::25]:
        spans, layout = spans_of(row), layout_of(row, Route.FAITHFUL)
        assert layout.parts[len(spans.ids) :] == (Part.ANSWER,)
        assert len(data.trajectories.get("psi", [key])[0]) == len(row["steps"])
        assert spans.blocks.sum() == len(spans.ids) - 1


def test_a_view_refuses_features_of_the_answer(folder: Path, tmp_path: Path) -> None:
    import shutil

    copied = tmp_path / "copy"
    shutil.copytree(folder, copied)
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["descriptors"]["state"]["positions"] = "answer"
    (copied / "manifest.json").write_text(json.dumps(manifest))
    data = fd.open(copied)
    assert len(data.view("test", needs=("descriptors",)).descriptors[0])
    with pytest.raises(InputError, match="features of the answer are not a detector's to read"):
        data.view("test", needs=("states",))


def test_without_a_hint_the_states_are_equal(
    data: fd.FaithShift, twins: list[dict[int, dict[str, Any]]]
) -> None:
    for both in twins:
        ids = [both[label]["trace_id"] for label in (0, 1)]
        left, right = data.trajectories.get("state", ids)
        assert np.array_equal(left, right) == (both[0]["condition"] == "base")


def test_the_weights_lie_beside_the_tables(data: fd.FaithShift) -> None:
    for model in data.manifest.models:
        name = f"models/{model.model_id.split('/')[1]}/model.safetensors"
        assert data.manifest.files[name].sha256 == model.revision
