"""The certificate: the lowest threshold whose selective risk is bounded by alpha."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.verdicts import select
from faithshift_bench.risk.betting import Wealth
from faithshift_bench.risk.losses import ItemLosses, check_rows, item_means
from faithshift_bench.risk.plan import Plan, Procedure

COVERS = (
    "Covers new items from these models, conditions and prompts, for this detector and seed; "
    "not new models."
)


@dataclass(frozen=True)
class Candidate:
    """One tested threshold: integer counts of selected rows, their bound, and the decision."""

    threshold: float
    n: int
    errors: int
    upper_bound: float
    p_value: float
    certified: bool


@dataclass(frozen=True)
class Certificate:
    """Result of :func:`certify`. "Nothing certified" is a result: threshold None, coverage 0.

    Attributes:
        certified: whether any threshold is certified.
        threshold: t*, the lowest certified threshold, or None.
        coverage: item-weighted share of calibration rows selected at t*; 0 where none.
        n: selected draws (``one_per_item``) or rows (other units) at the threshold reported on:
            t*, else the one closest to certification.
        errors: wrong ones among them.
        n_items: calibration items.
        upper_bound: bound on the selective risk there, at ``level``; <= alpha iff certified.
        level: error probability spent on that threshold.
        reason: the decision in words.
        least_n: draws (``clustered``: items) needed without an error.
        least_n_at_rate: the same at the best observed rate; None where that is alpha or more.
        least_alpha: the smallest alpha that could have been certified; exploratory.
        p_certify: share of half-size re-draws of the items that certify; stability, not power.
        flags: what a reader must know.
        scan: every threshold tested, ascending.
    """

    certified: bool
    threshold: float | None
    coverage: float
    n: int
    errors: int
    n_items: int
    upper_bound: float
    level: float
    reason: str
    least_n: int
    least_n_at_rate: int | None
    least_alpha: float
    p_certify: float | None
    alpha: float
    delta: float
    unit: str
    bound: str
    multiplicity: str
    flags: tuple[str, ...]
    scan: tuple[Candidate, ...]


def certify(
    confidence: ArrayLike,
    errors: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    unit: str = "one_per_item",
    bound: str = "exact",
    multiplicity: str = "bonferroni",
    alpha: float = 0.25,
    delta: float = 0.05,
    thresholds: str | ArrayLike | None = None,
    seed: int = 0,
    tune: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    redraws: int = 0,
) -> Certificate:
    """Lowest confidence threshold at which the risk of a committed verdict is at most ``alpha``.

    With probability at least ``1 - delta`` over the calibration items, the selective risk
    ``P(wrong | confidence >= t*)`` of a new item is at most ``alpha`` (S eq. 35, with bounds that
    hold at finite size).

    Args:
        confidence: (n,) in [0, 1], of labelled calibration rows.
        errors: (n,) 1 where the verdict is wrong, else 0.
        groups: (n,) item of each row, the independent unit; each row its own where omitted.
        unit: ``one_per_item`` (one row drawn an item), ``clustered`` (item means), or ``iid``
            (every row, as published; flagged, no guarantee where rows share items).
        bound: ``exact`` or ``normal`` (S eq. 34, flagged) with the first and the last; with
            ``clustered`` ``betting`` (bets fixed on ``tune``), ``betting-mixture`` (forty bets) or
            ``betting-agrapa`` (learned from earlier items). :func:`list_certificates` lists all.
        multiplicity: ``bonferroni``, ``holm``, or ``fixed_sequence`` in an order set on ``tune``.
        alpha: risk target in (0, 1).
        delta: error probability in (0, 1).
        thresholds: ``k/20`` (default), ``q5`` (needs ``tune``), or numbers in [0, 1].
        seed: draw seed of ``one_per_item``.
        tune: (confidence, errors, groups) of labelled tune rows, disjoint from calibration.
        redraws: half-size re-draws of items for ``p_certify``; 0 leaves it None.

    Raises:
        ValueError: on arrays out of range or of unequal length, an unknown option, a bound that
            does not belong to the unit, or missing tune rows.
    """
    conf, errs, items = check_rows(confidence, errors, groups)
    plan = Plan.of(
        unit,
        bound,
        multiplicity,
        alpha=alpha,
        delta=delta,
        thresholds=thresholds,
        seed=seed,
        tune=tune,
    )
    grid, names = plan.grid, np.unique(items)
    rule, order, *_ = chosen = plan.procedure(names)
    losses = plan.losses(conf, errs, items)
    p_values = rule.p_values(losses)
    passed, levels = chosen.decide(p_values)[0], chosen.levels(p_values)[0]
    p_values = p_values[0]
    # p <= level and bound <= alpha are one event; rounding may not part them.
    upper = rule.upper(losses, levels)
    upper = np.where(
        p_values <= levels, np.minimum(upper, alpha), np.maximum(upper, np.nextafter(alpha, 1))
    )
    n, wrong = _counts(conf, errs, grid, losses if unit == "one_per_item" else None)
    best = int(upper.argmin()) if order is None else int(order[0])
    star = int(passed.argmax()) if passed.any() else None
    at = best if star is None else star
    reached = losses.selected
    if unit != "clustered":
        reached = item_means(select(conf[:, None], grid[None, :]).astype(float), items)
    reason = "no labelled calibration rows"
    if len(conf):
        place = f" on {len(losses.selected)} items" if unit == "clustered" else ""
        limit = rule.limit(int(n[at]), float(upper[at]), float(levels[at]))
        reason = f"{wrong[at]} errors of {n[at]}{place}, {limit}"
    return Certificate(
        certified=star is not None,
        threshold=None if star is None else float(grid[star]),
        coverage=0.0 if star is None else float(reached[:, star].mean()),
        n=int(n[at]),
        errors=int(wrong[at]),
        n_items=len(losses.selected),
        upper_bound=float(upper[at]),
        level=float(levels[at]),
        reason=reason,
        least_n=rule.least_n(plan.level),
        least_n_at_rate=rule.least_n_at_rate(losses, plan.level),
        least_alpha=_least_alpha(losses, plan, names, upper, star is not None),
        p_certify=_stability(losses, chosen, redraws, seed),
        alpha=alpha,
        delta=delta,
        unit=unit,
        bound=bound,
        multiplicity=multiplicity,
        flags=(*_unit_flags(unit, len(conf), len(names)), *rule.flags(int(n[at]), int(wrong[at]))),
        scan=tuple(
            Candidate(
                float(t),
                int(n[k]),
                int(wrong[k]),
                float(upper[k]),
                float(p_values[k]),
                bool(passed[k]),
            )
            for k, t in enumerate(grid)
        ),
    )


def _counts(
    conf: NDArray, errs: NDArray, grid: NDArray, drawn: ItemLosses | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if drawn is not None:
        return drawn.selected.sum(axis=0).astype(int), drawn.wrong.sum(axis=0).astype(int)
    selected = select(conf[:, None], grid[None, :])
    return selected.sum(axis=0), (selected & (errs[:, None] == 1)).sum(axis=0)


def _unit_flags(unit: str, n_rows: int, n_items: int) -> tuple[str, ...]:
    if unit != "iid":
        return ()
    return (f"iid: {n_rows} rows of {n_items} items counted as if independent; no guarantee",)


def _least_alpha(
    losses: ItemLosses, plan: Plan, items: NDArray[np.str_], upper: NDArray, certified: bool
) -> float:
    """Smallest alpha that the same data could have certified.

    The lowest bound at the level of the first test, where bound and order do not depend on alpha;
    else the first hundredth that certifies (1 where none does), on the side of alpha that agrees.
    """
    chosen, alpha = plan.procedure(items), plan.alpha
    if chosen.order is None and not isinstance(chosen.rule, Wealth):
        if plan.multiplicity == "bonferroni":
            return float(upper.min())
        lowest = float(chosen.rule.upper(losses, plan.level).min())
        return min(lowest, alpha) if certified else max(lowest, float(np.nextafter(alpha, 1)))
    for k in range(1, 100):
        agrees = k / 100 <= alpha if certified else k / 100 > alpha
        if agrees and plan.procedure(items, k / 100).passed(losses).any():
            return k / 100
    return alpha if certified else 1.0


def _stability(losses: ItemLosses, chosen: Procedure, redraws: int, seed: int) -> float | None:
    n = len(losses.selected)
    if redraws == 0 or n < 2:
        return None
    keys = np.random.default_rng(seed).random((redraws, n))
    halves = (keys.argsort(axis=1).argsort(axis=1) < n // 2).astype(float)
    return float(chosen.passed(losses, halves).any(axis=1).mean())
