"""Units, bets and procedures beyond the defaults, by hand and against loops; SGR."""

import hashlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from faithshift_bench.risk import certify, list_certificates, sgr
from faithshift_bench.risk.betting import Agrapa, Betting, Mixture, hash_order
from faithshift_bench.risk.bounds import Exact, binomial_upper
from faithshift_bench.risk.losses import ItemLosses
from faithshift_bench.risk.multiplicity import holm_levels
from faithshift_bench.risk.protocol import Protocol

OPTIONS = list_certificates()


def rows(seed=0, items=30, per_item=6, rate=0.15):
    rng = np.random.default_rng(seed)
    n = items * per_item
    errors = (rng.random(n) < rate).astype(int)
    return rng.random(n), errors, np.repeat(np.arange(items), per_item)


def test_every_option_is_listed_once_and_runs():
    assert len(OPTIONS) == len(set(OPTIONS)) == 21
    assert [o for o in OPTIONS if not o.holds] == [
        o for o in OPTIONS if o.unit == "iid" or o.bound == "normal"
    ]
    conf, errors, groups = rows()
    for option in OPTIONS:
        found = certify(conf, errors, groups=groups, tune=rows(1), **choice(option))
        assert (found.upper_bound <= 0.25) == found.certified, option
        assert found.n_items == 30
        assert any("no guarantee" in f or "not valid" in f for f in found.flags) != option.holds
        needs = Protocol(option.unit, option.bound, "k/20", option.multiplicity).needs_tune
        assert needs == option.needs_tune
        if option.needs_tune:
            with pytest.raises(ValueError, match="needs labelled tune rows"):
                certify(conf, errors, groups=groups, **choice(option))
        else:
            certify(conf, errors, groups=groups, **choice(option))


def choice(option):
    return {"unit": option.unit, "bound": option.bound, "multiplicity": option.multiplicity}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda o: o.name)
def test_nothing_selected_has_p_one_and_nothing_certified(option):
    """All confidences are 0: only t = 0 selects; every error makes it fail too."""
    groups = np.arange(30)
    found = certify(np.zeros(30), np.ones(30, int), groups=groups, tune=rows(1), **choice(option))
    assert not found.certified
    assert [c.p_value for c in found.scan[1:]] == [1.0] * 19
    empty = certify([], [], groups=[], tune=rows(1), **choice(option))
    assert not empty.certified and {c.p_value for c in empty.scan} == {1.0}
    assert {c.upper_bound for c in empty.scan} == {1.0}


def test_iid_counts_every_row():
    """100 rows of 20 items, 15 wrong, one threshold: P(Bin(100, 1/4) <= 15) at level .05."""
    errors = np.repeat([1, 0], [15, 85])
    groups = np.repeat(np.arange(20), 5)
    found = certify(np.ones(100), errors, groups=groups, unit="iid", thresholds=[0])
    assert (found.n, found.errors, found.n_items) == (100, 15, 20)
    assert found.scan[0].p_value == pytest.approx(stats.binom.cdf(15, 100, 0.25))
    assert found.certified and found.flags == (
        "iid: 100 rows of 20 items counted as if independent; no guarantee",
    )


@given(st.lists(st.integers(0, 9).map(lambda k: 2.0**-k), min_size=1, max_size=6))
@settings(deadline=None)
def test_holm_is_the_closure_of_bonferroni(p_values):
    """k is certified iff every set of thresholds with k in it is rejected by Bonferroni.

    Powers of two tie often; no delta / size equals one.
    """
    p, n, delta = np.array(p_values), len(p_values), 0.3
    closed = [
        all(
            min(p[list(rest)].min(initial=1.0), p[k]) <= delta / (size + 1)
            for size in range(n)
            for rest in itertools.combinations([i for i in range(n) if i != k], size)
        )
        for k in range(n)
    ]
    levels = holm_levels(p, delta)
    assert (p <= levels).tolist() == closed
    assert holm_levels(np.array([p, p[::-1]]), delta)[0].tolist() == levels.tolist()


def test_holm_by_hand():
    """delta .06 and p (.05, .01, .025, .5): .01 <= .015, .025 > .02 stops it."""
    levels = holm_levels(np.array([0.05, 0.01, 0.025, 0.5]), 0.06)
    assert levels == pytest.approx([0.02, 0.015, 0.02, 0.02])
    # Of .075 all but the last pass: levels .075 / 4, / 3, / 2, / 1.
    levels = holm_levels(np.array([0.03, 0.01, 0.024, 0.5]), 0.075)
    assert levels == pytest.approx([0.0375, 0.01875, 0.025, 0.075])


