"""Raw IVR, floors and what is left: by hand, against loops, undefined cases, faults."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_bench.metrics.decomposition import Estimate, decompose, seed_disagreement
from faithshift_bench.metrics.invariance import invariance_violation_rate

# Two seeds (rows), three pairs. Anchor a is repeated twice, b once, c never.
ANCHOR = [[1, 1, 0], [1, 0, 0]]
PARTNER = [[0, 1, 1], [1, 1, 1]]
REPEAT, OF = [[1, 0, 0], [0, 0, 1]], ["a", "a", "b"]


def value(result, name):
    return result.parts[name].value


def test_by_hand():
    """Raw flips by seed: a 1 0, b 0 1; c is unmatched. Repeat flips: a (0, 1) and (1, 1), shares
    1/2 and 1; b 1 and 1. So floor a 3/4, b 1; joint a (1/2 + 0) / 2, b (0 + 1) / 2.
    Seeds agree on a and differ on b. Across: a1 against partner 1 stays, a2 against 0 changes:
    1/2; b: 1 against 1 stays, 0 against 1 changes: 1/2.
    """
    result = decompose(ANCHOR, PARTNER, ["a", "b", "c"], REPEAT, OF, groups=["i", "j", "k"])
    expected = {
        "raw": 1 / 2, "floor_gen": 7 / 8, "excess": -3 / 8, "joint": 3 / 8, "union": 1,
        "independent": 7 / 16, "overlap": -1 / 16, "floor_train": 1 / 2, "cross_seed": 1 / 2,
        "training_noise": 0, "plugin_bias": -1 / 4, "floor_share": 7 / 4,
    }  # fmt: skip
    assert {name: part.value for name, part in result.parts.items()} == pytest.approx(expected)
    assert (result.n_pairs, result.n_items, result.n_unmatched, result.n_seeds) == (2, 2, 1, 2)
    # Items i and j: excess 1/2 - 3/4 or 1/2 - 1.
    assert result.parts["excess"].interval == pytest.approx((-1 / 2, -1 / 4))
    assert result.parts["floor_gen"].interval == pytest.approx((3 / 4, 1))


def test_axes_weigh_equally_and_edits_have_no_generation_floor():
    # reword: anchor a changes, repeat of a flips; b stays, its repeat stays. reorder (edits): c
    # changes, and the repeat that it has does not count; d, never repeated, stays.
    result = decompose(
        [1, 1, 1, 1], [0, 1, 0, 1], ["a", "b", "c", "d"], [0, 1, 0], ["a", "b", "c"],
        groups=["i", "j", "k", "l"], axis=["reword", "reword", "reorder", "reorder"],
        edited=[False, False, True, True],
    )  # fmt: skip
    reorder, reword = result.by_axis
    assert (reorder.axis, reorder.n_pairs, reorder.n_unmatched) == ("reorder", 2, 0)
    assert reorder.parts["floor_gen"].value == 0 and reorder.parts["excess"].value == 0.5
    assert reword.parts["floor_gen"].value == 0.5 and reword.parts["joint"].value == 0.5
    assert value(result, "raw") == 0.5 and value(result, "floor_gen") == 0.25
    assert value(result, "excess") == 0.25 and value(result, "floor_share") == 0.5
    assert value(result, "independent") == pytest.approx((0 + 1 / 4) / 2)


def test_an_anchor_with_more_pairs_weighs_more_on_both_sides():
    # Anchor a has two pairs and its repeat flips; b has one and its repeat stays.
    result = decompose(
        [1, 1, 1], [1, 1, 1], ["a", "a", "b"], [0, 1], ["a", "b"], groups=["i", "i", "j"]
    )
    assert value(result, "floor_gen") == pytest.approx(2 / 3)


def test_one_seed_has_no_training_floor():
    result = decompose([1, 0], [1, 1], ["a", "b"], [1, 1], ["a", "b"], groups=["i", "j"])
    for name in ("floor_train", "cross_seed", "training_noise", "plugin_bias"):
        assert result.parts[name].value is None and result.parts[name].interval is None
    assert value(result, "raw") == 0.5 and value(result, "excess") == 0


def test_no_repeats_is_undefined_with_a_count():
    result = decompose([1, 0], [1, 1], ["a", "b"], [], [], groups=["i", "j"])
    assert all(part.value is None for part in result.parts.values())
    assert result.n_unmatched == 2 and result.n_pairs == 0 and result.axes_used == ()
    assert result.by_axis[0].flag == "undefined"


def test_a_constant_detector_has_no_width_of_zero():
    result = decompose([1, 1], [1, 1], ["a", "b"], [1, 1], ["a", "b"], groups=["i", "j"])
    high = 1 - np.sqrt(0.025)
    assert value(result, "excess") == 0
    assert result.parts["excess"].interval == pytest.approx((-high, high))
    assert value(result, "floor_share") is None and result.parts["overlap"].interval is None


def test_thin_axes_are_listed_and_left_out():
    result = decompose(
        [1, 1, 1], [0, 1, 1], list("abc"), [1, 1, 1], list("abc"), groups=list("ijk"),
        axis=["p", "p", "q"], min_pairs=2,
    )  # fmt: skip
    assert [row.flag for row in result.by_axis] == ["few", "thin"]
    assert result.axes_used == ("p",) and value(result, "raw") == 0.5 and result.n_pairs == 2


cases = st.tuples(
    st.integers(2, 4), st.integers(1, 12), st.integers(0, 12), st.integers(0, 2**32 - 1)
)


@given(cases)
def test_against_loops(case):
    """Oracle: every pair, seed and repeat in turn; axes averaged at the end."""
    n_seeds, n, n_repeats, seed = case
    rng = np.random.default_rng(seed)
    names = rng.choice(list("abcde"), n)
    of = rng.choice(list("abcdef"), n_repeats)
    axis = rng.choice(list("pq"), n)
    table = {name: rng.integers(0, 2, n_seeds) for name in "abcdef"}
    anchor = np.array([table[name] for name in names]).T
    partner, repeat = rng.integers(0, 2, (n_seeds, n)), rng.integers(0, 2, (n_seeds, n_repeats))
    result = decompose(anchor, partner, names, repeat, of, groups=names, axis=axis, n_resamples=20)
    means = {}
    for name in sorted(set(axis)):
        rows = [j for j in range(n) if axis[j] == name and names[j] in of]
        if not rows:
            continue
        parts = {k: [] for k in ("raw", "floor_gen", "joint", "union", "train", "cross")}
        for j in rows:
            again = [r for r in range(n_repeats) if of[r] == names[j]]
            events = [
                (anchor[s, j] != repeat[s, r], anchor[s, j] != partner[s, j])
                for s in range(n_seeds)
                for r in again
            ]
            parts["floor_gen"].append(np.mean([a for a, _ in events]))
            parts["raw"].append(np.mean([b for _, b in events]))
            parts["joint"].append(np.mean([a and b for a, b in events]))
            parts["union"].append(np.mean([a or b for a, b in events]))
            pairs = combinations(range(n_seeds), 2)
            parts["train"].append(np.mean([anchor[s, j] != anchor[t, j] for s, t in pairs]))
            pairs = permutations(range(n_seeds), 2)
            parts["cross"].append(np.mean([anchor[s, j] != partner[t, j] for s, t in pairs]))
        means[name] = {k: np.mean(v) for k, v in parts.items()}
    assert result.axes_used == tuple(means)
    if not means:
        return
    macro = {k: np.mean([m[k] for m in means.values()]) for k in parts}
    for name in ("raw", "floor_gen", "joint", "union"):
        assert value(result, name) == pytest.approx(macro[name])
    assert value(result, "floor_train") == pytest.approx(macro["train"])
    assert value(result, "cross_seed") == pytest.approx(macro["cross"])
    independent = np.mean([m["raw"] * m["floor_gen"] for m in means.values()])
    assert value(result, "overlap") == pytest.approx(macro["joint"] - independent)


@given(cases, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(case, random):
    n_seeds, n, n_repeats, seed = case
    rng = np.random.default_rng(seed)
    names, of = rng.choice(list("abc"), n), rng.choice(list("abc"), n_repeats)
    axis, item = rng.choice(list("pq"), n), np.char.add("item-", names)
    table = {name: rng.integers(0, 2, n_seeds) for name in "abc"}
    anchor = np.array([table[name] for name in names]).T
    partner, repeat = rng.integers(0, 2, (n_seeds, n)), rng.integers(0, 2, (n_seeds, n_repeats))
    i, j = list(range(n)), list(range(n_repeats))
    random.shuffle(i)
    random.shuffle(j)
    few = {"n_resamples": 20}
    first = decompose(anchor, partner, names, repeat, of, groups=item, axis=axis, **few)
    again = decompose(
        anchor[:, i], partner[:, i], names[i], repeat[:, j], of[j],
        groups=item[i], axis=axis[i], **few,
    )  # fmt: skip
    assert again == first


@given(cases)
def test_rows_repeated_within_their_items_narrow_nothing(case):
    n_seeds, n, _, seed = case
    rng = np.random.default_rng(seed)
    anchor, partner, repeat = rng.integers(0, 2, (3, n_seeds, n))
    names = np.arange(n)
    twice = np.tile(names, 2)
    few = {"n_resamples": 20}
    once = decompose(anchor, partner, names, repeat, names, groups=names, **few)
    again = decompose(
        anchor[:, twice], partner[:, twice], twice, repeat[:, twice], twice, groups=twice, **few
    )
    assert again.n_pairs == 2 * once.n_pairs and again.n_items == once.n_items
    for name, part in once.parts.items():
        other = again.parts[name]
        assert (part.value is None) == (other.value is None)
        assert other.value == pytest.approx(part.value)
        assert other.interval == pytest.approx(part.interval)


def test_raw_is_the_ivr_of_each_seed():
    rng = np.random.default_rng(0)
    anchor, partner = rng.integers(0, 2, (2, 3, 40))
    names, axis = np.arange(40).astype(str), np.resize(["p", "q", "q"], 40)
    repeat = rng.integers(0, 2, (3, 40))
    result = decompose(anchor, partner, names, repeat, names, groups=names, axis=axis)
    rates = [
        invariance_violation_rate(a, b, axis=axis, n_resamples=1).value
        for a, b in zip(anchor, partner, strict=True)
    ]
    assert value(result, "raw") == pytest.approx(np.mean(rates))


def test_seed_disagreement():
    # One seed of three differs: 2 of 3 pairs.
    np.testing.assert_allclose(seed_disagreement([[1, 1], [1, 0], [1, 1]]), [0, 2 / 3])
    assert np.isnan(seed_disagreement([[1, 0]])).all()


def test_seed_disagreement_is_unbiased_and_the_plug_in_is_not():
    """Over all outcomes of three seeds with p = .3, weighted by their probability."""
    p, expected, plugin = 0.3, 0.0, 0.0
    for k, ways in ((0, 1), (1, 3), (2, 3), (3, 1)):
        weight = ways * p**k * (1 - p) ** (3 - k)
        verdicts = [[1]] * k + [[0]] * (3 - k)
        expected += weight * seed_disagreement(verdicts)[0]
        plugin += weight * 2 * (k / 3) * (1 - k / 3)
    assert expected == pytest.approx(2 * p * (1 - p))
    assert plugin - expected == pytest.approx(-expected / 3)


def test_no_pairs_are_undefined():
    found = decompose([], [], [], [], [], groups=[])
    assert (found.n_pairs, found.n_items, found.by_axis) == (0, 0, ())
    assert all(part.value is None and part.interval is None for part in found.parts.values())


def test_the_floor_of_edits_has_no_width():
    found = decompose([1, 1], [1, 0], ["a", "b"], [], [], groups=["i", "j"], edited=[True, True])
    for parts in (found.parts, found.by_axis[0].parts):
        assert parts["floor_gen"] == parts["joint"] == Estimate(0, (0, 0))
        assert parts["excess"] == parts["raw"] == Estimate(0.5, (0, 1))


GOOD = {
    "anchor_verdicts": [1, 0], "partner_verdicts": [1, 1], "anchor_id": ["a", "b"],
    "repeat_verdicts": [1], "repeat_of": ["a"], "groups": ["i", "j"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"anchor_verdicts": [1, -1]}, "anchor verdicts must be 1 or 0"),
        ({"partner_verdicts": [1, np.nan]}, "partner verdicts must be 1 or 0"),
        ({"partner_verdicts": [1]}, "verdicts differ in shape"),
        ({"repeat_verdicts": [[1], [1]]}, "verdicts differ in shape"),
        ({"repeat_of": ["a", "b"]}, "repeat_of must be of shape"),
        ({"anchor_id": ["a"]}, "anchor_id must be of shape"),
        ({"anchor_id": ["a", "a"]}, "an anchor has two verdicts of one seed"),
        ({"groups": ["i"]}, "groups must be of shape"),
        ({"axis": ["p"]}, "axis must be of shape"),
        ({"edited": [True]}, "edited must be of shape"),
        ({"strata": ["d"]}, "strata must be of shape"),
    ],
)
def test_faults(change, message):
    decompose(**GOOD)
    with pytest.raises(ValueError, match=message):
        decompose(**GOOD | change)
