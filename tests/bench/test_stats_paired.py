"""Paired tests against statsmodels, scipy, and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as oracle_mcnemar
from statsmodels.stats.multitest import multipletests

from faithshift_bench.stats import benjamini_hochberg, cluster_permutation_test, mcnemar
from faithshift_bench.stats.paired import swap_signs, swap_test

BITS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40)


@given(BITS)
def test_mcnemar_equals_statsmodels(rows):
    first, second = zip(*rows, strict=True)
    table = np.zeros((2, 2))
    np.add.at(table, (first, second), 1)
    found = mcnemar(first, second)
    assert found.p == pytest.approx(min(1, oracle_mcnemar(table, exact=True).pvalue))
    assert (found.first_only, found.second_only) == (table[1, 0], table[0, 1])


def test_mcnemar_by_hand():
    # 1 of 6 discordant on one side: 2 (1 + 6) / 64.
    found = mcnemar([1] * 5 + [0] + [1, 0], [0] * 5 + [1] + [1, 0])
    assert found.p == pytest.approx(14 / 64)
    assert mcnemar([1, 0], [1, 0]).p == 1
    nothing = mcnemar([], [])
    assert nothing.p is None and nothing.reason == "no units"
    for bad in (([1], [1, 0]), ([2], [1]), ([[1]], [[1]])):
        with pytest.raises(ValueError, match="shape|0 or 1"):
            mcnemar(*bad)


def test_permutation_p_is_that_of_the_sign_flips():
    """Six items, all differences of one sign: 2 of the 64 swaps reach the observed one."""
    found = cluster_permutation_test([1] * 6, [0] * 6, list("abcdef"), n_permutations=40_000)
    assert found.difference == 1
    assert found.p == pytest.approx(2 / 64, abs=0.004)


def test_permutation_agrees_with_scipy_on_single_rows():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.4, 1, 30), rng.normal(0, 1, 30)
    oracle = stats.permutation_test(
        (a, b), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples",
        n_resamples=9999, vectorized=True, rng=1,
    )  # fmt: skip
    found = cluster_permutation_test(a, b, np.arange(30))
    assert found.difference == pytest.approx((a - b).mean())
    assert found.p == pytest.approx(oracle.pvalue, abs=0.015)


def test_permutation_takes_the_item_as_its_unit():
    """Each row doubled twenty times says no more than the row alone."""
    rng = np.random.default_rng(1)
    a, b = rng.random(12), rng.random(12)
    alone = cluster_permutation_test(a, b, np.arange(12), n_permutations=999)
    many = cluster_permutation_test(
        *(np.repeat(x, 20) for x in (a, b, np.arange(12))), n_permutations=999
    )
    assert alone.p == many.p
    naive = cluster_permutation_test(np.repeat(a, 20), np.repeat(b, 20), np.arange(240))
    assert naive.p < alone.p / 2


def test_permutation_is_level_under_the_null():
    """Items strongly dependent, 500 repeats: rejections at .05 within three standard errors."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(20), 5)
    rejected = 0
    for repeat in range(500):
        a, b = (rng.normal(size=20)[groups] + 0.3 * rng.normal(size=100) for _ in range(2))
        p = cluster_permutation_test(a, b, groups, n_permutations=199, seed=repeat).p
        rejected += p <= 0.05
    assert abs(rejected / 500 - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / 500)


def test_permutation_row_order_and_degenerate_cases():
    rng = np.random.default_rng(3)
    a, b, g = rng.random(40), rng.random(40), rng.integers(0, 9, 40)
    order = rng.permutation(40)
    one = cluster_permutation_test(a, b, g, n_permutations=499)
    two = cluster_permutation_test(a[order], b[order], g[order], n_permutations=499)
    assert one.p == two.p and one.difference == pytest.approx(two.difference)
    assert cluster_permutation_test(a, a, g, n_permutations=99).p == 1
    assert cluster_permutation_test([], [], []).reason == "no rows"
    swapped = cluster_permutation_test(b, a, g, n_permutations=499)
    assert swapped.p == one.p and swapped.difference == pytest.approx(-one.difference)
    with pytest.raises(ValueError, match="shapes"):
        cluster_permutation_test(a, b[1:], g)
    with pytest.raises(ValueError, match="finite"):
        cluster_permutation_test(a, b * np.nan, g)


def test_undefined_permutations_count_as_extreme():
    first, second = np.array([[[1.0], [0.0]]]), np.array([[[0.0], [1.0]]])
    keep = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])

    def statistic(totals):  # undefined where the total is not 1
        value = totals[0, :, 0]
        return np.where(value == 1, value, np.nan)

    found = swap_test(first, second, statistic, keep)
    assert (found.p, found.n_undefined) == (1, 2)
    gone = swap_test(first * 5, second, statistic, keep)
    assert gone.p is None and gone.reason == "undefined on one side"
    with pytest.raises(ValueError, match="fit"):
        swap_test(first, second, statistic, keep[:, :1])


def test_signs_follow_the_seed_alone():
    assert (swap_signs(5, 50, 1) == swap_signs(5, 50, 1)).all()
    assert (swap_signs(5, 50, 1) != swap_signs(5, 50, 2)).any()
    assert swap_signs(5, 2000, 1).mean() == pytest.approx(0.5, abs=0.03)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_bh_equals_scipy_and_statsmodels(p):
    found = benjamini_hochberg(p)
    np.testing.assert_allclose(found.values, stats.false_discovery_control(p), atol=1e-12)
    np.testing.assert_allclose(found.values, multipletests(p, method="fdr_bh")[1], atol=1e-12)
    assert found.n_tests == len(p) and found.dropped == ()


def test_bh_by_hand_drops_and_reports():
    # m = 3: .01 * 3 / 1, .02 * 3 / 2, .5.
    found = benjamini_hochberg([0.02, None, 0.01, float("nan"), 0.5])
    assert found.values == pytest.approx((0.03, None, 0.03, None, 0.5))
    assert (found.n_tests, found.dropped) == (3, (1, 3))
    assert benjamini_hochberg([None]).values == (None,)
    assert benjamini_hochberg([]).n_tests == 0
    for bad in (-0.1, 1.1):
        with pytest.raises(ValueError, match="p-values"):
            benjamini_hochberg([bad])
