"""Certificates against scipy, closed forms, brute force and the truth."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from faithshift_bench.risk import certify
from faithshift_bench.risk.betting import Betting, tuned_bets
from faithshift_bench.risk.bounds import allowed_errors, binomial_p_value, binomial_upper
from faithshift_bench.risk.losses import ItemLosses, item_losses, one_per_item
from faithshift_bench.risk.multiplicity import order_on_tune, rejections, threshold_grid

counts = st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.sampled_from([0.1, 0.25, 0.5]), st.sampled_from([0.05, 0.0025]))
def test_exact_bound_equals_scipy(pair, alpha, level):
    errors, n = pair
    assert binomial_p_value(errors, n, alpha) == pytest.approx(stats.binom.cdf(errors, n, alpha))
    oracle = stats.binomtest(errors, n, alternative="less").proportion_ci(1 - level)
    assert binomial_upper(errors, n, level) == pytest.approx(oracle.high, abs=1e-9)


@given(st.integers(1, 500), st.sampled_from([0.05, 0.0025]))
def test_zero_errors_closed_form(n, level):
    assert binomial_p_value(0, n, 0.25) == pytest.approx(0.75**n)
    assert binomial_upper(0, n, level) == pytest.approx(1 - level ** (1 / n))


def test_nothing_selected_gives_p_one_and_bound_one():
    assert binomial_p_value(0, 0, 0.25) == 1.0
    assert binomial_upper(0, 0, 0.05) == 1.0
    empty = ItemLosses(np.zeros((3, 1)), np.zeros((3, 1)))
    betting = Betting(0.25, np.array([1.0]))
    assert betting.p_values(empty, np.ones((1, 3))) == 1.0
    assert betting.upper(empty, 0.05) == 1.0


@given(counts, st.sampled_from([0.05, 0.0025]))
def test_bound_and_p_value_agree(pair, level):
    errors, n = pair
    certified = binomial_p_value(errors, n, 0.25) <= level
    assert certified == (binomial_upper(errors, n, level) <= 0.25)
    assert certified == (errors <= allowed_errors(n, 0.25, level))


def test_nine_of_forty():
    """Level .05 / 20; P(Bin(40, 1/4) <= 2) = .0010 and P(<= 3) = .0047: two are allowed."""
    errors = np.repeat([1, 0], [9, 31])
    result = certify(np.ones(40), errors)
    assert not result.certified and result.threshold is None and result.coverage == 0
    assert result.reason == "9 errors of 40, at most 2 allowed"
    assert (result.n, result.errors, result.n_items) == (40, 9, 40)
    assert result.upper_bound > 0.25 and result.upper_bound == result.least_alpha
    assert result.upper_bound == pytest.approx(stats.beta.ppf(1 - 0.0025, 10, 31))
    assert result.least_n == 21
    # 9/40 = .225: the smallest n with P(Bin(n, 1/4) <= ceil(.225 n)) <= .0025, by brute force.
    assert result.least_n_at_rate == next(
        n
        for n in range(1, 10**5)
        if stats.binom.cdf(math.ceil(Fraction(9 * n, 40)), n, 0.25) <= 0.0025
    )


def test_certified_by_hand():
    """alpha = delta = 1/2 and two thresholds: level 1/4.

    t = 0: 1 error of 3, p = (1 + 3) / 8 = 1/2. t = .5: 0 of 2, p = 1/4, bound 1 - sqrt(1/4).
    """
    result = certify([0.8, 0.8, 0.2], [0, 0, 1], alpha=0.5, delta=0.5, thresholds=[0, 0.5])
    assert result.certified and result.threshold == 0.5
    assert result.coverage == pytest.approx(2 / 3)
    assert (result.n, result.errors) == (2, 0)
    assert result.upper_bound == pytest.approx(0.5) and result.upper_bound <= 0.5
    assert result.reason == "0 errors of 2, at most 0 allowed"
    assert [row.p_value for row in result.scan] == pytest.approx([0.5, 0.25])
    assert [(row.n, row.errors) for row in result.scan] == [(3, 1), (2, 0)]
    assert result.least_n == 2


def test_too_few_draws_to_certify_anything():
    result = certify(np.ones(20), np.zeros(20, int))
    assert result.reason == "0 errors of 20, at least 21 needed without an error"
    assert certify(np.ones(21), np.zeros(21, int)).certified


def test_lowest_certified_threshold_even_where_a_higher_one_fails():
    # 60 right at .5, 5 wrong at 1.0: t = .75 and above fail, t = 0 passes (5 of 65).
    result = certify(np.repeat([0.5, 1.0], [60, 5]), np.repeat([0, 1], [60, 5]))
    assert result.threshold == 0
    assert [row.certified for row in result.scan] == [True] * 11 + [False] * 9


def test_default_grid_is_exactly_twentieths():
    np.testing.assert_array_equal(threshold_grid(None), [k / 20 for k in range(20)])
    # (.65 - .5) / .5 is .30000000000000004 - 1e-16 and so on: value .3 counts at t = .3.
    scan = certify([(0.65 - 0.5) / 0.5], [0]).scan
    assert [row.n for row in scan] == [1] * 7 + [0] * 13


def test_no_rows_is_a_result():
    result = certify([], [])
    assert not result.certified and result.reason == "no labelled calibration rows"
    assert (result.n, result.n_items, result.upper_bound) == (0, 0, 1.0)


rows = st.lists(
    st.tuples(
        st.integers(0, 20).map(lambda k: k / 20), st.integers(0, 1), st.sampled_from("abcdef")
    ),
    min_size=1,
    max_size=40,
)


def arrays(rows):
    return tuple(list(column) for column in zip(*rows, strict=True))


@given(rows, st.randoms(use_true_random=False), st.sampled_from(["one_per_item", "clustered"]))
@settings(deadline=None)
def test_order_of_rows_and_ties_do_not_matter(rows, random, unit):
    options = {"alpha": 0.5, "delta": 0.5, "unit": unit}
    if unit == "clustered":
        options |= {"bound": "betting", "multiplicity": "fixed_sequence", "thresholds": "q5"}

    def run(rows):
        conf, errors, groups = arrays(rows)
        tune = (conf, errors, groups)
        return certify(conf, errors, groups=groups, tune=tune, redraws=5, **options)

    shuffled = list(rows)
    random.shuffle(shuffled)
    first, second = run(rows), run(shuffled)
    assert first.threshold == second.threshold
    assert first.scan[0].n == second.scan[0].n
    assert first.upper_bound == pytest.approx(second.upper_bound, abs=1e-9)
    assert first.reason == second.reason


@given(rows)
@settings(deadline=None)
def test_certificate_against_brute_force(rows):
    """Oracle: each row its own item, thresholds in a loop, scipy's binomial."""
    conf, errors, _ = arrays(rows)
    result = certify(conf, errors, alpha=0.6, delta=0.5, thresholds=[0, 0.3, 0.6, 0.9])
    passing = []
    for t in (0, 0.3, 0.6, 0.9):
        kept = [e for c, e in zip(conf, errors, strict=True) if c >= t - 1e-12]
        if kept and stats.binom.cdf(sum(kept), len(kept), 0.6) <= 0.5 / 4:
            passing.append(t)
    assert result.threshold == (min(passing) if passing else None)
    assert (result.upper_bound <= 0.6) == bool(passing)


