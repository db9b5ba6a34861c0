"""Agreement coefficients and the Wilson interval against independent oracles and by hand."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from faithshift_bench.stats import kendall_tau_b, rater_agreement, wilson_interval

ROWS = st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1)), min_size=1, max_size=50)


@given(ROWS)
def test_kappa_equals_scikit_learn(rows):
    a, b = np.array(rows).T
    both = (a >= 0) & (b >= 0)
    assume(len(set(a[both])) == 2 and len(set(b[both])) == 2)
    found = rater_agreement(a, b)
    assert found.kappa.value == pytest.approx(cohen_kappa_score(a[both], b[both]))
    assert (found.n, found.n_excluded) == (both.sum(), (~both).sum())


def test_the_kappa_paradox_by_hand():
    """90 both yes, 5 and 5 apart, none both no: raw .9, kappa below 0, AC1 .89."""
    a = [1] * 95 + [0] * 5
    b = [1] * 90 + [0] * 5 + [1] * 5
    found = rater_agreement(a, b)
    assert found.observed == pytest.approx(0.9)
    assert found.kappa.value == pytest.approx((0.9 - 0.905) / (1 - 0.905))
    assert found.ac1.value == pytest.approx((0.9 - 0.095) / (1 - 0.095))
    assert found.prevalence == pytest.approx(0.95) and found.saturated
    assert not rater_agreement([1, 0, 1], [1, 0, 0]).saturated


def test_constant_raters_are_undefined_with_a_reason():
    one = rater_agreement([1, 1, 1], [1, 0, 1])
    assert one.kappa.value is None and one.kappa.reason == "first rater is constant"
    assert rater_agreement([1, 0], [0, 0]).kappa.reason == "second rater is constant"
    both = rater_agreement([1, 1], [1, 1])
    assert both.kappa.reason == "both raters are constant" and both.ac1.value == 1
    none = rater_agreement([-1, 1], [1, -1])
    assert (none.n, none.n_excluded, none.observed, none.prevalence) == (0, 2, None, None)
    assert none.kappa.reason == none.ac1.reason == "no row with two verdicts"
    for bad in (([1], [1, 0]), ([2], [1])):
        with pytest.raises(ValueError, match="shape|verdicts"):
            rater_agreement(*bad)


VALUES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=25)


@given(VALUES)
def test_tau_b_equals_scipy(rows):
    a, b = np.array(rows).T
    assume(len(set(a)) > 1 and len(set(b)) > 1)
    found = kendall_tau_b(a, b, n_permutations=9)
    assert found.value == pytest.approx(stats.kendalltau(a, b).statistic)


def test_tau_p_is_exact_without_ties():
    a = np.array([1, 2, 3, 4, 5, 6, 7, 8])
    b = np.array([2, 1, 4, 3, 6, 5, 8, 7])
    found = kendall_tau_b(a, b)
    assert found.method == "exact"
    assert found.p == pytest.approx(stats.kendalltau(a, b, method="exact").pvalue)
    # The perfect order of five is 2 of 120.
    assert kendall_tau_b(range(5), range(5)).p == pytest.approx(2 / 120)


def test_tau_p_with_ties_enumerates_or_permutes():
    a, b = [1, 1, 2, 3, 4, 4], [1, 2, 2, 3, 3, 5]
    found = kendall_tau_b(a, b)
    taus = [abs(stats.kendalltau(a, turn).statistic) for turn in permutations(b)]
    assert found.method == "all permutations"
    assert found.p == pytest.approx(np.mean(np.array(taus) >= found.value - 1e-9))
    many = kendall_tau_b(a * 3, b * 3, n_permutations=299)
    assert many.method == "299 permutations" and many.p == pytest.approx(1 / 300)


def test_tau_row_order_and_undefined():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, 12), rng.integers(0, 4, 12)
    order = rng.permutation(12)
    assert kendall_tau_b(a, b, n_permutations=99) == kendall_tau_b(
        a[order], b[order], n_permutations=99
    )
    few = kendall_tau_b([1, 2], [1, 2])
    assert few.value is None and few.reason == "2 objects, at least 3 needed"
    constant = kendall_tau_b([1, 1, 1], [1, 2, 3])
    assert constant.value is None and constant.reason == "first ranking constant"
    three = kendall_tau_b([1, 2, 3], [1, 2, 3])
    assert three.value == 1 and three.p is None and "at least 5" in three.p_reason
    gap = kendall_tau_b([1, 2, 3, np.nan], [1, 2, 3, 4])
    assert (gap.n, gap.n_excluded, gap.value) == (3, 1, 1)
    with pytest.raises(ValueError, match="shape"):
        kendall_tau_b([1], [1, 2])


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_statsmodels_and_scipy(counts):
    k, n = counts
    found = wilson_interval(k, n)
    assert found == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-9)
    oracle = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    assert found == pytest.approx((oracle.low, oracle.high), abs=1e-9)
    assert found[0] <= k / n <= found[1]


def test_wilson_undefined_and_refused():
    assert wilson_interval(0, 0) is None
    assert wilson_interval(0, 5)[0] == 0 and wilson_interval(5, 5)[1] == 1
    with pytest.raises(ValueError, match="count"):
        wilson_interval(3, 2)
