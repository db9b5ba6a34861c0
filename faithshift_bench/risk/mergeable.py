"""Certificates from shards: each machine tallies whole items; tallies add up to one answer.

    plan = Plan.of("clustered", "betting", "bonferroni", thresholds=grid, tune=tune_rows)
    tallies = [tally(plan, *rows) for rows in shards]
    answer = conclude(plan, merge(tallies))

Counts add exactly, log-wealth to 1e-12. ``betting-agrapa`` does not add, as its bets depend on
the items before.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.verdicts import select
from faithshift_bench.risk.betting import Betting, Mixture, log_mean
from faithshift_bench.risk.bounds import Exact
from faithshift_bench.risk.losses import ItemLosses, check_rows, item_means
from faithshift_bench.risk.plan import Plan
from faithshift_data.errors import InputError


@dataclass(frozen=True)
class Tally:
    """What the calibration rows of a shard come to; ``dataclasses.asdict`` of it is plain JSON.

    Attributes:
        plan: fingerprint of the plan.
        items: ids of its items, sorted; all rows of each are here.
        n: (K,) rows selected, or draws selected (``one_per_item``).
        errors: (K,) wrong ones among them.
        reached: (K,) sum over the items of the share of rows selected.
        log_wealth: (bets, K) sum over the items at alpha; no bets where the bound counts.
    """

    plan: str
    items: Sequence[str]
    n: Sequence[int]
    errors: Sequence[int]
    reached: Sequence[float]
    log_wealth: Sequence[Sequence[float]]


@dataclass(frozen=True)
class MergedCertificate:
    """The decision of :func:`certify` on the rows of all shards; arrays are by threshold (K,).

    Attributes:
        certified: whether any threshold is certified.
        threshold: t*, the lowest certified threshold, or None.
        coverage: item-weighted share of rows selected at t*; 0 where none.
        n_items: items of all shards.
        thresholds: those tested, ascending.
        n: rows (or draws) selected.
        errors: wrong ones among them.
        p_values: of "the risk is alpha or more"; 1 where nothing is selected.
        passed: which are certified.
    """

    certified: bool
    threshold: float | None
    coverage: float
    n_items: int
    thresholds: tuple[float, ...]
    n: tuple[int, ...]
    errors: tuple[int, ...]
    p_values: tuple[float, ...]
    passed: tuple[bool, ...]


def tally(plan: Plan, confidence: ArrayLike, errors: ArrayLike, groups: ArrayLike) -> Tally:
    """Tally calibration rows (n,) of whole items, whatever the order.

    Raises:
        ValueError: on arrays that :func:`certify` refuses, or bets that do not add.
    """
    conf, errs, items = check_rows(confidence, errors, groups)
    losses = plan.losses(conf, errs, items)
    selected = select(conf[:, None], plan.grid[None, :]).astype(float)
    counted = (losses.selected, losses.wrong)
    if plan.unit == "clustered":
        counted = (selected, selected * errs[:, None])
    return Tally(
        plan=fingerprint(plan),
        items=tuple(str(item) for item in np.unique(items)),
        n=tuple(int(x) for x in counted[0].sum(axis=0)),
        errors=tuple(int(x) for x in counted[1].sum(axis=0)),
        reached=_sums(item_means(selected, items)),
        log_wealth=tuple(_sums(each) for each in _item_log_wealth(plan, losses)),
    )


def merge(tallies: Iterable[Tally]) -> Tally:
    """The tally of all shards.

    Raises:
        InputError: without a tally, on tallies of different plans, or an item in two shards.
    """
    parts = list(tallies)
    if not parts:
        raise InputError("no tallies to merge")
    if len({part.plan for part in parts}) > 1:
        raise InputError("tallies of different plans do not add", field="plan")
    seen = Counter(item for part in parts for item in part.items)
    twice = sorted(item for item, count in seen.items() if count > 1)
    if twice:
        raise InputError(f"{len(twice)} items are in two shards", row=twice[0], field="groups")
    return Tally(
        plan=parts[0].plan,
        items=tuple(sorted(seen)),
        n=tuple(sum(column) for column in zip(*(part.n for part in parts), strict=True)),
        errors=tuple(sum(column) for column in zip(*(part.errors for part in parts), strict=True)),
        reached=_sums([part.reached for part in parts]),
        log_wealth=tuple(
            _sums(rows) for rows in zip(*(part.log_wealth for part in parts), strict=True)
        ),
    )


def conclude(plan: Plan, total: Tally) -> MergedCertificate:
    """The certificate of a merged tally.

    Raises:
        InputError: where the tally was made by another plan.
    """
    if total.plan != fingerprint(plan):
        raise InputError("the tally was made by another plan", field="plan")
    chosen = plan.procedure(np.array([], dtype=np.str_))
    if total.log_wealth:
        p_values = np.exp(-np.maximum(log_mean(np.array(total.log_wealth)), 0.0))[None]
    else:
        counts = (np.array([side], dtype=float) for side in (total.n, total.errors))
        p_values = chosen.rule.p_values(ItemLosses(*counts))
    passed = chosen.decide(p_values)[0]
    star = int(passed.argmax()) if passed.any() else None
    return MergedCertificate(
        certified=star is not None,
        threshold=None if star is None else float(plan.grid[star]),
        coverage=0.0 if star is None else total.reached[star] / len(total.items),
        n_items=len(total.items),
        thresholds=tuple(float(t) for t in plan.grid),
        n=tuple(total.n),
        errors=tuple(total.errors),
        p_values=tuple(float(p) for p in p_values[0]),
        passed=tuple(bool(x) for x in passed),
    )


def fingerprint(plan: Plan) -> str:
    """sha256 of everything that the plan fixes: tallies add only where it is the same."""
    chosen = plan.procedure(np.array([], dtype=np.str_))
    parts = [plan.unit, plan.bound, plan.multiplicity, plan.alpha, plan.delta, plan.seed]
    parts += [plan.grid.tolist(), None if chosen.order is None else chosen.order.tolist()]
    parts += [chosen.rule.bets.tolist() if isinstance(chosen.rule, Betting) else None]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _item_log_wealth(plan: Plan, losses: ItemLosses) -> list[NDArray[np.float64]]:
    rule = plan.procedure(np.array([], dtype=np.str_)).rule
    if isinstance(rule, Exact):
        return []
    if isinstance(rule, Betting):
        return [rule.item_log_wealth(losses, plan.alpha)]
    if isinstance(rule, Mixture):
        fixed = (Betting(plan.alpha, np.full(len(plan.grid), bet)) for bet in rule.bets)
        return [each.item_log_wealth(losses, plan.alpha) for each in fixed]
    raise InputError("bets that depend on earlier items do not add", field="bound", got=plan.bound)


def _sums(rows: ArrayLike) -> tuple[float, ...]:
    """Sum of each column, correctly rounded."""
    return tuple(math.fsum(column) for column in np.asarray(rows, dtype=float).T)
