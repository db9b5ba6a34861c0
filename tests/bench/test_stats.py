"""Intervals and resampling against scipy and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from faithshift_bench.stats import exact_interval, item_weights, percentile_interval


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_exact_interval_equals_scipy(counts):
    k, n = counts
    oracle = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    assert exact_interval(k, n) == pytest.approx((oracle.low, oracle.high), abs=1e-10)


def test_exact_interval_closed_form_and_undefined():
    assert exact_interval(0, 10) == pytest.approx((0, 1 - 0.025**0.1))
    assert exact_interval(10, 10) == pytest.approx((0.025**0.1, 1))
    assert exact_interval(0, 0) is None
    for count, n in ((-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="count"):
            exact_interval(count, n)
    with pytest.raises(ValueError, match="confidence"):
        exact_interval(1, 3, 1.0)


def test_weights_keep_the_size_of_each_stratum():
    strata = ["a", "b", "a", "a", "b"]
    weights = item_weights(strata, 500, seed=3)
    assert weights.shape == (500, 5)
    np.testing.assert_array_equal(weights[:, [0, 2, 3]].sum(axis=1), 3)
    np.testing.assert_array_equal(weights[:, [1, 4]].sum(axis=1), 2)
    # An item is left out of a draw of three with probability (2/3)^3 = .296.
    assert (weights[:, 0] == 0).mean() == pytest.approx(8 / 27, abs=0.07)


def test_weights_depend_on_the_seed_alone():
    strata = np.repeat([0, 1], 10)
    np.testing.assert_array_equal(item_weights(strata, 20, 1), item_weights(strata, 20, 1))
    assert (item_weights(strata, 20, 1) != item_weights(strata, 20, 2)).any()


def test_an_item_alone_in_its_stratum_is_always_drawn():
    np.testing.assert_array_equal(item_weights(["x", "y"], 50, 0), np.ones((50, 2)))


def test_percentile_interval_by_hand():
    # 0, 1, ..., 100: the 2.5 % and 97.5 % quantiles are 2.5 and 97.5.
    assert percentile_interval(np.arange(101)) == pytest.approx((2.5, 97.5))


def test_percentile_interval_is_undefined_over_five_percent():
    draws = np.arange(100.0)
    draws[:5] = np.nan
    assert percentile_interval(draws) is not None
    draws[5] = np.nan
    assert percentile_interval(draws) is None
    assert percentile_interval(np.full(10, np.nan)) is None
