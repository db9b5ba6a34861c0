"""The plan of a certificate: everything that is fixed before the calibration labels are seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.options import check_share, check_whole
from faithshift_bench.risk.betting import Agrapa, Betting, Mixture, hash_order, tuned_bets
from faithshift_bench.risk.bounds import Bound, Exact, Normal
from faithshift_bench.risk.losses import ItemLosses, check_rows, item_losses
from faithshift_bench.risk.multiplicity import (
    MULTIPLICITY,
    holm_levels,
    order_on_tune,
    rejections,
    spent_level,
    threshold_grid,
)
from faithshift_data.errors import InputError

PAIRED = {
    "one_per_item": ("exact", "normal"),
    "clustered": ("betting", "betting-mixture", "betting-agrapa"),
    "iid": ("exact", "normal"),
}
Floats = NDArray[np.float64]


class Option(NamedTuple):
    """One way to certify, as :func:`list_certificates` gives it."""

    unit: str
    bound: str
    multiplicity: str
    needs_tune: bool
    holds: bool

    @property
    def name(self) -> str:
        """``unit/bound/multiplicity``."""
        return f"{self.unit}/{self.bound}/{self.multiplicity}"


def needs_tune(bound: str, multiplicity: str) -> bool:
    """Whether bets or order are read off labelled tune rows (as grid ``q5`` always is)."""
    return bound == "betting" or multiplicity == "fixed_sequence"


def list_certificates() -> list[Option]:
    """Every unit, bound and multiplicity that :func:`certify` takes.

    ``holds`` says whether wrong certificates are bounded by delta at every size and whatever the
    dependence within items; it is False for unit ``iid`` and bound ``normal``.
    """
    return [
        Option(u, b, m, needs_tune(b, m), u != "iid" and b != "normal")
        for u, bounds in PAIRED.items()
        for b in bounds
        for m in MULTIPLICITY
    ]


class Procedure(NamedTuple):
    """A bound, an order of testing (None: each threshold alone), and how delta is spent."""

    rule: Bound
    order: NDArray[np.intp] | None
    multiplicity: str
    delta: float

    def levels(self, p_values: Floats) -> Floats:
        """Level spent on each threshold, (..., K) like ``p_values``."""
        if self.multiplicity == "holm":
            return holm_levels(p_values, self.delta)
        level = spent_level(self.multiplicity, self.delta, p_values.shape[-1])
        return np.full_like(p_values, level)

    def passed(self, losses: ItemLosses, weights: Floats | None = None) -> NDArray[np.bool_]:
        """Certified thresholds (B, K) of the items taken by 0/1 ``weights`` (B, I); all: B = 1."""
        return self.decide(self.rule.p_values(losses, weights))

    def decide(self, p_values: Floats) -> NDArray[np.bool_]:
        """Certified thresholds, (..., K) like ``p_values``."""
        return rejections(p_values, self.levels(p_values), self.order)


@dataclass(frozen=True, eq=False)
class Plan:
    """Thresholds (K,), unit, bound, levels, draw seed, and what was learned on tune rows."""

    grid: Floats
    unit: str
    bound: str
    multiplicity: str
    alpha: float
    delta: float
    seed: int
    tune: ItemLosses | None

    @classmethod
    def of(
        cls,
        unit: str,
        bound: str,
        multiplicity: str,
        *,
        alpha: float = 0.25,
        delta: float = 0.05,
        thresholds: str | ArrayLike | None = None,
        seed: int = 0,
        tune: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    ) -> Plan:
        """Check the options, which are those of :func:`certify`; InputError in one line."""
        for name, value in (("alpha", alpha), ("delta", delta)):
            check_share(name, value)
        check_whole("seed", seed)
        if unit not in PAIRED or bound not in PAIRED[unit]:
            known = " | ".join(f"{u}/{b}" for u, bounds in PAIRED.items() for b in bounds)
            raise InputError(
                "unit and bound do not fit", field="bound", expected=known, got=f"{unit}/{bound}"
            )
        rows = None if tune is None else check_rows(*tune)
        if rows is not None and len(rows[0]) == 0:
            rows = None
        grid = threshold_grid(thresholds, None if rows is None else rows[0])
        spent_level(multiplicity, delta, len(grid))
        if rows is None and needs_tune(bound, multiplicity):
            raise InputError(f"{bound}/{multiplicity} needs labelled tune rows", field="bound")
        learned = None if rows is None else item_losses(*rows, grid, unit="clustered")
        return cls(grid, unit, bound, multiplicity, alpha, delta, seed, learned)

    @property
    def level(self) -> float:
        """Level of the first test."""
        return spent_level(self.multiplicity, self.delta, len(self.grid))

    def losses(
        self, confidence: Floats, errors: NDArray[np.int8], groups: NDArray[np.str_]
    ) -> ItemLosses:
        """Losses (I, K) of calibration rows (n,) in this unit."""
        return item_losses(
            confidence, errors, groups, self.grid, unit=self.unit, draw_seed=self.seed
        )

    def procedure(self, items: NDArray[np.str_], alpha: float | None = None) -> Procedure:
        """The tests for distinct ``items`` (I,), at the plan's risk target or another."""
        target = self.alpha if alpha is None else alpha
        order = None
        if self.tune is not None and self.multiplicity == "fixed_sequence":
            order = order_on_tune(self.tune, target)
        return Procedure(self._rule(items, target), order, self.multiplicity, self.delta)

    def _rule(self, items: NDArray[np.str_], alpha: float) -> Bound:
        if self.bound == "betting":
            assert self.tune is not None
            return Betting(alpha, tuned_bets(self.tune, alpha))
        if self.bound == "betting-mixture":
            return Mixture(alpha)
        if self.bound == "betting-agrapa":
            return Agrapa(alpha, hash_order(items))
        return Exact(alpha) if self.bound == "exact" else Normal(alpha)
