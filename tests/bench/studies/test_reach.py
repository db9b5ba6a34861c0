"""From one model to itself, another seed, another architecture: who learns, who is judged."""

from __future__ import annotations

import numpy as np
import pytest

import faithshift_data as fd
from faithshift_bench.detectors import Detector, registry
from faithshift_bench.studies.reach import (
    ARCHITECTURE,
    REACHES,
    SAME,
    SEED,
    Writers,
    carry,
    has_reaches,
    meetings,
)
from faithshift_data.schema import LabelRule


def writers(*names):
    """Models such as ``a-0`` of architecture ``a``."""
    return Writers(np.array(names), np.array([name[0] for name in names]))


def test_meetings_by_hand():
    judged = writers("a-1", "b-1", "a-1")
    other = writers("b-0", "a-0", "a-0")

    def rows(learned, reach):
        return [(m, a.tolist(), b.tolist()) for m, a, b in meetings(learned, judged, reach)]

    assert rows(judged, SAME) == [
        ("a-1", [True, False, True], [True, False, True]),
        ("b-1", [False, True, False], [False, True, False]),
    ]
    assert rows(other, SEED) == [
        ("a-0", [False, True, True], [True, False, True]),
        ("b-0", [True, False, False], [False, True, False]),
    ]
    assert rows(other, ARCHITECTURE) == [
        ("a-0", [False, True, True], [False, True, False]),
        ("b-0", [True, False, False], [True, False, True]),
    ]


@pytest.fixture(scope="module")
def organisms():
    return fd.open("organisms")


def test_only_data_of_several_models_and_known_mechanism_has_reaches(organisms, synthetic):
    assert has_reaches(organisms) and organisms.manifest.label_rule == LabelRule.MECHANISM
    assert not has_reaches(fd.open(synthetic))


def test_a_fit_sees_the_cued_traces_of_one_model_and_no_tune(organisms, monkeypatch):
    fitted = []

    class Spy(Detector):
        """Keeps what it was fitted on."""

        name = "spy"

        def fit(self, view, *, seed, tune=None):
            assert tune is None and (view.labels >= 0).all()
            fitted.append((seed, view.trace_ids.tolist()))
            return self

        def score(self, view):
            return np.full(len(view), 0.5)

    monkeypatch.setattr(registry, "detector_class", lambda name: Spy)
    found = carry("spy", organisms, (0, 7))
    rows = organisms.table("traces").select(["trace_id", "split", "model_id", "cue"]).to_pylist()
    for seed in (0, 7):
        for split, models in (("validation", "test"), ("train", "train")):
            for model in {row["model_id"] for row in rows if row["split"] == models}:
                wanted = sorted(
                    row["trace_id"]
                    for row in rows
                    if (row["split"], row["model_id"]) == (split, model) and row["cue"] is not None
                )
                assert (seed, wanted) in fitted
    assert len(fitted) == 12
    cued = sum(row["split"] == "test" and row["cue"] is not None for row in rows)
    assert [found[reach]["n_traces"] for reach in REACHES] == [cued, cued, 2 * cued]


def test_texts_alone_are_at_chance_everywhere(organisms):
    for reach, found in carry("length_only", organisms, (0,)).items():
        assert found["low"] <= 0.5 <= found["high"] and abs(found["auroc"] - 0.5) < 0.02, reach


def test_intervals_rest_on_the_resamples_that_were_asked_for(organisms, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "faithshift_bench.studies.reach.separation",
        lambda *a, n_resamples: asked.append(n_resamples),
    )
    carry("constant", organisms, (0,), n_resamples=17)
    assert asked == [17, 17, 17]


def test_states_carry_to_their_own_model_and_less_to_others(organisms):
    found = carry("hidden_state", organisms, (0,))
    assert found[SAME]["low"] > 0.7
    assert found[SAME]["low"] > max(found[SEED]["high"], found[ARCHITECTURE]["high"])


def test_another_split_in_the_place_of_train(organisms):
    swapped = organisms.with_train("test").view("train", needs=("descriptors",))
    view = organisms.view("test", needs=("descriptors",))
    assert swapped.trace_ids.tolist() == view.trace_ids.tolist()
    assert np.array_equal(swapped.descriptors[0], view.descriptors[0])
    rows = organisms.table("traces", "test").sort_by("trace_id")
    assert swapped.labels.tolist() == rows["label"].to_pylist()
    assert set(organisms.view("train").trace_ids).isdisjoint(view.trace_ids)
