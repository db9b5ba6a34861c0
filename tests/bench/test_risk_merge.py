"""Certificates of shards: the merged answer is the single-machine answer."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faithshift_bench.risk import Plan, certify, conclude, list_certificates, merge, tally
from faithshift_bench.risk.mergeable import Tally

ADDING = [o for o in list_certificates() if o.bound != "betting-agrapa"]


def rows(seed, items=40, per_item=5, rate=0.1):
    rng = np.random.default_rng(seed)
    n = items * per_item
    groups = np.repeat([f"i{k}" for k in range(items)], per_item)
    return rng.integers(0, 11, n) / 10, (rng.random(n) < rate).astype(int), groups


def choice(option):
    return {"unit": option.unit, "bound": option.bound, "multiplicity": option.multiplicity}


def parts_of(plan, table, shard):
    """Tallies of the rows in each shard; ``shard`` names that of each item."""
    conf, errors, groups = table
    where = np.array([shard[int(group[1:])] for group in groups])
    return [tally(plan, conf[where == s], errors[where == s], groups[where == s]) for s in range(4)]


@given(
    st.sampled_from(ADDING),
    st.integers(0, 5),
    st.lists(st.integers(0, 3), min_size=40, max_size=40),
)
@settings(deadline=None, max_examples=60)
def test_merged_is_whole(option, seed, shard):
    """Any split of whole items, in any nesting, says what certify says of all rows."""
    table, tune = rows(seed, rate=0.04 * (seed + 1)), rows(9)
    options = {"alpha": 0.3, "seed": 3, "tune": tune, "thresholds": "q5"}
    plan = Plan.of(**choice(option), **options)
    whole = certify(table[0], table[1], groups=table[2], **choice(option), **options)
    first, *rest = parts_of(plan, table, shard)
    for total in (merge([first, *rest]), merge([merge(rest[::-1]), first])):
        found = conclude(plan, total)
        assert (found.threshold, found.certified) == (whole.threshold, whole.certified)
        assert found.n == tuple(c.n for c in whole.scan)
        assert found.errors == tuple(c.errors for c in whole.scan)
        assert found.passed == tuple(c.certified for c in whole.scan)
        assert found.n_items == whole.n_items == 40
        assert found.coverage == pytest.approx(whole.coverage, abs=1e-12)
        np.testing.assert_allclose(
            found.p_values, [c.p_value for c in whole.scan], rtol=1e-12, atol=1e-300
        )
        alone = tally(plan, *table)
        np.testing.assert_allclose(total.log_wealth, alone.log_wealth, rtol=0, atol=1e-12)
        assert (total.n, total.errors, total.items) == (alone.n, alone.errors, alone.items)


def test_log_wealth_by_hand():
    """Two shards of one item each, gains 1/4 and -1/4, bet .2 (losing tune items): logs add."""
    bad = ([1.0, 1.0], [1, 1], ["t", "u"])
    plan = Plan.of("clustered", "betting", "bonferroni", thresholds=[0], tune=bad)
    left, right = tally(plan, [0.5], [0], ["a"]), tally(plan, [0.5, 0.5], [0, 1], ["b", "b"])
    total = merge([left, right])
    assert total.log_wealth[0][0] == pytest.approx(math.log(1.05) + math.log(0.95))
    assert (total.n, total.errors, total.items) == ((3,), (1,), ("a", "b"))
    assert conclude(plan, total).p_values == (1.0,)


def test_tallies_travel_as_json():
    plan = Plan.of("clustered", "betting-mixture", "holm", thresholds=[0, 0.5])
    made = tally(plan, *rows(0, rate=0.01))
    back = Tally(**json.loads(json.dumps(dataclasses.asdict(made))))
    assert conclude(plan, merge([back])) == conclude(plan, made)
    assert conclude(plan, made).certified


def test_an_item_in_two_shards_is_refused():
    plan = Plan.of("one_per_item", "exact", "bonferroni")
    parts = [tally(plan, [0.5, 0.5], [0, 0], pair) for pair in (["a", "b"], ["c", "b"])]
    with pytest.raises(ValueError, match="row b.*1 items are in two shards"):
        merge(parts)
    with pytest.raises(ValueError, match="two shards"):
        merge([merge([parts[0]]), parts[0]])


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 0.3},
        {"delta": 0.1},
        {"seed": 1},
        {"thresholds": [0, 0.4]},
        {"multiplicity": "holm"},
        {"bound": "betting-mixture"},
        {"tune": rows(2, rate=0.15)},
    ],
)
def test_another_plan_is_refused(change):
    options = {"unit": "clustered", "bound": "betting", "multiplicity": "bonferroni",
               "tune": rows(1, rate=0.2), "thresholds": [0, 0.5]}  # fmt: skip
    first, second = Plan.of(**options), Plan.of(**(options | change))
    parts = [tally(first, [0.5], [0], ["a"]), tally(second, [0.5], [0], ["b"])]
    with pytest.raises(ValueError, match="different plans"):
        merge(parts)
    with pytest.raises(ValueError, match="another plan"):
        conclude(second, parts[0])


def test_bets_that_learn_and_empty_merges_are_refused():
    plan = Plan.of("clustered", "betting-agrapa", "bonferroni")
    with pytest.raises(ValueError, match="do not add.*got betting-agrapa"):
        tally(plan, [0.5], [0], ["a"])
    with pytest.raises(ValueError, match="no tallies"):
        merge([])
    plan = Plan.of("one_per_item", "exact", "bonferroni")
    nothing = conclude(plan, merge([tally(plan, [], [], [])]))
    assert (nothing.certified, nothing.n_items, set(nothing.p_values)) == (False, 0, {1.0})