def test_draw_follows_the_stated_hash():
    """rank = floor(u m), u = first 64 bits of sha256("seed, unit separator, item") / 2^64."""
    conf = np.array([0.4, 0.1, 0.3, 0.2])
    groups = np.array(["x"] * 4)
    for seed in range(20):
        digest = hashlib.sha256(f"{seed}\x1fx".encode()).digest()
        u = Fraction(int.from_bytes(digest[:8], "big"), 2**64)
        picked = one_per_item(conf, np.zeros(4, np.int8), groups, seed)
        assert conf[picked] == sorted(conf)[math.floor(u * 4)]


def test_draw_is_uniform_over_all_rows_of_an_item():
    conf, groups = np.array([0.0, 0.0, 0.0, 1.0]), np.array(["x"] * 4)
    picks = [
        int(one_per_item(conf, np.array([0, 1, 1, 0], np.int8), groups, s)[0]) for s in range(4000)
    ]
    share = np.bincount(picks, minlength=4) / 4000
    # Standard error .007. Drawing among confident rows only would give (0, 0, 0, 1).
    np.testing.assert_allclose(share, 0.25, atol=0.03)


def test_one_row_an_item_is_counted():
    result = certify(np.ones(100), np.zeros(100, int), groups=np.repeat(np.arange(20), 5))
    assert (result.n, result.n_items, result.certified) == (20, 20, False)


def test_clustered_losses_by_hand():
    """Item a: rows (.9 right), (.2 wrong); item b: (.6 wrong). Thresholds 0 and .5."""
    losses = item_losses(
        np.array([0.9, 0.2, 0.6]),
        np.array([0, 1, 1], np.int8),
        np.array(["a", "a", "b"]),
        np.array([0.0, 0.5]),
        unit="clustered",
    )
    np.testing.assert_allclose(losses.selected, [[1, 0.5], [1, 1]])
    np.testing.assert_allclose(losses.wrong, [[0.5, 0], [1, 1]])


