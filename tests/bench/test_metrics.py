"""IVR, AS, MFS, tau and margin: hand-worked values, properties, faults."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_bench.metrics import (
    alteration_sensitivity,
    harmonic_mean,
    invariance_violation_rate,
    margin,
    meta_faithfulness_score,
    select,
    youden_threshold,
)

# Five preserving pairs. paraphrase: same, changed, same -> 1/3; reorder: changed, same -> 1/2.
AXIS = ["paraphrase", "paraphrase", "paraphrase", "reorder", "reorder"]
ITEM = ["i1", "i1", "i2", "i2", "i3"]
ANCHOR = [1, 1, 0, 1, 0]
PARTNER = [1, 0, 0, 0, 0]


def test_ivr_by_hand():
    result = invariance_violation_rate(ANCHOR, PARTNER, axis=AXIS, groups=ITEM)
    assert result.value == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert float(result) == result.value
    assert result.micro == pytest.approx(2 / 5)
    assert (result.count, result.n_pairs, result.n_items, result.n_excluded) == (2, 5, 3, 0)
    assert result.axes_used == ("paraphrase", "reorder")
    first, second = result.by_axis
    assert (first.axis, first.count, first.n_pairs, first.n_items) == ("paraphrase", 1, 3, 2)
    assert (second.axis, second.count, second.n_pairs, second.n_items) == ("reorder", 1, 2, 2)
    assert first.value == pytest.approx(1 / 3)
    assert {first.flag, second.flag} == {"few"}


def test_as_by_hand():
    # Direction -1 needs 1 -> 0, +1 needs 0 -> 1. Hits: first and fourth.
    # Second: no move. Third: the wrong way. Fifth: anchor wrong, so no flip is possible.
    result = alteration_sensitivity(
        [1, 1, 0, 0, 0],
        [0, 1, 1, 1, 0],
        [-1, -1, -1, 1, -1],
        axis=["cut", "cut", "cut", "cue", "cue"],
    )
    assert result.value == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert result.micro == pytest.approx(2 / 5)


def test_abstention_by_hand():
    # Pairs: both commit and agree; partner abstains; anchor abstains; both commit and differ.
    anchor, partner = [1, 1, -1, 0], [1, -1, 1, 1]
    both = invariance_violation_rate(anchor, partner)
    assert (both.count, both.n_pairs, both.n_excluded) == (1, 2, 2)
    strict = invariance_violation_rate(anchor, partner, abstention="base_strict")
    assert (strict.count, strict.n_pairs, strict.n_excluded) == (2, 3, 1)
    # An abstaining partner (-1) minus a verdict of 0 is -1: it must not pass for a flip.
    moved = alteration_sensitivity([0, 1], [-1, 0], [-1, -1], abstention="base_strict")
    assert (moved.count, moved.n_pairs) == (1, 2)


def test_thin_axes_are_listed_and_left_out():
    axis = ["big"] * 10 + ["small"] * 9
    partner = [0] * 5 + [1] * 14
    result = invariance_violation_rate([1] * 19, partner, axis=axis, min_pairs=10)
    assert result.value == pytest.approx(0.5)
    assert result.axes_used == ("big",)
    assert [row.flag for row in result.by_axis] == ["few", "thin"]
    assert result.by_axis[1].value == 0


def test_thirty_pairs_are_enough():
    result = invariance_violation_rate([1] * 30, [1] * 30)
    assert result.by_axis[0].flag == "ok"


@pytest.mark.parametrize("anchor", [[], [-1, -1]])
def test_no_pair_is_undefined(anchor):
    result = invariance_violation_rate(anchor, [1] * len(anchor))
    assert result.value is None and result.interval is None and result.micro is None
    assert result.axes_used == ()
    with pytest.raises(ValueError, match="undefined"):
        float(result)


def test_interval_resamples_items():
    # Two items, one always violating with 1 pair and one never with 3: a resample holds
    # (2, 0), (1, 1) or (0, 2) of them, so the rate is 1, 1/4 or 0.
    result = invariance_violation_rate([1] * 4, [0, 1, 1, 1], groups=["a", "b", "b", "b"])
    assert result.value == 0.25
    assert result.interval == (0.0, 1.0)


def test_interval_of_a_zero_rate_is_exact_on_items_not_pairs():
    result = invariance_violation_rate([1] * 40, [1] * 40, groups=np.repeat(np.arange(4), 10))
    assert result.interval == pytest.approx((0, 1 - 0.025**0.25))


def test_strata_are_resampled_apart():
    # Alone in its stratum, each item is in every resample: the rate cannot vary.
    result = invariance_violation_rate([1, 1], [0, 1], groups=["a", "b"], strata=["x", "y"])
    assert result.interval == (0.5, 0.5)
    with pytest.raises(ValueError, match="constant within a group"):
        invariance_violation_rate([1, 1], [0, 1], groups=["a", "a"], strata=["x", "y"])


def test_vectorised_bootstrap_equals_a_loop():
    rng = np.random.default_rng(5)
    n = 60
    item, axis = rng.integers(0, 12, n), rng.choice(["p", "q"], n)
    anchor, partner = rng.integers(0, 2, n), rng.integers(0, 2, n)
    result = invariance_violation_rate(anchor, partner, axis=axis, groups=item, n_resamples=200)
    draws = []
    rows = [np.flatnonzero(item == i) for i in np.unique(item)]
    # The same stream of draws, spent one item at a time.
    picks = np.random.default_rng(0).integers(0, len(rows), size=(200, len(rows)))
    for pick in picks:
        taken = np.concatenate([rows[i] for i in pick])
        changed = anchor[taken] != partner[taken]
        draws.append(np.mean([changed[axis[taken] == a].mean() for a in ("p", "q")]))
    assert result.interval == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])))


pairs = st.lists(
    st.tuples(
        st.sampled_from([-1, 0, 1]),
        st.sampled_from([-1, 0, 1]),
        st.sampled_from([-1, 1]),
        st.sampled_from("pqr"),
        st.sampled_from("abcde"),
    ),
    min_size=1,
    max_size=30,
)


@given(pairs, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(rows, random):
    def both(rows):
        anchor, partner, direction, axis, item = map(list, zip(*rows, strict=True))
        options = {"axis": axis, "groups": item, "n_resamples": 20}
        return (
            invariance_violation_rate(anchor, partner, **options),
            alteration_sensitivity(anchor, partner, direction, **options),
        )

    shuffled = list(rows)
    random.shuffle(shuffled)
    assert both(shuffled) == both(rows)


@given(pairs)
def test_rates_against_counting(rows):
    """Oracle: Python loops over the committed pairs of each axis."""
    anchor, partner, direction, axis, _ = map(list, zip(*rows, strict=True))
    expected = {"ivr": [], "as": []}
    for name in sorted(set(axis)):
        live = [(a, b, d) for a, b, d, x, _ in rows if x == name and a >= 0 and b >= 0]
        if live:
            expected["ivr"].append(sum(a != b for a, b, _ in live) / len(live))
            expected["as"].append(sum(b - a == d for a, b, d in live) / len(live))
    ivr = invariance_violation_rate(anchor, partner, axis=axis, n_resamples=1)
    sens = alteration_sensitivity(anchor, partner, direction, axis=axis, n_resamples=1)
    for result, values in ((ivr, expected["ivr"]), (sens, expected["as"])):
        assert result.value == (pytest.approx(statistics.mean(values)) if values else None)


@given(pairs)
def test_ivr_is_symmetric_and_as_is_a_kind_of_change(rows):
    anchor, partner, direction, axis, _ = map(list, zip(*rows, strict=True))
    forward = invariance_violation_rate(anchor, partner, axis=axis, n_resamples=1)
    backward = invariance_violation_rate(partner, anchor, axis=axis, n_resamples=1)
    sens = alteration_sensitivity(anchor, partner, direction, axis=axis, n_resamples=1)
    assert forward.value == backward.value
    assert sens.count <= forward.count


def test_constant_and_coin():
    constant = np.ones(1000, int)
    signs = np.resize([1, -1], 1000)
    assert invariance_violation_rate(constant, constant).value == 0
    assert alteration_sensitivity(constant, constant, signs).value == 0
    rng = np.random.default_rng(0)
    anchor, partner = rng.integers(0, 2, (2, 40_000))
    coin = alteration_sensitivity(anchor, partner, np.resize([1, -1], 40_000), n_resamples=10)
    assert coin.value == pytest.approx(0.25, abs=0.01)
    ivr = invariance_violation_rate(anchor, partner, n_resamples=10)
    assert ivr.value == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("anchor", "partner", "options", "message"),
    [
        ([1, 0], [1], {}, "partner_verdicts must be of shape"),
        ([1, 2], [1, 0], {}, "anchor_verdicts must hold only"),
        ([1, np.nan], [1, 0], {}, "anchor_verdicts must hold only"),
        ([0.7, 0.2], [1, 0], {}, "anchor_verdicts must hold only"),
        (["1", "0"], [1, 0], {}, "anchor_verdicts must hold only"),
        ([[1], [0]], [1, 0], {}, "one-dimensional"),
        ([1, 0], [1, 0], {"axis": ["p"]}, "axis must be of shape"),
        ([1, 0], [1, 0], {"groups": ["p"]}, "groups must be of shape"),
        ([1, 0], [1, 0], {"abstention": "drop"}, "abstention must be one of"),
    ],
)
def test_bad_verdicts_are_refused(anchor, partner, options, message):
    with pytest.raises(ValueError, match=message):
        invariance_violation_rate(anchor, partner, **options)


@pytest.mark.parametrize("direction", [[0, 1], [1], [2, 1]])
def test_bad_directions_are_refused(direction):
    with pytest.raises(ValueError, match="direction must be"):
        alteration_sensitivity([1, 0], [0, 1], direction)


@pytest.mark.parametrize(
    ("ivr", "sensitivity", "coverage", "expected"),
    [
        (0.25, 0.5, 1.0, 0.6),  # 2 * .75 * .5 / 1.25
        (0.5, 1.0, 0.75, 0.5),  # .75 * 2 * .5 / 1.5
        (0.0, 1.0, 1.0, 1.0),
        (1.0, 0.0, 1.0, 0.0),  # 0 / 0: the limit
        (0.0, 0.0, 1.0, 0.0),  # a constant detector
        (0.2, 0.8, 0.0, 0.0),
    ],
)
def test_mfs_by_hand(ivr, sensitivity, coverage, expected):
    assert meta_faithfulness_score(ivr, sensitivity, coverage) == pytest.approx(expected)


unit = st.floats(0, 1)


@given(unit, unit, unit)
def test_mfs_is_coverage_times_the_harmonic_mean(ivr, sensitivity, coverage):
    score = meta_faithfulness_score(ivr, sensitivity, coverage)
    oracle = coverage * statistics.harmonic_mean([1 - ivr, sensitivity])
    assert score == pytest.approx(oracle, abs=1e-12)
    assert 0 <= score <= coverage + 1e-12


@given(unit, unit, unit)
def test_harmonic_mean_grows_with_sensitivity(ivr, low, high):
    low, high = sorted((low, high))
    assert harmonic_mean(ivr, low) <= harmonic_mean(ivr, high) + 1e-12


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_mfs_refuses_values_outside_the_unit_interval(bad):
    for values in ((bad, 0.5, 0.5), (0.5, bad, 0.5), (0.5, 0.5, bad)):
        with pytest.raises(ValueError, match="must lie in"):
            meta_faithfulness_score(*values)


def test_tau_by_hand():
    # Midpoints .3, .5, .7; J(.3) = 1 - 1/2, J(.5) = 1/2 - 1/2, J(.7) = 1/2 - 0: .3 and .7 tie at
    # .5 and are equally near to .5; the lower is taken.
    assert youden_threshold([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]) == (pytest.approx(0.3), None)
    # Separable: the one midpoint between the classes.
    assert youden_threshold([0.1, 0.2, 0.9], [0, 0, 1]).tau == pytest.approx(0.55)
    # Scores in reverse: J = 0 only at 0 and 1, equally far from .5.
    assert youden_threshold([0.9, 0.1], [0, 1]) == (0.0, None)
    # Unknown labels are not used.
    assert youden_threshold([0.1, 0.2, 0.9, 0.3], [0, 0, 1, -1]).tau == pytest.approx(0.55)


@pytest.mark.parametrize(
    ("labels", "word"), [([1, 1], "one class"), ([0, -1], "one class"), ([-1, -1], "no labelled")]
)
def test_tau_without_two_classes_is_flagged(labels, word):
    tau, flag = youden_threshold([0.2, 0.8], labels)
    assert tau == 0.5 and word in flag


@given(
    st.lists(
        st.tuples(st.integers(0, 10).map(lambda k: k / 10), st.integers(0, 1)),
        min_size=2,
        max_size=20,
    ).filter(lambda rows: len({label for _, label in rows}) == 2)
)
def test_tau_against_a_full_scan(rows):
    scores, labels = map(np.array, zip(*rows, strict=True))
    distinct = np.unique(scores)
    candidates = sorted({0.0, 1.0, *((distinct[1:] + distinct[:-1]) / 2)})

    def rank(tau):
        verdict = scores > tau
        j = verdict[labels == 1].mean() - verdict[labels == 0].mean()
        return (-round(j, 9), round(abs(tau - 0.5), 9), tau)

    assert youden_threshold(scores, labels).tau == min(candidates, key=rank)


def test_margin_by_hand():
    # tau .6: .8 -> .2/.4; .6 -> 0; .3 -> .3/.6; 1 -> 1; 0 -> 1.
    np.testing.assert_allclose(margin([0.8, 0.6, 0.3, 1, 0], 0.6), [0.5, 0, 0.5, 1, 1])
    np.testing.assert_array_equal(margin([0.0, 0.5, 1.0], 0.0), [0, 0.5, 1])
    np.testing.assert_array_equal(margin([0.0, 0.5, 1.0], 1.0), [1, 0.5, 0])


def test_selection_includes_the_threshold_despite_rounding():
    # (.65 - .5) / .5 is .30000000000000004 or .29999999999999993; both count as .3.
    assert select([0.3 - 1e-13, 0.3, 0.3 - 1e-9], 0.3).tolist() == [True, True, False]
