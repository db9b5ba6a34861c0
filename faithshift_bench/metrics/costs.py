"""How much to abstain: the confidence threshold of least cost, chosen on tune, judged on test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.verdicts import TOLERANCE, select
from faithshift_bench.stats import item_weights, percentile_interval
from faithshift_bench.stats.intervals import Interval

RULES = ("cost_emp", "cost43")
PRIOR = 0.4


class Costs(NamedTuple):
    """What a miss (unfaithful called faithful), a false alarm and an abstention cost, 0 or more."""

    miss: float
    false_alarm: float
    abstain: float


class Verdicts(NamedTuple):
    """Labelled rows: confidence (n,), verdict 1 or 0 (n,), label 1, 0 or -1 (n,), item (n,)."""

    confidence: ArrayLike
    verdict: ArrayLike
    label: ArrayLike
    item: ArrayLike


@dataclass(frozen=True)
class OptimalCoverage:
    """The threshold of least cost on tune and what it costs on test, per trace.

    Attributes:
        rule: ``cost_emp`` or ``cost43``.
        threshold: a verdict is committed where confidence reaches it; ``None`` means that to
            abstain on everything is cheapest (or that no cost is defined: see ``reason``).
        tune_cost: its cost on tune; ``None`` where undefined.
        test_cost: its cost on test; ``None`` where undefined.
        interval: 95 % of ``test_cost``, items of test resampled with the threshold frozen.
        tune_coverage: share of tune rows committed.
        test_coverage: share of test rows committed.
        full_cost: cost on test with everything committed.
        n_tune: labelled rows of tune.
        n_test: labelled rows of test.
        n_undefined: thresholds whose cost on tune is undefined, not considered.
        reason: why a cost is undefined, or ``None``.
    """

    rule: str
    threshold: float | None
    tune_cost: float | None
    test_cost: float | None
    interval: Interval | None
    tune_coverage: float | None
    test_coverage: float | None
    full_cost: float | None
    n_tune: int
    n_test: int
    n_undefined: int
    reason: str | None


def optimal_coverage(
    tune: Verdicts,
    test: Verdicts,
    costs: Costs,
    *,
    rule: str = "cost_emp",
    prior: float = PRIOR,
    thresholds: ArrayLike | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
) -> OptimalCoverage:
    """Minimise cost over a grid of thresholds on tune, and evaluate the minimiser on test.

    ``cost_emp`` is the mean cost realised per labelled trace. ``cost43`` is S eq. 43,
    ``k (pi FNR C_miss + (1 - pi) FPR C_alarm) + (1 - k) C_abstain`` at coverage k, FNR and FPR
    among committed traces and pi fixed; abstention changes the mix of what is committed, so the
    two differ. Equal costs go to the higher coverage.

    Args:
        tune: rows that choose.
        test: rows that judge.
        costs: of a miss, a false alarm and an abstention.
        rule: ``cost_emp`` or ``cost43``.
        prior: pi of ``cost43``, the assumed share of unfaithful traces; S has .4.
        thresholds: (K,) fixed before tune is seen; k/20 for k = 0..19 where omitted. Abstaining
            on everything is always considered, too.
        n_resamples: of the bootstrap; 0 leaves the interval out.
        seed: of the bootstrap.

    Raises:
        ValueError: on an unknown rule, a negative cost, a prior out of range, or bad rows.
    """
    if rule not in RULES:
        raise ValueError(f"rule must be one of {RULES} (got {rule!r})")
    if not all(0 <= c < math.inf for c in costs):
        raise ValueError(f"costs must be finite and 0 or more (got {tuple(costs)})")
    if not 0 <= prior <= 1:
        raise ValueError(f"prior must lie in [0, 1] (got {prior})")
    grid = np.arange(20) / 20 if thresholds is None else np.unique(np.asarray(thresholds, float))
    grid = np.append(grid, np.inf)
    chooser, judge = _tabulate(tune, grid), _tabulate(test, np.append(grid, 0.0))
    on_tune = _cost(chooser.sum(axis=0), costs, rule, prior)
    undefined = np.isnan(on_tune)
    best = np.inf if undefined.all() else on_tune[~undefined].min()
    chosen = int(np.argmax(~undefined & (on_tune <= best + TOLERANCE)))
    totals = judge.sum(axis=0)
    on_test = _cost(totals, costs, rule, prior)
    reason = None
    if undefined.all():
        reason = "no labelled tune rows"
    elif np.isnan(on_test[chosen]):
        reason = "no labelled test rows" if not len(judge) else "a class is not committed on test"
    interval = None
    if n_resamples and len(judge) and reason is None:
        weights = item_weights(np.zeros(len(judge)), n_resamples, seed)
        draws = _cost(np.tensordot(weights, judge[:, [chosen]], axes=1), costs, rule, prior)
        interval = percentile_interval(draws[:, 0])
    lost = bool(undefined.all())
    return OptimalCoverage(
        rule=rule,
        threshold=None if lost or math.isinf(grid[chosen]) else float(grid[chosen]),
        tune_cost=None if lost else float(on_tune[chosen]),
        test_cost=None if reason else float(on_test[chosen]),
        interval=interval,
        tune_coverage=None if lost else _coverage(chooser.sum(axis=0)[chosen]),
        test_coverage=None if lost else _coverage(totals[chosen]),
        full_cost=None if np.isnan(on_test[-1]) else float(on_test[-1]),
        n_tune=int(chooser[:, 0].sum()),
        n_test=int(judge[:, 0].sum()),
        n_undefined=int(undefined.sum()),
        reason=reason,
    )


def _tabulate(rows: Verdicts, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Labelled rows of each item at each threshold (I, K, 5).

    The five are: unfaithful and called faithful, unfaithful and called unfaithful, faithful and
    called unfaithful, faithful and called faithful, abstained.
    """
    confidence, verdict, label, item = (np.asarray(column) for column in rows)
    if not confidence.shape == verdict.shape == label.shape == item.shape == (len(confidence),):
        raise ValueError("confidence, verdict, label and item differ in shape")
    if not np.isin(verdict, (0, 1)).all() or not np.isin(label, (-1, 0, 1)).all():
        raise ValueError("verdicts must be 1 or 0, labels 1, 0 or -1 (unknown)")
    if not np.isfinite(confidence).all():
        raise ValueError("confidence must be finite")
    known = label >= 0
    names, code = np.unique(item[known], return_inverse=True)
    outcome = np.where(
        label[known] == 0, 1 - (verdict[known] == 1), 2 + (verdict[known] == 1)
    ).astype(np.intp)
    chosen = select(confidence[known][:, None], grid[None, :])
    shown = np.where(chosen, outcome[:, None], 4)
    cell = (code[:, None] * len(grid) + np.arange(len(grid))) * 5 + shown
    size = len(names) * len(grid) * 5
    return np.bincount(cell.ravel(), minlength=size).reshape(-1, len(grid), 5).astype(float)


def _cost(
    counts: NDArray[np.float64], costs: Costs, rule: str, prior: float
) -> NDArray[np.float64]:
    """Cost per row from counts (..., 5) as in :func:`_tabulate`; NaN where undefined."""
    miss, caught, alarm, right, abstained = np.moveaxis(counts, -1, 0)
    n = counts.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if rule == "cost_emp":
            total = miss * costs.miss + alarm * costs.false_alarm + abstained * costs.abstain
            return np.asarray(total / n)
        committed = prior * costs.miss * (miss / (miss + caught))
        committed = committed + (1 - prior) * costs.false_alarm * (alarm / (alarm + right))
        share = abstained / n
        return np.where(share == 1, costs.abstain, (1 - share) * committed + share * costs.abstain)


def _coverage(counts: NDArray[np.float64]) -> float | None:
    n = counts.sum()
    return float(1 - counts[4] / n) if n else None