def test_holm_certifies_what_bonferroni_does_and_more():
    """Without an error p is .4^4 = .0256 at t = 0 and .4^3 = .064 at t = .5 (alpha .6).

    Delta .06: .0256 <= .03, but .064 > .06. Delta .07: Holm then spends all of it on t = .5.
    """
    conf = np.repeat([0.5, 0.0], [3, 1])
    errors = np.zeros(4, int)
    options = {"alpha": 0.6, "delta": 0.06, "thresholds": [0, 0.5]}
    for multiplicity, delta, expected in (
        ("bonferroni", 0.06, [True, False]),
        ("holm", 0.06, [True, False]),
        ("bonferroni", 0.07, [True, False]),
        ("holm", 0.07, [True, True]),
    ):
        found = certify(conf, errors, multiplicity=multiplicity, **(options | {"delta": delta}))
        assert [c.certified for c in found.scan] == expected
        assert found.level == delta / 2
        assert found.least_alpha == pytest.approx(1 - (delta / 2) ** 0.25)


def test_mixture_by_hand():
    """Forty bets (j - 1/2) / 30 at alpha 1/4; two items, gains 1/4 and -1/4."""
    losses = ItemLosses(np.ones((2, 1)), np.array([[0], [0.5]]))
    wealth = np.mean([(1 + b / 4) * (1 - b / 4) for b in (np.arange(40) + 0.5) / 30])
    assert Mixture(0.25).log_wealth(losses, 0.25)[0, 0] == pytest.approx(math.log(wealth))
    assert Mixture(0.25).p_values(losses) == 1.0
    # Twenty clean items: the mean of (1 + b r)^20, bets above 1 / (1 - r) left out.
    clean = ItemLosses(np.ones((20, 1)), np.zeros((20, 1)))
    r = Mixture(0.25).upper(clean, 0.05)[0]
    bets = (np.arange(40) + 0.5) / 30

    def mean_wealth(r):
        return np.mean(np.where(bets * (1 - r) <= 1, (1 + bets * r) ** 20, 0))

    assert mean_wealth(r) >= 20 > mean_wealth(r - 1e-6)


def test_agrapa_by_hand():
    """Gains 1/4, 1/4, -1/4 in order; the imaginary item adds 1/16 to sums and squares.

    Bets: 1 at first; (1/16 + 1/4) / (1/16 + 1/16) = 5/2, clipped to 1.2; (9/16) / (3/16) = 3,
    clipped. W = (1 + 1/4)(1 + .3)(1 - .3).
    """
    losses = ItemLosses(np.ones((3, 1)), np.array([[0], [0], [0.5]]))
    agrapa = Agrapa(0.25, np.arange(3))
    assert agrapa.log_wealth(losses, 0.25)[0, 0] == pytest.approx(math.log(1.25 * 1.3 * 0.7))
    # The other way round: bet 1 loses 1/4; then -3/16 is clipped to .2; then (1/16) / (3/16).
    turned = Agrapa(0.25, np.arange(3)[::-1]).log_wealth(losses, 0.25)[0, 0]
    assert turned == pytest.approx(math.log(0.75 * 1.05 * (1 + 1 / 12)))
    # Of items 0 and 2 alone, in that order: bets 1 and 1.2.
    half = agrapa.log_wealth(losses, 0.25, np.array([[1.0, 0, 1.0]]))[0, 0]
    assert half == pytest.approx(math.log(1.25 * 0.7))


@pytest.mark.parametrize(("errors", "draws"), [(0, 9), (1, 7), (3, 20), (9, 40), (14, 60), (2, 9)])
@pytest.mark.parametrize("level", [0.05, 0.0025])
def test_least_n_at_rate_is_the_first_that_passes(errors, draws, level):
    losses = ItemLosses(np.ones((draws, 1)), np.repeat([[1.0], [0.0]], [errors, draws - errors], 0))
    n = np.arange(1, 20_000)
    p_values = stats.binom.cdf(-(-errors * n // draws), n, 0.25)
    expected = int(n[(p_values <= level).argmax()])
    assert Exact(0.25).least_n_at_rate(losses, level) == expected


def test_order_of_bets_is_that_of_the_hashes():
    items = np.array(["a", "b", "c", "d"])
    by_hash = sorted(items, key=lambda i: hashlib.sha256(i.encode()).hexdigest())
    assert items[hash_order(items)].tolist() == by_hash


gains = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda p: (max(p) / 4, min(p) / 4)),
    min_size=1,
    max_size=150,
)


@given(gains, st.sampled_from([0.1, 0.25, 0.6]), st.sampled_from([0.05, 0.3]))
@settings(deadline=None)
def test_wealth_bounds_invert_their_p_values(pairs, alpha, level):
    """p <= level iff the bound is at most alpha, and the bound is where wealth reaches 1/level."""
    values = np.array(pairs)
    losses = ItemLosses(values[:, :1], values[:, 1:])
    for rule in (
        Betting(alpha, np.array([0.5 / (1 - alpha)])),
        Mixture(alpha),
        Agrapa(alpha, np.arange(len(values))),
    ):
        upper, wealth = rule.upper(losses, level)[0], rule.log_wealth(losses, alpha)[0, 0]
        if abs(wealth + math.log(level)) > 1e-6:
            assert (rule.p_values(losses)[0, 0] <= level) == (upper <= alpha)
        assert upper == 1 or rule.log_wealth(losses, upper)[0, 0] >= -math.log(level)
        below = rule.log_wealth(losses, upper - 1e-7)[0, 0]
        assert upper < 1e-6 or below < -math.log(level)
        # Weights of one and no weights are the same items.
        taken = rule.log_wealth(losses, alpha, np.ones((1, len(values))))[0, 0]
        assert taken == pytest.approx(wealth, abs=1e-9)


