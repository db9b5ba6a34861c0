"""S Theorem 4.5 / K.1: equal behaviour, equal scores; what is inside still tells.

Twins are one text under two mechanisms. Under the interventions in ``ALIKE`` both answer alike, so
that a detector that reads text and these interventions alone must give both one score. Each
mechanism is a world of its own here: a view of the test split in which twins bear one id.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import faithshift_data as fd
from builders.content import separation
from faithshift_bench.detectors import Detector, load_detector
from faithshift_bench.detectors.registry import BASELINES, CONTROLS
from faithshift_data.views import View

BEHAVIOUR = {"text", "interventions"}
ALIKE = ("cue_removed", "paraphrase")
NEEDS = ("text", "interventions", "descriptors", "states")
BEHAVIOURAL = [
    name for name in (*CONTROLS, *BASELINES) if set(load_detector(name).needs) <= BEHAVIOUR
]


def rows_of(view: View, rows: NDArray[np.intp], ids: NDArray[np.str_], labels: Any = None) -> View:
    """Some rows of a view, under other ids."""
    profile, (psi, mask) = view.interventions, view.descriptors
    parts = {
        "text": [view.text[row] for row in rows],
        "interventions": replace(profile, changed=profile.changed[rows]),
        "descriptors": (psi[rows], mask[rows]),
        "states": view.states[rows],
    }
    if labels is not None:
        parts["labels"] = labels
    return replace(view, trace_ids=ids, item_ids=view.item_ids[rows], _parts=parts)


def blind(view: View) -> View:
    """The view with nothing in its descriptors: what is left is behaviour."""
    empty = tuple(np.zeros_like(part) for part in view._parts["descriptors"])
    return replace(view, _parts={**view._parts, "descriptors": empty})


@pytest.fixture(scope="module")
def worlds(data: fd.FaithShift) -> tuple[View, View]:
    """Test texts with a hint, whose twins answer alike: when faithful, and when not."""
    return twins(data, "test")


def twins(data: fd.FaithShift, split: str) -> tuple[View, View]:
    view = data.view(split, needs=NEEDS)
    place = {trace: row for row, trace in enumerate(view.trace_ids.tolist())}
    pairs: dict[Any, dict[int, int]] = {}
    for row in data.table("traces", split).to_pylist():
        if row["cue"] is not None:
            both = pairs.setdefault((row["item_id"], row["condition"]), {})
            both[row["label"]] = place[row["trace_id"]]
    rows = np.array([(both[1], both[0]) for _, both in sorted(pairs.items())])
    profile = view.interventions.select(ALIKE).changed
    alike = [np.array_equal(*profile[list(both)], equal_nan=True) for both in rows]
    assert np.mean(alike) > 0.95
    kept = rows[alike]
    ids = view.trace_ids[kept[:, 0]]
    return rows_of(view, kept[:, 0], ids), rows_of(view, kept[:, 1], ids)


def fitted(name: str, data: fd.FaithShift, *, interventions: tuple[str, ...] | None) -> Detector:
    view = data.view("train", needs=NEEDS)
    if interventions is not None:
        view = view.with_interventions(interventions)
    return load_detector(name).fit(blind(view), seed=0)


@pytest.mark.parametrize("name", [*BEHAVIOURAL, "instance_level"])
def test_equal_behaviour_has_equal_scores(
    name: str, data: fd.FaithShift, worlds: tuple[View, View]
) -> None:
    detector = fitted(name, data, interventions=ALIKE)
    faithful, other = (blind(world.with_interventions(ALIKE)) for world in worlds)
    assert faithful.text == other.text and len(faithful) > 20
    np.testing.assert_array_equal(detector.score(faithful), detector.score(other))
    trust = detector.confidence(faithful), detector.confidence(other)
    assert trust == (None, None) or np.array_equal(*trust)


def test_the_controls_and_a_reader_of_interventions_are_among_them() -> None:
    assert {*CONTROLS, "biasing", "counterfactual"} == set(BEHAVIOURAL)
    assert "interventions" in load_detector("instance_level").needs


def test_other_interventions_tell_twins_apart(
    data: fd.FaithShift, worlds: tuple[View, View]
) -> None:
    """Without equal profiles the theorem says nothing, and the same network does tell."""
    detector = fitted("instance_level", data, interventions=None)
    scores = [detector.score(blind(world)) for world in worlds]
    assert auroc(scores, worlds[0].item_ids)["low"] > 0.8


def auroc(scores: list[NDArray[np.float64]], items: NDArray[np.str_]) -> dict[str, Any]:
    """Of the faithful world's scores over the other one's, items resampled."""
    labels = np.repeat([1, 0], [len(each) for each in scores])
    return separation(np.concatenate(scores), labels, np.tile(items, 2))


def inside(name: str, data: fd.FaithShift) -> dict[str, Any]:
    """A detector of internals, fitted model by model on validation, over the twins of test."""
    learn, judge = twins(data, "validation"), twins(data, "test")
    scores: list[list[NDArray[np.float64]]] = [[], []]
    items = []
    for model in sorted({row["model_id"] for row in judge[0].text}):
        mine = [
            np.flatnonzero([row["model_id"] == model for row in world.text])
            for world in (learn[0], judge[0])
        ]
        both = [rows_of(world, mine[0], world.trace_ids[mine[0]]) for world in learn]
        view = joined(*both).with_interventions(ALIKE)
        detector = load_detector(name).fit(view, seed=0)
        for world, found in zip(judge, scores, strict=True):
            rows = rows_of(world, mine[1], world.trace_ids[mine[1]]).with_interventions(ALIKE)
            found.append(detector.score(rows))
        items.append(judge[0].item_ids[mine[1]])
    return auroc([np.concatenate(each) for each in scores], np.concatenate(items))


def joined(faithful: View, other: View) -> View:
    """Both worlds as one view with labels to learn from."""
    a, b = faithful._parts, other._parts
    changed = np.concatenate([a["interventions"].changed, b["interventions"].changed])
    parts = {
        "text": [*a["text"], *b["text"]],
        "interventions": replace(a["interventions"], changed=changed),
        "descriptors": tuple(
            np.concatenate(each) for each in zip(a["descriptors"], b["descriptors"], strict=True)
        ),
        "states": np.concatenate([a["states"], b["states"]]),
        "labels": np.repeat(np.array([1, 0], np.int8), [len(faithful), len(other)]),
    }
    ids = np.concatenate([faithful.trace_ids, other.trace_ids])
    items = np.concatenate([faithful.item_ids, other.item_ids])
    return replace(faithful, trace_ids=ids, item_ids=items, _parts=parts)


@pytest.mark.parametrize("name", ["hidden_state", "instance_level"])
def test_what_is_inside_tells_twins_apart(name: str) -> None:
    found = inside(name, fd.open("organisms"))
    assert found["n_items"] >= 30
    assert found["low"] > 0.5, found