def test_betting_by_hand():
    """Losses a_i = wrong - alpha * selected = (-1/4, -1/4, 1/4) and a bet of 1.

    W = 5/4 * 5/4 * 3/4 = 75/64.
    """
    losses = ItemLosses(np.array([[1.0]] * 3), np.array([[0], [0], [0.5]]))
    betting = Betting(0.25, np.array([1.0]))
    assert betting.p_values(losses, np.ones((1, 3)))[0, 0] == pytest.approx(64 / 75)
    # Against a risk r: (1 + r)^2 (1/2 + r) = 1 / level; with level 1/2, by root finding.
    root = optimize.brentq(lambda r: (1 + r) ** 2 * (0.5 + r) - 2, 0, 1)
    assert betting.upper(losses, 0.5)[0] == pytest.approx(root)
    # Zero errors on n items, all selected: (1 + r)^n = 1 / level.
    clean = ItemLosses(np.ones((10, 1)), np.zeros((10, 1)))
    assert betting.upper(clean, 0.05)[0] == pytest.approx(20 ** (1 / 10) - 1)


def test_bets_by_hand():
    # Gains (1/4, 1/4, -3/4): mean -1/12 is clipped to .2. Gains all 1/4: 4, clipped to .9 / .75.
    # Gains (1/4, -1/4, 1/4): mean 1/12, mean square 1/16: 4/3, clipped to 1.2. No selection: .2.
    selected = np.array([[1, 1, 1, 0]] * 3, float)
    wrong = np.array([[0, 0, 0, 0], [0, 0, 0.5, 0], [1, 0, 0, 0]], float)
    np.testing.assert_allclose(tuned_bets(ItemLosses(selected, wrong), 0.25), [0.2, 1.2, 1.2, 0.2])
    # alpha 1/2, gains (1/2, -1/2, 1/2): mean 1/6, mean square 1/4: 2/3.
    assert tuned_bets(ItemLosses(np.ones((3, 1)), np.array([[0], [1.0], [0]])), 0.5) == (
        pytest.approx(2 / 3)
    )


def test_sequence_stops_at_the_first_failure():
    p = np.array([0.01, 0.2, 0.01, 0.04])
    order = np.array([2, 3, 1, 0])
    # Tested 2, 3 (both at .05), then 1 fails: 0 is never reached.
    assert rejections(p, 0.05, order).tolist() == [False, False, True, True]
    assert rejections(p, 0.05, None).tolist() == [True, False, True, True]
    assert not rejections(p, 0.05, np.array([1, 0, 2, 3])).any()


def test_order_on_tune_by_hand():
    """Losses at three thresholds over two items, alpha 1/4.

    t0: (-.25, .25) mean 0, z 0. t1: (-.25, -.25) flat and negative, z -inf. t2: unselected, +inf.
    """
    tune = ItemLosses(np.array([[1, 1, 0], [1, 1, 0]], float), np.array([[0, 0, 0], [0.5, 0, 0]]))
    assert order_on_tune(tune, 0.25).tolist() == [1, 0, 2]
    # All alike: ties go to the lower threshold.
    same = ItemLosses(np.ones((4, 3)), np.tile([[0], [1.0], [0], [0]], 3))
    assert order_on_tune(same, 0.25).tolist() == [0, 1, 2]


def test_q5_by_hand_and_under_monotone_maps():
    """Twenty tune confidences .05 ... 1: coverage .85 .70 .55 .40 at ranks 3, 6, 9, 12."""
    conf = np.arange(1, 21) / 20
    np.testing.assert_allclose(threshold_grid("q5", conf), [0, 0.2, 0.35, 0.5, 0.65])
    np.testing.assert_allclose(
        threshold_grid("q5", conf**3), np.array([0, 0.2, 0.35, 0.5, 0.65]) ** 3
    )
    np.testing.assert_array_equal(threshold_grid("q5", np.full(9, 0.4)), [0, 0.4])