@given(st.sampled_from([o for o in OPTIONS if o.holds]), st.integers(0, 9), st.floats(0.3, 4))
@settings(deadline=None, max_examples=40)
def test_monotone_maps_of_confidence_change_nothing_with_q5(option, seed, power):
    conf, errors, groups = rows(seed, items=60, rate=0.1)
    tune = rows(seed + 10)

    def run(power):
        return certify(
            conf**power,
            errors,
            groups=groups,
            tune=(tune[0] ** power, *tune[1:]),
            thresholds="q5",
            redraws=9,
            **choice(option),
        )

    first, second = run(1.0), run(power)
    assert first.certified == second.certified
    assert [c.certified for c in first.scan] == [c.certified for c in second.scan]
    for a, b in zip(first.scan, second.scan, strict=True):
        assert b.threshold == pytest.approx(a.threshold**power)
        assert (a.n, a.errors, a.p_value) == (b.n, b.errors, b.p_value)
    assert (first.coverage, first.reason, first.p_certify) == (
        second.coverage,
        second.reason,
        second.p_certify,
    )


@given(st.sampled_from(OPTIONS), st.integers(0, 5), st.integers(2, 4))
@settings(deadline=None, max_examples=40)
def test_rows_given_twice_add_nothing_where_items_are_the_unit(option, seed, times):
    conf, errors, groups = rows(seed, rate=0.2)
    options = choice(option) | {"tune": rows(9), "thresholds": [0, 0.5]}
    once = certify(conf, errors, groups=groups, **options)
    again = certify(
        *(np.tile(c, times) for c in (conf, errors)), groups=np.tile(groups, times), **options
    )
    p_values = [[c.p_value for c in found.scan] for found in (once, again)]
    if option.unit == "iid":
        # The published unit takes copies for evidence.
        assert again.scan[0].n == times * once.scan[0].n and p_values[0] != p_values[1]
    else:
        assert p_values[0] == pytest.approx(p_values[1], rel=1e-9)
        assert again.threshold == once.threshold


@pytest.mark.parametrize("level", [0.05, 1e-6, 1e-12])
@pytest.mark.parametrize("n", [1, 40, 10_000])
def test_exact_bound_at_its_ends_down_to_tiny_levels(n, level):
    assert binomial_upper(0, n, level) == pytest.approx(-math.expm1(math.log(level) / n), rel=1e-9)
    assert binomial_upper(n, n, level) == 1.0
    assert binomial_upper(0, 0, level) == 1.0


@given(st.permutations(range(24)), st.sampled_from(OPTIONS))
@settings(deadline=None, max_examples=60)
def test_order_of_rows_never_matters(permutation, option):
    rng = np.random.default_rng(5)
    conf, errors, groups = rng.integers(0, 4, 24) / 4, rng.integers(0, 2, 24), np.arange(24) % 7
    options = choice(option) | {"tune": rows(6), "alpha": 0.6, "delta": 0.4, "redraws": 3}
    first = certify(conf, errors, groups=groups, **options)
    turned = list(permutation)
    assert certify(conf[turned], errors[turned], groups=groups[turned], **options) == first


def test_sgr_by_hand():
    """Eight rows, the four least confident wrong; 3 looks, level .5 / 3, alpha .4.

    Looks at ranks 4, 2, 3: four right of 4, .1667^(1/4) = .639, so the bound is .361 <= .4;
    4 of 6 right and 4 of 5 right: both bounds are above .4.
    """
    conf, errors = np.arange(1, 9) / 8, np.repeat([1, 0], 4)
    found = sgr(conf, errors, alpha=0.4, delta=0.5)
    assert found.visited == (0.625, 0.375, 0.5)
    assert (found.threshold, found.coverage, found.n, found.errors) == (0.625, 0.5, 4, 0)
    assert found.upper_bound == pytest.approx(1 - (0.5 / 3) ** 0.25)
    assert "no guarantee" in found.flags[0]
    nothing = sgr(conf, np.ones(8, int))
    assert (nothing.threshold, nothing.coverage, nothing.n) == (None, 0.0, 1)
    assert sgr([], []).threshold is None
    # Eight rows of one item are one row once drawn, and eight of eight bounds hold nothing then.
    assert sgr(conf, errors, groups=[0] * 8, unit="one_per_item").visited[0] in conf
    with pytest.raises(ValueError, match="unknown unit.*got clustered"):
        sgr(conf, errors, unit="clustered")
    with pytest.raises(ValueError, match="unknown bound"):
        sgr(conf, errors, bound="betting")
    with pytest.raises(ValueError, match="alpha must lie"):
        sgr(conf, errors, alpha=1)
