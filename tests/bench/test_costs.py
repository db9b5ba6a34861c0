"""tau by rate and by cost, and the coverage of least cost: by hand, by full scan, faults."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_bench.metrics.costs import Costs, Verdicts, optimal_coverage
from faithshift_bench.metrics.verdicts import cost_threshold, rate_threshold

SCORES, LABELS = [0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]


def test_tau_by_rate_by_hand():
    # tau 0 .3 .5 .7 1: false alarms 0 0 1 1 2 of two, misses 2 1 1 0 0 of two.
    assert rate_threshold(SCORES, LABELS, 0).tau == pytest.approx(0.3)
    assert rate_threshold(SCORES, LABELS, 0.5).tau == pytest.approx(0.7)
    assert rate_threshold(SCORES, LABELS, 0.49).tau == pytest.approx(0.3)
    assert rate_threshold(SCORES, LABELS, 0, rate="miss").tau == pytest.approx(0.7)
    assert rate_threshold(SCORES, LABELS, 0.5, rate="miss").tau == pytest.approx(0.3)
    assert rate_threshold([*SCORES, 0.9], [*LABELS, -1], 0).tau == pytest.approx(0.3)


def test_a_target_that_no_tau_keeps_is_flagged():
    # A faithful trace of score 0 is called unfaithful at every tau.
    tau, flag = rate_threshold([0.0, 0.0, 0.5, 0.7], [1, 0, 0, 1], 0)
    assert tau == pytest.approx(0.6) and "no tau keeps the false_alarm rate at 0" in flag
    assert "nearest is 0.5" in flag


@pytest.mark.parametrize(("labels", "word"), [([1, 1], "one class"), ([-1, -1], "no labelled")])
def test_tau_by_rate_needs_two_classes(labels, word):
    tau, flag = rate_threshold([0.2, 0.8], labels, 0.1)
    assert tau == 0.5 and word in flag


labelled = st.lists(
    st.tuples(st.integers(0, 10).map(lambda k: k / 10), st.integers(0, 1)),
    min_size=2,
    max_size=20,
).filter(lambda rows: len({label for _, label in rows}) == 2)


@given(labelled, st.sampled_from([0, 0.1, 0.3, 0.5, 1]), st.sampled_from(["false_alarm", "miss"]))
def test_tau_by_rate_against_a_full_scan(rows, target, rate):
    scores, labels = map(np.array, zip(*rows, strict=True))
    distinct = np.unique(scores)
    candidates = sorted({0.0, 1.0, *((distinct[1:] + distinct[:-1]) / 2)})

    def rates(tau):
        alarm = (scores[labels == 1] <= tau).mean()
        miss = (scores[labels == 0] > tau).mean()
        return (alarm, miss) if rate == "false_alarm" else (miss, alarm)

    tau, flag = rate_threshold(scores, labels, target, rate=rate)
    kept = [t for t in candidates if rates(t)[0] <= target + 1e-12]
    assert (flag is None) == bool(kept)
    if kept:
        best = min(kept, key=lambda t: (rates(t)[1], round(abs(t - 0.5), 9), t))
        assert tau == best


def test_faults_of_thresholds():
    with pytest.raises(ValueError, match="target must lie"):
        rate_threshold(SCORES, LABELS, 1.1)
    with pytest.raises(ValueError, match="rate must be one of"):
        rate_threshold(SCORES, LABELS, 0.1, rate="fpr")
    for costs in ((-1, 2), (0, 0), (1, float("inf")), (float("nan"), 1)):
        with pytest.raises(ValueError, match="costs must be"):
            cost_threshold(*costs)


def test_tau_by_cost():
    assert cost_threshold(1, 1).tau == 0.5
    assert cost_threshold(3, 1).tau == 0.75  # the dearer a miss, the higher tau
    assert cost_threshold(0, 1).tau == 0


def test_tau_by_cost_is_the_cheapest_for_calibrated_scores():
    """Of scores on a grid, label 1 with probability score: expected cost of each tau."""
    scores = np.arange(1, 40) / 40

    def expected(tau, miss, alarm):
        faithful = scores > tau
        return np.where(faithful, (1 - scores) * miss, scores * alarm).sum()

    for miss, alarm in ((1, 1), (5, 1), (1, 3)):
        least = min(expected(tau, miss, alarm) for tau in np.arange(81) / 80)
        assert expected(cost_threshold(miss, alarm).tau, miss, alarm) == pytest.approx(least)


# Tune: sure and right twice (one of each class), unsure: a miss, a false alarm, a right one.
TUNE = Verdicts([0.9, 0.9, 0.3, 0.3, 0.5], [1, 0, 1, 0, 1], [1, 0, 0, 1, 1], list("aabbc"))
TEST = Verdicts(
    [0.9, 0.9, 0.5, 0.2, 0.9, 0.4], [1, 0, 1, 1, 1, 0], [1, 0, 0, 0, -1, 1], list("xxyyzz")
)


def test_least_cost_by_hand():
    """Costs: miss 4, false alarm 1, abstention 1; thresholds 0, .4, .8, none.

    Tune, 5 rows: 0: (4 + 1) / 5 = 1; .4: 2 abstain, 2 / 5; .8: 3 / 5; none: 1. So .4.
    Test at .4, 5 labelled rows: a miss at .5, the row of .2 abstains, the one of .4 is a false
    alarm: (4 + 1 + 1) / 5. Everything committed: two misses and an alarm, 9 / 5.
    """
    result = optimal_coverage(TUNE, TEST, Costs(4, 1, 1), thresholds=[0, 0.4, 0.8])
    assert result.threshold == 0.4 and result.reason is None and result.n_undefined == 0
    assert result.tune_cost == pytest.approx(2 / 5)
    assert result.tune_coverage == pytest.approx(3 / 5)
    assert result.test_cost == pytest.approx(6 / 5)
    assert result.test_coverage == pytest.approx(4 / 5)
    assert result.full_cost == pytest.approx(9 / 5)
    assert (result.n_tune, result.n_test) == (5, 5)
    # Items cost 0 of 2, 5 of 2, 1 of 1; only z drawn costs 1, only y 5 / 2, only x 0.
    assert result.interval == pytest.approx((0, 2.5))


def test_equation_43_by_hand():
    """pi = .4. Tune at 0: FNR 1/2, FPR 1/3: .4 * 4 / 2 + .6 / 3 = 1. At .4: 3/5 committed, no
    error: .4. At .8: .6. Test at .4: 4/5 committed, FNR 1/2, FPR 1/2: .8 (.8 + .3) + .2 = 1.08.
    """
    options = {"rule": "cost43", "thresholds": [0, 0.4, 0.8]}
    result = optimal_coverage(TUNE, TEST, Costs(4, 1, 1), **options)
    assert result.threshold == 0.4 and result.tune_cost == pytest.approx(0.4)
    assert result.test_cost == pytest.approx(1.08)
    # Everything: FNR 2/3, FPR 1/2.
    assert result.full_cost == pytest.approx(0.4 * 4 * 2 / 3 + 0.6 / 2)


def test_abstention_that_costs_nothing_or_too_much():
    free = optimal_coverage(TUNE, TEST, Costs(4, 1, 0), thresholds=[0, 0.4])
    # At .4 nothing is wrong on tune: as cheap as to abstain, and it covers more.
    assert free.threshold == 0.4
    idle = optimal_coverage(TUNE, TEST, Costs(4, 1, 0), thresholds=[0, 0.2])
    assert idle.threshold is None and idle.reason is None
    assert idle.test_cost == 0 and idle.test_coverage == 0
    dear = optimal_coverage(TUNE, TEST, Costs(4, 1, 100))
    assert dear.threshold == 0 and dear.test_cost == dear.full_cost


def test_undefined_costs_are_counted():
    one = Verdicts([0.9, 0.2], [1, 1], [1, 1], ["a", "b"])
    result = optimal_coverage(one, TEST, Costs(4, 1, 1), rule="cost43", thresholds=[0, 0.5])
    # No unfaithful row: FNR is undefined wherever anything is committed.
    assert result.threshold is None and result.n_undefined == 2 and result.tune_cost == 1
    judged = optimal_coverage(TUNE, one, Costs(4, 1, 1), rule="cost43", thresholds=[0.4])
    assert judged.test_cost is None and judged.interval is None
    assert judged.reason == "a class is not committed on test"
    none = Verdicts([0.9], [1], [-1], ["a"])
    lost = optimal_coverage(none, TEST, Costs(4, 1, 1))
    assert (lost.threshold, lost.tune_cost, lost.test_cost) == (None, None, None)
    assert lost.reason == "no labelled tune rows" and lost.n_undefined == 21
    bare = optimal_coverage(TUNE, none, Costs(4, 1, 1))
    assert bare.test_cost is None and bare.full_cost is None
    assert bare.reason == "no labelled test rows"


@given(st.randoms(use_true_random=False), st.sampled_from(["cost_emp", "cost43"]))
def test_test_rows_never_choose_and_order_never_matters(random, rule):
    def shuffled(rows):
        order = list(range(len(rows.label)))
        random.shuffle(order)
        return Verdicts(*([column[i] for i in order] for column in rows))

    costs, few = Costs(random.randint(0, 9), random.randint(0, 9), random.randint(0, 9)), 20
    first = optimal_coverage(TUNE, TEST, costs, rule=rule, n_resamples=few)
    again = optimal_coverage(shuffled(TUNE), shuffled(TEST), costs, rule=rule, n_resamples=few)
    assert again == first
    other = TEST._replace(label=[1 - x if x >= 0 else -1 for x in TEST.label])
    swapped = optimal_coverage(TUNE, other, costs, rule=rule, n_resamples=few)
    assert (swapped.threshold, swapped.tune_cost) == (first.threshold, first.tune_cost)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "cheap"}, "rule must be one of"),
        ({"costs": Costs(-1, 1, 1)}, "costs must be"),
        ({"costs": Costs(1, float("nan"), 1)}, "costs must be"),
        ({"prior": 1.5}, "prior must lie"),
        ({"tune": TUNE._replace(verdict=[-1, 0, 1, 0, 1])}, "verdicts must be 1 or 0"),
        ({"tune": TUNE._replace(label=[1, 0])}, "differ in shape"),
        ({"tune": TUNE._replace(confidence=[float("nan")] * 5)}, "must be finite"),
    ],
)
def test_faults_of_costs(options, message):
    given = {"tune": TUNE, "test": TEST, "costs": Costs(4, 1, 1)} | options
    with pytest.raises(ValueError, match=message):
        optimal_coverage(**given)