def test_smallest_alpha_of_the_default_retunes_its_bets():
    """Twelve items without an error, on tune too: at alpha a the bet is min(1 / a, .9 / (1 - a)).

    W = (1 + bet * a)^12 >= 20 first holds at a = .24: 1.284^12 = 20.1, but 1.269^12 = 17.4 at .23.
    """
    clean = (np.ones(12), np.zeros(12, int), np.arange(12))
    options = {"tune": clean, "unit": "clustered", "bound": "betting",
               "multiplicity": "fixed_sequence", "thresholds": "q5"}  # fmt: skip
    for alpha, certified in ((0.25, True), (0.23, False)):
        result = certify(*clean[:2], groups=clean[2], alpha=alpha, **options)
        assert (result.certified, result.least_alpha) == (certified, 0.24)
    assert result.reason.startswith("0 errors of 12 on 12 items, bound 0.2")
    wrong = certify(np.ones(12), np.ones(12, int), groups=clean[2], **options)
    assert wrong.least_alpha == 1.0


def test_normal_bound_certifies_nonsense_and_says_so():
    result = certify([1.0], [0], bound="normal", thresholds=[0])
    assert result.certified and result.upper_bound == 0
    assert any("not valid at finite size" in flag for flag in result.flags)
    # S eq. 34 at 20 of 100, level .05: .2 + 1.6449 * .04.
    wide = certify(np.ones(100), np.repeat([1, 0], [20, 80]), bound="normal", thresholds=[0])
    assert wide.upper_bound == pytest.approx(0.2 + 1.6448536 * 0.04)
    assert len(wide.flags) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": [1.2, 0.1]}, "confidence must lie"),
        ({"confidence": [np.nan, 0.1]}, "confidence must lie"),
        ({"errors": [0, 2]}, "errors must be"),
        ({"errors": [0]}, "one length"),
        ({"groups": ["a"]}, "one length"),
        ({"alpha": 0}, "alpha must lie"),
        ({"alpha": 1}, "alpha must lie"),
        ({"delta": 1.5}, "delta must lie"),
        ({"unit": "row"}, "got row/exact"),
        ({"bound": "betting"}, "got one_per_item/betting"),
        ({"multiplicity": "hochberg"}, "field multiplicity.*got hochberg"),
        ({"multiplicity": "fixed_sequence"}, "tune rows"),
        ({"unit": "clustered", "bound": "betting"}, "tune rows"),
        ({"thresholds": "q5"}, "tune rows"),
        ({"thresholds": "k/10"}, "unknown grid.*got k/10"),
        ({"thresholds": [0.5, 1.5]}, "bad thresholds"),
        ({"thresholds": []}, "bad thresholds"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    arguments = {"confidence": [0.5, 0.1], "errors": [0, 1]} | change
    confidence, errors = arguments.pop("confidence"), arguments.pop("errors")
    with pytest.raises(ValueError, match=message):
        certify(confidence, errors, **arguments)


def test_stability_is_the_share_of_halves_that_certify():
    # 50 clean items: a half has 25 >= 21, so every half certifies; of 30, none (15).
    for n, expected in ((50, 1.0), (30, 0.0)):
        result = certify(np.ones(n), np.zeros(n, int), redraws=20)
        assert result.certified and result.p_certify == expected
    assert certify(np.ones(50), np.zeros(50, int)).p_certify is None


PROTOCOLS = {
    "published": {},
    "default": {
        "unit": "clustered",
        "bound": "betting",
        "thresholds": "q5",
        "multiplicity": "fixed_sequence",
    },
}


def population(rng, n_items, risk, rows=8):
    """Items with errors that are correlated within an item (icc .3), confidence uninformative."""
    rate = rng.beta(risk * 7 / 3, (1 - risk) * 7 / 3, n_items)
    errors = rng.random((n_items, rows)) < rate[:, None]
    return (
        rng.random(n_items * rows),
        errors.ravel().astype(int),
        np.repeat(np.arange(n_items), rows),
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_certificates_hold_at_the_boundary(protocol):
    """True risk .2501 at every threshold: any certificate is wrong; delta is .05."""
    rng = np.random.default_rng(7)
    repeats = 250
    wrong = 0
    for _ in range(repeats):
        conf, errors, groups = population(rng, 60, 0.2501)
        tune = population(rng, 30, 0.2501)
        wrong += certify(conf, errors, groups=groups, tune=tune, **PROTOCOLS[protocol]).certified
    assert wrong / repeats <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats)


def test_the_default_has_power():
    """At a true risk of .10 on 60 items the default certifies nearly always."""
    rng = np.random.default_rng(8)
    found = [
        certify(
            *population(rng, 60, 0.10)[:2],
            groups=np.repeat(np.arange(60), 8),
            tune=population(rng, 30, 0.10),
            **PROTOCOLS["default"],
        ).certified
        for _ in range(60)
    ]
    assert np.mean(found) >= 0.9
