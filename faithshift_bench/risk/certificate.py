"""The certificate: the lowest threshold whose selective risk is bounded by alpha."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.verdicts import select
from faithshift_bench.risk.bounds import Betting, Bound, Exact, Normal, tuned_bets
from faithshift_bench.risk.losses import ItemLosses, item_losses, item_means
from faithshift_bench.risk.multiplicity import (
    order_on_tune,
    rejections,
    spent_level,
    threshold_grid,
)
from faithshift_data.errors import InputError

PAIRED = {"one_per_item": ("exact", "normal"), "clustered": ("betting",)}
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
        n: selected draws (``one_per_item``) or rows (``clustered``) at the threshold reported on:
            t*, else the one closest to certification.
        errors: wrong ones among them.
        n_items: calibration items.
        upper_bound: bound on the selective risk there, at ``level``; <= alpha iff certified.
        level: error probability spent on one threshold.
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
        unit: ``one_per_item`` (one row drawn an item) or ``clustered`` (item means).
        bound: ``exact`` or ``normal`` (S eq. 34, flagged) with the first, ``betting`` with the
            second.
        multiplicity: ``bonferroni``, or ``fixed_sequence`` in an order set on ``tune``.
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
    for name, value in (("alpha", alpha), ("delta", delta)):
        if not 0 < value < 1:
            raise InputError(f"{name} must lie in (0, 1)", field=name, got=value)
    if unit not in PAIRED or bound not in PAIRED[unit]:
        known = " | ".join(f"{u}/{b}" for u, bounds in PAIRED.items() for b in bounds)
        raise InputError(
            "unit and bound do not fit", field="bound", expected=known, got=f"{unit}/{bound}"
        )
    tuned = None if tune is None else check_rows(*tune)
    if tuned is not None and len(tuned[0]) == 0:
        tuned = None
    grid = threshold_grid(thresholds, None if tuned is None else tuned[0])
    level = spent_level(multiplicity, delta, len(grid))
    tune_losses = None if tuned is None else item_losses(*tuned, grid, unit="clustered")

    def procedure(target: float) -> Procedure:
        return Procedure.of(bound, multiplicity, target, level, tune_losses)

    rule, order, _ = chosen = procedure(alpha)
    losses = item_losses(conf, errs, items, grid, unit=unit, draw_seed=seed)
    passed = chosen.passed(losses)[0]
    p_values = rule.p_values(losses, np.ones((1, len(losses.selected))))[0]
    # p <= level and bound <= alpha are one event; rounding may not part them.
    upper = rule.upper(losses, level)
    upper = np.where(
        p_values <= level, np.minimum(upper, alpha), np.maximum(upper, np.nextafter(alpha, 1))
    )
    n, wrong = _counts(conf, errs, grid, losses if unit == "one_per_item" else None)
    best = int(upper.argmin()) if order is None else int(order[0])
    star = int(passed.argmax()) if passed.any() else None
    at = best if star is None else star
    reached = item_means(select(conf[:, None], grid[None, :]).astype(float), items)
    reason = "no labelled calibration rows"
    if len(conf):
        place = f" on {len(losses.selected)} items" if unit == "clustered" else ""
        limit = rule.limit(int(n[at]), float(upper[at]), level)
        reason = f"{wrong[at]} errors of {n[at]}{place}, {limit}"
    return Certificate(
        certified=star is not None,
        threshold=None if star is None else float(grid[star]),
        coverage=0.0 if star is None else float(reached[:, star].mean()),
        n=int(n[at]),
        errors=int(wrong[at]),
        n_items=len(losses.selected),
        upper_bound=float(upper[at]),
        level=level,
        reason=reason,
        least_n=rule.least_n(level),
        least_n_at_rate=rule.least_n_at_rate(losses, level),
        least_alpha=_least_alpha(losses, chosen, procedure, upper, star is not None),
        p_certify=_stability(losses, chosen, redraws, seed),
        alpha=alpha,
        delta=delta,
        unit=unit,
        bound=bound,
        multiplicity=multiplicity,
        flags=rule.flags(int(n[at]), int(wrong[at])),
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


def check_rows(
    confidence: ArrayLike, errors: ArrayLike, groups: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.str_]]:
    """Rows as float64, int8 and str arrays (n,); raises ValueError on a bad shape or value."""
    conf, errs = np.asarray(confidence, dtype=float), np.asarray(errors)
    items = np.arange(len(conf)) if groups is None else np.asarray(groups)
    if conf.ndim != 1 or errs.shape != conf.shape or items.shape != conf.shape:
        shapes = f"{conf.shape}, {errs.shape}, {items.shape}"
        raise ValueError(f"confidence, errors and groups must be of one length (got {shapes})")
    if not ((conf >= 0) & (conf <= 1)).all():
        raise ValueError("confidence must lie in [0, 1]")
    if len(errs) and not np.isin(errs, (0, 1)).all():
        raise ValueError("errors must be 0 or 1")
    return conf, errs.astype(np.int8), items.astype(np.str_)


def _counts(
    conf: NDArray, errs: NDArray, grid: NDArray, drawn: ItemLosses | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if drawn is not None:
        return drawn.selected.sum(axis=0).astype(int), drawn.wrong.sum(axis=0).astype(int)
    selected = select(conf[:, None], grid[None, :])
    return selected.sum(axis=0), (selected & (errs[:, None] == 1)).sum(axis=0)


class Procedure(NamedTuple):
    """A bound, the order of testing (None: each threshold alone), and the level of a test."""

    rule: Bound
    order: NDArray[np.intp] | None
    level: float

    @classmethod
    def of(
        cls, bound: str, multiplicity: str, alpha: float, level: float, tune: ItemLosses | None
    ) -> Procedure:
        """The procedure for a risk target; bets and order come from the tune losses."""
        if tune is None and (bound == "betting" or multiplicity == "fixed_sequence"):
            raise InputError(f"{bound}/{multiplicity} needs labelled tune rows", field="bound")
        order = None
        if tune is not None and multiplicity == "fixed_sequence":
            order = order_on_tune(tune, alpha)
        if tune is not None and bound == "betting":
            return cls(Betting(alpha, tuned_bets(tune, alpha)), order, level)
        return cls(Exact(alpha) if bound == "exact" else Normal(alpha), order, level)

    def passed(self, losses: ItemLosses, weights: NDArray | None = None) -> NDArray[np.bool_]:
        """Certified thresholds (B, K) of the items taken by 0/1 ``weights`` (B, I); all: B = 1."""
        taken = np.ones((1, len(losses.selected))) if weights is None else weights
        return rejections(self.rule.p_values(losses, taken), self.level, self.order)


def _least_alpha(
    losses: ItemLosses,
    chosen: Procedure,
    procedure: Callable[[float], Procedure],
    upper: NDArray,
    certified: bool,
) -> float:
    """Smallest alpha that the same data could have certified.

    The lowest bound where the bound does not depend on alpha; else, as bets and order do, the
    first hundredth that certifies (1 where none does), on the side of alpha that agrees with it.
    """
    alpha = chosen.rule.alpha
    if chosen.order is None and not isinstance(chosen.rule, Betting):
        return float(upper.min())
    for k in range(1, 100):
        agrees = k / 100 <= alpha if certified else k / 100 > alpha
        if agrees and procedure(k / 100).passed(losses).any():
            return k / 100
    return alpha if certified else 1.0


def _stability(losses: ItemLosses, chosen: Procedure, redraws: int, seed: int) -> float | None:
    n = len(losses.selected)
    if redraws == 0 or n < 2:
        return None
    keys = np.random.default_rng(seed).random((redraws, n))
    halves = (keys.argsort(axis=1).argsort(axis=1) < n // 2).astype(float)
    return float(chosen.passed(losses, halves).any(axis=1).mean())
