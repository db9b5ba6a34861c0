"""Named readings of sensitivity, the balanced score, gaps and the worst group."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_bench.metrics import alteration_sensitivity, harmonic_mean
from faithshift_bench.metrics.groups import transfer_gap, worst_group
from faithshift_bench.metrics.invariance import invariance_violation_rate
from faithshift_bench.metrics.mfs import balanced_score
from faithshift_bench.metrics.sensitivity import score_sensitivity

# Five altering pairs; anchors are right (label 1) but for the third and fifth.
# 1 -> 0 flips; 1 -> 1 stays; 0 -> 1 the wrong way; 0 -> 1 flips (+1); 1 -> 1 (+1) anchor wrong.
ANCHOR, PARTNER = [1, 1, 0, 0, 1], [0, 1, 1, 1, 1]
DIRECTION = [-1, -1, -1, 1, 1]
AXIS = ["cut", "cut", "cut", "cue", "cue"]


def test_conditional_sensitivity_by_hand():
    result = alteration_sensitivity(ANCHOR, PARTNER, DIRECTION, axis=AXIS, variant="as_cond")
    assert result.value == pytest.approx((1 / 2 + 1 / 1) / 2)
    assert result.micro == pytest.approx(2 / 3)
    assert (result.count, result.n_pairs, result.n_excluded) == (2, 3, 2)
    flip = alteration_sensitivity(ANCHOR, PARTNER, DIRECTION, axis=AXIS)
    assert flip.value == pytest.approx((1 / 3 + 1 / 2) / 2)
    with pytest.raises(ValueError, match="variant must be one of"):
        alteration_sensitivity(ANCHOR, PARTNER, DIRECTION, variant="as_any")


def test_conditional_sensitivity_without_a_right_anchor_is_undefined():
    result = alteration_sensitivity([0, 0], [0, 0], [-1, -1], variant="as_cond")
    assert result.value is None and result.interval is None and result.n_excluded == 2
    assert result.by_axis[0].flag == "undefined"


def test_abstention_and_the_condition():
    # Committed flip; partner abstains; anchor abstains; anchor wrong and partner abstains.
    pairs = ([1, 1, -1, 0], [0, -1, 0, -1], [-1] * 4)
    both = alteration_sensitivity(*pairs, variant="as_cond")
    assert (both.count, both.n_pairs) == (1, 1)
    strict = alteration_sensitivity(*pairs, variant="as_cond", abstention="base_strict")
    assert (strict.count, strict.n_pairs) == (1, 2)


def test_score_sensitivity_by_hand():
    # Down as it should; not moved; up but should fall; up as it should.
    result = score_sensitivity(
        [0.9, 0.4, 0.2, 0.1], [0.8, 0.4, 0.3, 0.3], [-1, -1, -1, 1], axis=["a", "a", "b", "b"]
    )
    assert result.value == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert (result.count, result.n_pairs) == (2, 4)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([-1, 1])), min_size=1)
)
def test_score_sensitivity_bounds_the_flips_at_every_threshold(rows):
    before, after, direction = map(np.array, zip(*rows, strict=True))
    moved = score_sensitivity(before, after, direction, n_resamples=1)
    assert moved == score_sensitivity(before * 3 + 1, after * 3 + 1, direction, n_resamples=1)
    for tau in range(5):
        anchor, partner = (before > tau).astype(int), (after > tau).astype(int)
        flip = alteration_sensitivity(anchor, partner, direction, n_resamples=1)
        cond = alteration_sensitivity(anchor, partner, direction, variant="as_cond", n_resamples=1)
        assert flip.count <= moved.count
        assert cond.count == flip.count and cond.n_pairs <= flip.n_pairs
        # A right anchor that does not flip is a partner that is wrong.
        right = anchor == (direction < 0)
        assert cond.n_pairs == right.sum()


@pytest.mark.parametrize(
    ("before", "after", "direction", "message"),
    [
        ([0.1], [0.1, 0.2], [1], "differ in shape"),
        ([0.1, np.nan], [0.1, 0.2], [1, 1], "must be finite"),
        ([0.1], [0.2], [0], "direction must be"),
        ([0.1], [0.2], [1, 1], "direction must be"),
    ],
)
def test_bad_scores_are_refused(before, after, direction, message):
    with pytest.raises(ValueError, match=message):
        score_sensitivity(before, after, direction)


def test_chance_levels_of_a_coin():
    rng = np.random.default_rng(0)
    before, after = rng.random((2, 40_000))
    direction = np.resize([1, -1], 40_000)
    verdicts = ((before > 0.5).astype(int), (after > 0.5).astype(int))
    for value, chance in (
        (alteration_sensitivity(*verdicts, direction, n_resamples=1).value, 0.25),
        (alteration_sensitivity(*verdicts, direction, variant="as_cond", n_resamples=1).value, 0.5),
        (score_sensitivity(before, after, direction, n_resamples=1).value, 0.5),
    ):
        assert value == pytest.approx(chance, abs=0.015)


def test_balanced_score():
    assert balanced_score(0.19, 0.25) == pytest.approx(0.45)  # sqrt(.81 * .25)
    assert balanced_score(1, 1) == 0 and balanced_score(0, 0) == 0 and balanced_score(0, 1) == 1
    for bad in (-0.1, 1.1, float("nan")):
        for values in ((bad, 0.5), (0.5, bad)):
            with pytest.raises(ValueError, match="must lie in"):
                balanced_score(*values)


@given(st.floats(0, 1), st.floats(0, 1))
def test_balanced_score_lies_between_the_harmonic_and_the_arithmetic_mean(ivr, sensitivity):
    score = balanced_score(ivr, sensitivity)
    assert harmonic_mean(ivr, sensitivity) <= score + 1e-12
    assert score <= (1 - ivr + sensitivity) / 2 + 1e-12


def test_gaps_by_hand():
    gap = transfer_gap(0.9, {"language": 0.6, "domain": 0.8, "model": None, "family": 0.6})
    assert gap.gap_worst == pytest.approx(0.3)
    assert gap.gap_mean == pytest.approx(0.9 - 2 / 3)
    assert gap.worst_axis == "family" and gap.n_axes == 3 and gap.undefined == ("model",)
    assert transfer_gap(0.5, {"language": 0.8}).gap_worst == pytest.approx(-0.3)


def test_gaps_undefined():
    gap = transfer_gap(0.9, {"model": None})
    assert (gap.gap_worst, gap.gap_mean, gap.reason) == (None, None, "no axis has a figure")
    assert transfer_gap(0.9, {}).gap_worst is None
    assert transfer_gap(None, {"model": 0.7}).reason == "no figure to compare"


def test_worst_group():
    # IVR: p 1/2 of two, q 1 of one (thin), r 0 of two, s no counted pair.
    result = invariance_violation_rate(
        [1, 1, 1, 1, 1, -1, -1], [0, 1, 0, 1, 1, 1, 1], axis=list("ppqrrss"), min_pairs=2
    )
    assert worst_group(result, higher_is_better=False).axis == "p"
    assert worst_group(result, higher_is_better=True).axis == "r"
    empty = invariance_violation_rate([-1], [1])
    assert worst_group(empty, higher_is_better=True) is None
    tied = invariance_violation_rate([1, 1], [0, 0], axis=["b", "a"])
    assert worst_group(tied, higher_is_better=False).axis == "a"
