"""The benchmark of detectors at a small size: both ways give the same scores, targets are named."""

from __future__ import annotations

import pytest

from benchmarks import detectors


def test_like_lengths_together_change_no_score_and_figures_are_whole(monkeypatch):
    monkeypatch.setattr(detectors, "NAMES", ("hidden_state", "instance_level", "sift_small"))
    for name, small in {"EPOCHS": 1, "REPEATS": 1, "MEMBERS": 1}.items():
        monkeypatch.setattr(detectors, name, small)
    found = detectors.measured(detectors.made(80, 0), detectors.made(600, 1))
    assert found["largest_difference"] < 1e-5
    assert found["score_of_instance_level"]["instance_level"] == 1
    speeds = found["traces_a_second"]
    assert all(speed["scored_a_second"] > 0 for speed in speeds.values())
    assert speeds["hidden_state"]["parameters"] == detectors.STATE + 1
    assert 1 < found["mean_steps"] < 8 and found["ensemble"] > 0.2


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ({}, []),
        ({"ratio": 1.2}, ["like lengths are faster"]),
        ({"largest_difference": 1e-4}, ["same scores"]),
        ({"ensemble": 1.2}, ["an ensemble costs its members"]),
        ({"memory": 6.0}, ["at most six times the descriptors"]),
    ],
)
def test_missed_targets_are_named(fault, named):
    good = {"ratio": 1.3, "largest_difference": 0.0, "ensemble": 1.1, "memory": 2.9}
    assert detectors.missed(good | fault) == named
