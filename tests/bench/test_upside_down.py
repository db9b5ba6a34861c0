"""Scores that rank validation the wrong way round are flagged; test labels are not looked at."""

import numpy as np
import pytest

import faithshift_bench as fb
from tests.bench.fakes import FakeData

FLAG = "scores may be upside down"


def data_and_scores(n_validation, flipped, *, test_flipped=False, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    traces, scores = [], []
    for i in range(n_validation + 10):
        validation = i < n_validation
        split, fold = (
            ("validation", ("tune", "calib")[i // 2 % 2]) if validation else ("test", None)
        )
        label = i % 2
        traces.append((f"{i:03}", f"{i:03}", split, fold, "d", label))
        wrong = flipped if validation else test_flipped
        sure = rng.random() if rng.random() < noise else 0.2 + 0.6 * (label != wrong)
        scores.append(sure)
    return FakeData(traces), {"trace_id": [t[0] for t in traces], "score": scores}


def flags(*args, **options):
    data, scores = data_and_scores(*args, **options)
    found = fb.evaluate_scores(scores, data, n_resamples=0)
    return [flag for flag in found.flags if flag.startswith(FLAG)]


def test_flipped_scores_are_flagged_with_their_auroc():
    assert flags(40, True) == [f"{FLAG}: AUROC 0.00 on validation"]
    assert flags(40, False) == []


def test_test_labels_do_not_decide():
    assert flags(40, False, test_flipped=True) == []
    assert len(flags(40, True, test_flipped=False)) == 1


def test_it_takes_thirty_labelled_rows():
    assert flags(28, True) == []
    assert len(flags(30, True)) == 1


@pytest.mark.parametrize("seed", range(5))
def test_half_flipped_scores_are_flagged_and_a_coin_is_not(seed):
    assert len(flags(200, True, noise=0.5, seed=seed)) == 1
    data, scores = data_and_scores(200, True)
    scores["score"] = [0.5] * len(scores["score"])
    assert not [f for f in fb.evaluate_scores(scores, data, n_resamples=0).flags if FLAG in f]
