"""AUROC, AP, Brier, ECE: by hand, against scikit-learn, undefined cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

from faithshift_bench.metrics.ranking import (
    auroc,
    auroc_draws,
    average_precision,
    brier,
    calibration_error,
)
from faithshift_bench.stats import item_weights

ALL = (auroc, average_precision, brier, calibration_error)
# Faithful .9 .5 .5, unfaithful .5 .2, unknown .7. Pairs: .9 beats both; each .5 ties once, wins
# once.
SCORES, LABELS = [0.9, 0.5, 0.5, 0.5, 0.2, 0.7], [1, 1, 1, 0, 0, -1]


def test_by_hand():
    assert auroc(SCORES, LABELS).value == pytest.approx((2 + 2 * 1.5) / 6)
    # Precision 1 at recall 1/3, then 3/4 at recall 1.
    assert average_precision(SCORES, LABELS).value == pytest.approx(1 / 3 + 2 / 3 * 3 / 4)
    # Unfaithful first: 1 at recall 1/2, then 2/4 at recall 1.
    found = average_precision(SCORES, LABELS, positive=0)
    assert found.value == pytest.approx(1 / 2 + 1 / 2 * 2 / 4) and found.n_positive == 2
    assert brier(SCORES, LABELS).value == pytest.approx((0.01 + 3 * 0.25 + 0.04) / 5)
    # Bins of a tenth: .9 alone off by .1; three at .5 of which 2/3 faithful; .2 alone off by .2.
    expected = (0.1 + 3 * (2 / 3 - 0.5) + 0.2) / 5
    assert calibration_error(SCORES, LABELS).value == pytest.approx(expected)
    for measure in ALL:
        result = measure(SCORES, LABELS)
        assert (result.n, result.n_positive, result.n_excluded, result.reason) == (5, 3, 1, None)
        assert float(result) == result.value


def test_bins_are_closed_on_the_right():
    # .5 falls in (0, .5] with 0; 1 in (.5, 1]. Gaps: |.25 - .5| of two rows, |1 - 0| of one.
    result = calibration_error([0, 0.5, 1], [0, 1, 0], bins=2)
    assert result.value == pytest.approx((2 * 0.25 + 1) / 3)
    # In one bin only the means count: |.5 - 1/3|.
    assert calibration_error([0, 0.5, 1], [0, 1, 0], bins=1).value == pytest.approx(1 / 6)


@pytest.mark.parametrize("labels", [[1, 1, -1], [0, 0, 0]])
def test_one_class_has_no_ranking(labels):
    for measure in (auroc, average_precision):
        result = measure([0.1, 0.2, 0.3], labels)
        assert result.value is None and result.reason == "one class among the labelled rows"
        assert result.n == sum(label >= 0 for label in labels)
        with pytest.raises(ValueError, match="undefined: one class"):
            float(result)
    assert brier([0.1, 0.2, 0.3], labels).value is not None
    assert calibration_error([0.1, 0.2, 0.3], labels).value is not None


@pytest.mark.parametrize("measure", ALL)
def test_no_labelled_rows(measure):
    for scores, labels in (([], []), ([0.2, 0.4], [-1, -1])):
        result = measure(scores, np.array(labels, dtype=int))
        assert (result.value, result.n, result.reason) == (None, 0, "no labelled rows")
        assert result.n_excluded == len(labels)


rows = st.lists(
    st.tuples(st.integers(0, 20).map(lambda k: k / 20), st.sampled_from([-1, 0, 1])),
    min_size=2,
    max_size=40,
).filter(lambda r: {0, 1} <= {label for _, label in r})


@given(rows)
def test_against_scikit_learn(rows):
    scores, labels = map(np.array, zip(*rows, strict=True))
    s, y = scores[labels >= 0], labels[labels >= 0]
    assert auroc(scores, labels).value == pytest.approx(sk.roc_auc_score(y, s))
    ap = average_precision(scores, labels)
    assert ap.value == pytest.approx(sk.average_precision_score(y, s))
    other = average_precision(scores, labels, positive=0)
    assert other.value == pytest.approx(sk.average_precision_score(1 - y, -s))
    assert brier(scores, labels).value == pytest.approx(sk.brier_score_loss(y, s))


@pytest.mark.parametrize("bins", [1, 7, 10])
def test_ece_against_the_calibration_curve(bins):
    rng = np.random.default_rng(bins)
    scores = rng.random(400)
    labels = (rng.random(400) < scores**2).astype(int)
    share, mean = calibration_curve(labels, scores, n_bins=bins, strategy="uniform")
    sizes = np.histogram(scores, bins=bins, range=(0, 1))[0]
    expected = (np.abs(share - mean) * sizes[sizes > 0]).sum() / 400
    assert calibration_error(scores, labels, bins=bins).value == pytest.approx(expected)


@given(rows, st.randoms(use_true_random=False))
def test_order_and_monotone_maps(rows, random):
    scores, labels = map(np.array, zip(*rows, strict=True))
    shuffled = list(rows)
    random.shuffle(shuffled)
    again = tuple(map(np.array, zip(*shuffled, strict=True)))
    for measure in ALL:
        assert measure(*again) == measure(scores, labels)
    for measure in (auroc, average_precision):
        assert measure(scores**3 + 5, labels) == measure(scores, labels)
    flipped = auroc(-scores, labels).value
    assert flipped == pytest.approx(1 - auroc(scores, labels).value)


@given(rows, st.integers(0, 2**32 - 1))
def test_draws_are_the_auroc_of_the_resampled_table(rows, seed):
    scores, labels = map(np.array, zip(*rows, strict=True))
    rng = np.random.default_rng(seed)
    item = rng.integers(0, 5, len(rows))
    weights = item_weights(np.zeros(5), 20, seed)
    draws = auroc_draws(scores, labels, item, weights)
    for weight, draw in zip(weights.astype(int), draws, strict=True):
        taken = np.repeat(np.arange(len(rows)), weight[item])
        expected = auroc(scores[taken], labels[taken]).value
        assert np.isnan(draw) if expected is None else draw == pytest.approx(expected)
    order = rng.permutation(len(rows))
    again = auroc_draws(scores[order], labels[order], item[order], weights)
    np.testing.assert_array_equal(again, draws)


def test_draws_in_blocks_and_without_rows(monkeypatch):
    weights = item_weights(np.zeros(6), 7, 0)
    whole = auroc_draws(SCORES, LABELS, np.arange(6), weights)
    monkeypatch.setattr("faithshift_bench.metrics.ranking.MAX_CELLS", 10)
    np.testing.assert_array_equal(auroc_draws(SCORES, LABELS, np.arange(6), weights), whole)
    assert np.isnan(auroc_draws([0.5], [-1], [0], weights)).all()
    for item in ([0, 1], [0, 1, 2, 3, 4, 6]):
        with pytest.raises(ValueError, match="item must be of shape"):
            auroc_draws(SCORES, LABELS, item, weights)


@pytest.mark.parametrize("measure", ALL)
@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([0.1, np.nan], [1, 0], "must be finite"),
        ([0.1, 0.2], [1, 2], "outcomes must hold only"),
        ([0.1, 0.2], ["1", "0"], "outcomes must hold only"),
        ([0.1, 0.2], [1], "differ in shape"),
        ([[0.1], [0.2]], [[1], [0]], "differ in shape"),
    ],
)
def test_faults(measure, scores, labels, message):
    with pytest.raises(ValueError, match=message):
        measure(scores, labels)


def test_faults_of_options():
    for measure in (brier, calibration_error):
        with pytest.raises(ValueError, match=r"lie in \[0, 1\]"):
            measure([0.1, 1.2], [1, 0])
    with pytest.raises(ValueError, match="bins"):
        calibration_error([0.1], [1], bins=0)
    with pytest.raises(ValueError, match="positive"):
        average_precision([0.1], [1], positive=2)
