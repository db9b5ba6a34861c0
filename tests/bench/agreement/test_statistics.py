"""Rank correlation, kappa and preference on all resamples, against slow and independent ways."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from faithshift_bench.agreement.metrics import Parts, ratio
from faithshift_bench.agreement.ranking import (
    LEVELS,
    Preference,
    average_ranks,
    chance_of_reversal,
    preferences,
    rank_models,
    rank_tau,
    reversals,
)
from faithshift_bench.agreement.resampling import (
    kappa_interval,
    kappa_of,
    preference,
    question_weights,
    score_draws,
    tau_b,
)
from faithshift_bench.agreement.robustness import compare
from faithshift_bench.agreement.traces import (
    mean_kappas,
    trace_agreements,
    type_difference,
)

SCORES = st.lists(st.integers(0, 6), min_size=2, max_size=8)


def ranking(values, metric="metric", draws=None, n=100):
    """A ranking of models with exactly these scores, k of n traces."""
    values = np.asarray(values)
    hit = (np.arange(n)[None, :] < values[:, None]).astype(float)
    parts = Parts(np.stack([hit, np.ones_like(hit)]), hit >= 0, {}, ratio)
    names = [f"m{k}" for k in range(len(values))]
    return rank_models(metric, "v", parts, names, question_weights(n, draws or 50, 0), 30)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=9))
def test_tau_b_is_scipys(pairs):
    a, b = np.array(pairs, float).T
    expected = stats.kendalltau(a, b).statistic
    assert tau_b(a, b) == pytest.approx(expected, nan_ok=True)
    rows = tau_b(np.stack([a, a[::-1]]), np.stack([b, b[::-1]]))
    assert rows == pytest.approx([expected, expected], nan_ok=True)


def test_tau_b_leaves_out_what_is_undefined():
    a, b = np.array([1.0, 2, np.nan, 3]), np.array([1.0, 3, 2, 2])
    assert tau_b(a, b) == pytest.approx(stats.kendalltau([1, 2, 3], [1, 3, 2]).statistic)
    assert np.isnan(tau_b(np.array([1.0, np.nan]), np.array([1.0, 2])))


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
def test_kappa_is_sklearns(pairs):
    x, y = np.array(pairs).T
    counts = np.array([((x == a) & (y == b)).sum() for a in (0, 1) for b in (0, 1)])
    constant = len(set(x)) == 1 or len(set(y)) == 1
    expected = np.nan if constant else cohen_kappa_score(x, y)
    assert kappa_of(counts.astype(float)) == pytest.approx(expected, nan_ok=True)


def test_the_interval_of_a_perfect_kappa_is_that_of_its_raw_agreement():
    cells = np.zeros((10, 4))
    cells[:5, 0] = cells[5:, 3] = 1
    weights = question_weights(10, 100, 0)
    low, high = kappa_interval(cells, weights)
    # At even margins kappa is 2 po - 1; Clopper and Pearson's lower end of 10 of 10 is .025**(1/10)
    assert (low, high) == (pytest.approx(2 * 0.025**0.1 - 1), 1.0)
    assert kappa_interval(cells[:, [1, 0, 3, 2]], weights) == pytest.approx((-1.0, -low))
    # The same trace ten times over is no more evidence.
    assert kappa_interval(10 * cells, weights) == pytest.approx((low, high))
    assert kappa_interval(np.eye(4)[[0, 0]], weights[:, :2]) is None


def test_preference_counts_ties_half():
    draws = np.array([[3.0, 1], [1, 3], [2, 2], [2, 2]])
    assert preference(draws).tolist() == [0.5]
    assert preference(np.array([[3.0, 1], [2, 2]])).tolist() == [0.75]
    lost = np.full((100, 2), [3.0, 1])
    lost[:6, 0] = np.nan
    assert np.isnan(preference(lost)).all()
    lost[:2] = [3.0, 1]
    assert preference(lost).tolist() == [1.0]


def test_scores_of_a_resample_are_scores_of_the_resampled_rows():
    rng = np.random.default_rng(0)
    hit, counted = rng.integers(0, 2, (2, 3, 30)).astype(bool)
    parts = Parts(np.stack([hit & counted, counted]).astype(float), counted, {}, ratio)
    weights = question_weights(30, 20, 1)
    draws = score_draws(parts, weights)
    for b, m in itertools.product(range(20), range(3)):
        rows = np.repeat(np.arange(30), weights[b].astype(int))
        kept = rows[counted[m, rows]]
        expected = hit[m, kept].mean() if len(kept) else np.nan
        assert draws[b, m] == pytest.approx(expected, nan_ok=True)


@given(SCORES)
@settings(deadline=None, max_examples=50)
def test_ranks_are_scipys_from_the_top(scores):
    values = np.array(scores, float)
    assert average_ranks(values).tolist() == stats.rankdata(-values).tolist()
    with_hole = np.append(values, np.nan)
    assert np.isnan(average_ranks(with_hole)[-1])
    assert average_ranks(with_hole)[:-1].tolist() == average_ranks(values).tolist()


@pytest.mark.parametrize(("net", "published"), [(17, 0.618), (15, 0.546)])
def test_one_tie_among_eight_models_gives_the_published_taus(net, published):
    """Of 28 pairs one is tied on one side: net / sqrt(27 x 28)."""
    first = [1, 1, 3, 4, 5, 6, 7, 8]
    for order in itertools.permutations(range(1, 9)):
        signs = [
            np.sign(first[j] - first[i]) * np.sign(order[j] - order[i])
            for i, j in itertools.combinations(range(8), 2)
        ]
        if sum(signs) == net:
            break
    found = rank_tau(ranking(first), ranking(order))
    assert found.value == pytest.approx(net / np.sqrt(27 * 28))
    assert round(found.value, 3) == pytest.approx(published, abs=5e-4)


@pytest.mark.parametrize(("swaps", "robust"), [(0, True), (1, True), (2, True), (3, False)])
def test_eight_models_are_robust_up_to_two_swapped_neighbours(swaps, robust):
    full = list(range(10, 90, 10))
    subset = list(full)
    for k in range(swaps):
        subset[2 * k], subset[2 * k + 1] = subset[2 * k + 1], subset[2 * k]
    tau, shift = compare(ranking(full), ranking(subset))
    assert tau.value == pytest.approx((28 - 2 * swaps) / 28)
    assert shift == min(swaps, 1)
    assert (tau.value >= 0.85 and shift <= 1) == robust


def test_reversals_by_hand():
    def of(metric, *shares):
        names = [("a", "b"), ("a", "c"), ("b", "c")]
        return [Preference(metric, i, j, p) for (i, j), p in zip(names, shares, strict=True)]

    by_metric = {"x": of("x", 0.98, 0.85, None), "y": of("y", 0.14, 0.25, 0.1)}
    found, (curve,) = reversals(by_metric, 0.8)
    assert [(r.higher, r.lower, r.first_share, round(r.second_share, 2)) for r in found] == [
        ("a", "b", 0.98, 0.86)
    ]
    assert curve.n_pairs == 2
    counts = dict(zip(LEVELS, curve.counts, strict=True))
    assert (counts[0.75], counts[0.76], counts[0.86], counts[0.87]) == (2, 1, 1, 0)
    # The other way round is the same pair, preferred the other way.
    (other,), _ = reversals(dict(reversed(by_metric.items())), 0.8)
    assert (other.higher, other.lower) == ("b", "a")


def test_equal_pairs_reverse_as_often_as_said():
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 200_000))
    for level in (0.6, 0.8, 0.95):
        share = np.mean((x >= level) & (1 - y >= level) | (1 - x >= level) & (y >= level))
        assert share == pytest.approx(chance_of_reversal(level), abs=0.004)


def test_a_certain_order_and_a_tie():
    first, second, third = preferences(ranking([10, 10, 90], draws=300))
    assert (first.first, first.second) == ("m0", "m1")
    assert first.value == 0.5 and second.value == third.value == 0.0


def test_kappa_by_model_and_group_is_that_of_their_traces():
    rng = np.random.default_rng(0)
    labels = {name: rng.integers(-1, 2, (2, 60)).astype(np.int8) for name in ("x", "y")}
    groups = ["g", "h", ""] * 20
    found = trace_agreements(labels, ["m", "n"], groups, question_weights(60, 100, 0))
    assert [(each.over, each.unit) for each in found] == [
        ("pooled", "all"), ("model", "m"), ("model", "n"), ("group", "g"), ("group", "h"),
    ]  # fmt: skip
    places = [np.s_[:, :], np.s_[0, :], np.s_[1, :], np.s_[:, ::3], np.s_[:, 1::3]]
    for each, place in zip(found, places, strict=True):
        x, y = (labels[name][place].ravel() for name in ("x", "y"))
        both = (x >= 0) & (y >= 0)
        assert each.agreement.n == both.sum()
        assert each.agreement.kappa.value == pytest.approx(cohen_kappa_score(x[both], y[both]))
        assert each.interval[0] <= each.agreement.kappa.value <= each.interval[1]


def test_mean_kappa_drops_and_counts_what_is_undefined():
    x = np.array([[0, 1, 0, 1] * 10, [0, 1, 1, 0] * 10], np.int8)
    constant = np.array([[1] * 40, [0, 1, 0, 1] * 10], np.int8)
    labels = {"x": x, "same": x, "constant": constant}
    weights = question_weights(40, 200, 0)
    found = trace_agreements(labels, ["m", "n"], [""] * 40, weights)
    means = mean_kappas(found, ["m", "n"], ["thinking", "instruct"])
    # m: kappa 1, and two pairs with the constant metric; n: 1, 0, 0
    assert [(m.value, m.n_pairs, m.n_dropped) for m in means] == [(1.0, 1, 2), (1 / 3, 3, 0)]
    gap = type_difference(labels, means, weights)
    assert gap.value == pytest.approx(1 / 3 - 1)
    assert gap.interval[0] <= gap.value <= gap.interval[1]
    none = type_difference(labels, mean_kappas(found, ["m", "n"], ["", ""]), weights)
    assert none.value is None and "no model is said to be instruct" in none.reason
    undefined = [replace(mean, value=None) for mean in means]
    silent = type_difference(labels, undefined, weights).reason
    assert silent == "no instruct model has a kappa and no thinking model has a kappa"
