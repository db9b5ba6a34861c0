"""Risk-coverage curve, AURC, AUGRC: by hand, against all orders of ties, undefined cases."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_bench.metrics.ranking import auroc
from faithshift_bench.metrics.selective import (
    augrc,
    aurc,
    isotonic_risk,
    risk_band,
    risk_coverage,
)

# Surest .9 right; tied at .6 one right, one wrong; .1 wrong; one unknown.
CONFIDENCE, ERRORS = [0.6, 0.9, 0.1, 0.6, 0.8], [1, 0, 1, 0, -1]


def test_curve_by_hand():
    curve = risk_coverage(CONFIDENCE, ERRORS)
    np.testing.assert_array_equal(curve.threshold, [0.9, 0.6, 0.1])
    np.testing.assert_array_equal(curve.n_selected, [1, 3, 4])
    np.testing.assert_array_equal(curve.n_errors, [0, 1, 2])
    np.testing.assert_allclose(curve.coverage, [1 / 4, 3 / 4, 1])
    np.testing.assert_allclose(curve.risk, [0, 1 / 3, 1 / 2])
    assert curve.n_excluded == 1


def test_areas_by_hand():
    # Risks of the k surest: 0; 1/2 or 0, each in one of two orders; 1/3; 1/2.
    result = aurc(CONFIDENCE, ERRORS)
    assert result.value == pytest.approx((0 + 1 / 4 + 1 / 3 + 1 / 2) / 4)
    assert (result.n, result.n_positive, result.n_excluded) == (4, 2, 1)
    # Corners (0, 0), (1/4, 0), (3/4, 1/4), (1, 1/2): trapezoids 0, 1/16, 3/32.
    assert augrc(CONFIDENCE, ERRORS).value == pytest.approx(1 / 16 + 3 / 32)


def test_confidence_that_says_nothing():
    errors = [1, 0, 0, 0]
    assert aurc([0.5] * 4, errors).value == pytest.approx(1 / 4)
    assert augrc([0.5] * 4, errors).value == pytest.approx(1 / 8)


rows = st.lists(
    st.tuples(st.sampled_from([0.2, 0.5, 0.7]), st.sampled_from([-1, 0, 1])),
    min_size=1,
    max_size=6,
).filter(lambda r: any(error >= 0 for _, error in r))


@given(rows)
def test_areas_are_means_over_all_orders_of_ties(rows):
    """Oracle: every order of the rows that keeps confidence descending, area by area."""
    known = [row for row in rows if row[1] >= 0]
    areas, general = [], []
    for order in set(permutations(range(len(known)))):
        picked = [known[i] for i in order]
        if any(a[0] < b[0] for a, b in zip(picked, picked[1:], strict=False)):
            continue
        wrong = np.cumsum([error for _, error in picked])
        n = len(picked)
        areas.append(np.mean(wrong / np.arange(1, n + 1)))
        general.append((np.r_[0, wrong[:-1]] + wrong).sum() / (2 * n * n))
    confidence, errors = map(list, zip(*rows, strict=True))
    assert aurc(confidence, errors).value == pytest.approx(np.mean(areas))
    assert augrc(confidence, errors).value == pytest.approx(np.mean(general), abs=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0, 1])), min_size=2, max_size=60).filter(
        lambda r: len({error for _, error in r}) == 2
    )
)
def test_augrc_from_the_auroc_of_confidence(rows):
    confidence, errors = map(np.array, zip(*rows, strict=True))
    right = 1 - errors.mean()
    failure = auroc(confidence, 1 - errors).value
    expected = right * (1 - right) * (1 - failure) + (1 - right) ** 2 / 2
    assert augrc(confidence, errors).value == pytest.approx(expected)


@given(rows, st.randoms(use_true_random=False))
def test_order_and_monotone_maps(rows, random):
    confidence, errors = map(np.array, zip(*rows, strict=True))
    shuffled = list(rows)
    random.shuffle(shuffled)
    again = tuple(map(np.array, zip(*shuffled, strict=True)))
    for measure in (aurc, augrc):
        assert measure(*again) == measure(confidence, errors)
        assert measure(np.exp(confidence), errors) == measure(confidence, errors)


def test_no_known_errors():
    for measure in (aurc, augrc):
        result = measure([0.3, 0.4], [-1, -1])
        assert (result.value, result.n, result.n_excluded) == (None, 0, 2)
        assert result.reason == "no rows whose error is known"
    curve = risk_coverage([], np.array([], dtype=int))
    assert len(curve.risk) == 0 and len(isotonic_risk(curve)) == 0


def test_isotonic_by_hand():
    # Risks 1, 1/2, 1/3 fall and pool to 11/18, which is above 1/2: all pool to 7/12.
    curve = risk_coverage([0.9, 0.8, 0.7, 0.6], [1, 0, 0, 1])
    np.testing.assert_allclose(isotonic_risk(curve), [7 / 12] * 4)
    curve = risk_coverage([0.9, 0.8, 0.7, 0.6], [0, 1, 0, 0])
    np.testing.assert_allclose(curve.risk, [0, 1 / 2, 1 / 3, 1 / 4])
    np.testing.assert_allclose(isotonic_risk(curve), [0, 13 / 36, 13 / 36, 13 / 36])


def test_band_by_hand():
    # Two items, one row each, at t = 0: 0, 1/2 or 1 wrong. At .5 only the right one: exact on it.
    band = risk_band([0.9, 0.1], [0, 1], [0, 0.5, 0.95], ["a", "b"], n_resamples=400)
    assert band[0] == (0, 1)
    assert band[1] == pytest.approx((0, 0.975))
    assert band[2] is None
    # Alone in its stratum each item is always drawn: no width but at the ends.
    fixed = risk_band([0.9, 0.1], [0, 1], [0], ["a", "b"], strata=["x", "y"], n_resamples=50)
    assert fixed == [(0.5, 0.5)]


@pytest.mark.parametrize(
    ("confidence", "errors", "message"),
    [
        ([0.1, np.inf], [1, 0], "must be finite"),
        ([0.1, 0.2], [1, 3], "outcomes must hold only"),
        ([0.1], [1, 0], "differ in shape"),
    ],
)
def test_faults(confidence, errors, message):
    for measure in (risk_coverage, aurc, augrc):
        with pytest.raises(ValueError, match=message):
            measure(confidence, errors)


def test_fault_of_groups():
    with pytest.raises(ValueError, match="groups must be of shape"):
        risk_band([0.1, 0.2], [0, 1], [0], ["a"])
