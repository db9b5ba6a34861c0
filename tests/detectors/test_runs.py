"""run_detector on a dataset folder: what goes in, what comes out, what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import faithshift_data as fd
from faithshift_bench.detectors import Detector, registry, run_detector, save_scores
from faithshift_bench.scores import ScoreTable
from faithshift_data.errors import InputError
from tests.synthetic import write_synthetic


@pytest.fixture
def plugged(monkeypatch):
    """Registers a detector whose scores and confidences are given functions of the view."""

    def plug(score, confidence=lambda view: None):
        class Odd(Detector):
            """A plug-in."""

            name = "odd"

            def fit(self, view, *, seed):
                return self

            def score(self, view):
                return score(view)

            def confidence(self, view):
                return confidence(view)

        monkeypatch.setattr(registry, "detector_class", lambda name: Odd)

    return plug


def test_scores_are_read_back_with_the_detectors_name_and_mark(synthetic, tmp_path):
    data = fd.open(synthetic)
    for name, marked in (("biasing", True), ("random", False)):
        path = save_scores(run_detector(name, data, (3,)), tmp_path / f"{name}.parquet")
        table = ScoreTable.load(path)
        assert table.about["detector"] == name
        assert table.about["reads_label_evidence"] is marked
        assert set(table.seed.tolist()) == {3}
        assert table.confidence is None


def test_a_confidence_of_its_own_is_kept(synthetic, plugged):
    plugged(lambda view: np.full(len(view), 0.5), lambda view: np.full(len(view), 0.25))
    table = run_detector("odd", fd.open(synthetic), (0,))
    assert set(table["confidence"].to_pylist()) == {0.25}


@pytest.mark.parametrize(
    ("score", "match"),
    [
        (lambda view: np.full(len(view), 1.5), "row 0, field score: out of range"),
        (lambda view: np.full(len(view), np.nan), "row 0, field score: out of range"),
        (lambda view: np.zeros(3), "one value a trace"),
        (lambda view: np.zeros((len(view), 1)), "one value a trace"),
        (lambda view: None, "one value a trace"),
        (lambda view: ["0.5"] * len(view), "field score: no numbers"),
        (lambda view: ["high"] * len(view), "field score: no numbers"),
        (lambda view: np.zeros(len(view), complex), "field score: no numbers"),
        (lambda view: (0.5 for _ in view.trace_ids), "field score: no numbers"),
    ],
)
def test_scores_that_are_no_probabilities_are_refused(synthetic, plugged, score, match):
    plugged(score)
    with pytest.raises(InputError, match=match):
        run_detector("odd", fd.open(synthetic), (0,))


def test_a_confidence_of_some_views_alone_is_refused(synthetic, plugged):
    plugged(
        lambda view: np.full(len(view), 0.5),
        lambda view: np.full(len(view), 0.5) if view.split == "validation" else None,
    )
    with pytest.raises(InputError, match="field confidence: given for some views or seeds alone"):
        run_detector("odd", fd.open(synthetic), (0,))


def test_labels_of_calib_and_test_reach_no_detector(synthetic, tmp_path):
    def flip(rows):
        for row in rows["traces"]:
            if row["split"] != "train" and row["fold"] != "tune" and row["label"] is not None:
                row["label"] = 1 - row["label"]

    # The synthetic states are made from labels, so both folders take theirs from the first.
    first, second = fd.open(synthetic), fd.open(write_synthetic(tmp_path / "flipped", mutate=flip))
    for name in (*registry.CONTROLS, *registry.BASELINES):
        if name not in ("hidden_state", "instance_level"):
            a, b = (run_detector(name, data, (0,)) for data in (first, second))
            assert a.equals(b), name


def test_interventions_of_role_label_reach_no_detector(synthetic, tmp_path):
    def scramble(rows):
        for row in rows["interventions"]:
            if row["role"] == "label":
                row["changed"], row["answer"] = row["changed"] is False, "tampered"

    other = write_synthetic(tmp_path / "tampered", mutate=scramble)
    a, b = (run_detector("instance_level", fd.open(f), (0,)) for f in (synthetic, other))
    assert a.equals(b)


@pytest.mark.parametrize("phase", ["fit", "score", "confidence"])
def test_a_detector_that_breaks_is_one_line(synthetic, plugged, phase, monkeypatch):
    plugged(lambda view: np.full(len(view), 0.5))
    fault = ZeroDivisionError("no\nluck")

    def broken(*args, **more):
        raise fault

    monkeypatch.setattr(registry.detector_class("odd"), phase, broken)
    with pytest.raises(InputError) as caught:
        run_detector("odd", fd.open(synthetic), (0,))
    assert str(caught.value) == f"odd: {phase} failed: ZeroDivisionError: no luck"
    assert caught.value.__cause__ is fault


def test_a_stop_by_the_user_is_no_failure(synthetic, plugged):
    def stopped(view):
        raise KeyboardInterrupt

    plugged(stopped)
    with pytest.raises(KeyboardInterrupt):
        run_detector("odd", fd.open(synthetic), (0,))


@pytest.mark.parametrize("seeds", [(), (0, 0), (-1,)])
def test_bad_seeds_are_refused(synthetic, seeds):
    with pytest.raises(InputError, match="bad seeds"):
        run_detector("random", fd.open(synthetic), seeds)


@pytest.mark.parametrize("name", ["hidden_state", "instance_level"])
def test_data_without_what_is_needed_is_one_line(tmp_path, name):
    traces = [
        {
            "question": f"What is {i} and {i}?",
            "reasoning": "So.",
            "answer": str(2 * i),
            "label": i % 2,
        }
        for i in range(40)
    ]
    folder = fd.write(tmp_path / "own", traces)
    with pytest.raises(InputError, match="no trajectories"):
        run_detector(name, fd.open(folder), (0,))


def test_fitted_detectors_are_plain_files(synthetic, tmp_path):
    run_detector("instance_level", fd.open(synthetic), (0,), save=tmp_path)
    described = json.loads((tmp_path / "seed-0" / "detector.json").read_text())
    assert described["name"] == "instance_level"
    assert described["training"]["epoch"] >= 1
    assert "truncate@0.4" in described["params"]["profile"]
