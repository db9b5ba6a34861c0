"""Bounds by betting: the wealth of bets against "the risk is alpha or more", one bet an item.

An item stakes ``bet * a_i`` with ``a_i = wrong - alpha * selected``. ``W = prod(1 - bet * a_i)``
has mean at most 1 while the risk is alpha or more, so ``p = min(1, 1 / W)`` (Waudby-Smith and
Ramdas 2024). Bets are fixed on tune rows, a mixture of forty, or learned from the items before.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.risk.bounds import against
from faithshift_bench.risk.losses import ItemLosses

LEAST_BET = 0.2
N_MIXTURE = 40
BLOCK = 64
Floats = NDArray[np.float64]


class Wealth(ABC):
    """A way to bet; subclasses say what the log-wealth is."""

    alpha: float

    @abstractmethod
    def log_wealth(
        self, losses: ItemLosses, risk: float | Floats, weights: Floats | None = None
    ) -> Floats:
        """Log-wealth (B, K) against ``risk >= risk``, non-decreasing in it; B = 1 without weights.

        Minus infinity where the bets are too large for a hypothesis that low.
        """

    @property
    @abstractmethod
    def largest_bet(self) -> float:
        """The largest bet it can make."""

    def p_values(self, losses: ItemLosses, weights: Floats | None = None) -> Floats:
        """``min(1, 1 / W)``."""
        return np.exp(-np.maximum(self.log_wealth(losses, self.alpha, weights), 0.0))

    def upper(self, losses: ItemLosses, level: float | Floats) -> Floats:
        """The smallest risk that the bets reject at ``level``, by bisection to 1e-10."""
        low, high = np.zeros(losses.selected.shape[1]), np.ones(losses.selected.shape[1])
        goal = -np.log(level)
        for _ in range(34):
            middle = (low + high) / 2
            reached = self.log_wealth(losses, middle)[0] >= goal
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    def least_n(self, level: float) -> int:
        """Items needed if all are selected and none is wrong, at the largest bet."""
        return math.ceil(-math.log(level) / math.log1p(self.largest_bet * self.alpha))

    def least_n_at_rate(self, losses: ItemLosses, level: float) -> int | None:
        """Items needed at the best observed growth of the log-wealth."""
        if len(losses.selected) == 0:
            return None
        growth = float(self.log_wealth(losses, self.alpha).max()) / len(losses.selected)
        return math.ceil(-math.log(level) / growth) if growth > 0 else None

    def limit(self, n: int, upper: float, level: float) -> str:
        """The bound itself."""
        return against(upper, self.alpha)

    def flags(self, n: int, errors: int) -> tuple[str, ...]:
        """None: the bound holds at every size."""
        return ()


@dataclass(frozen=True, eq=False)
class Betting(Wealth):
    """Fixed bets (K,), one for each threshold, in [0, 1 / (1 - alpha)); log-wealth adds up."""

    alpha: float
    bets: Floats

    def log_wealth(
        self, losses: ItemLosses, risk: float | Floats, weights: Floats | None = None
    ) -> Floats:
        """Sum over the items; see :meth:`item_log_wealth`."""
        return _total(self.item_log_wealth(losses, risk), weights)

    def item_log_wealth(self, losses: ItemLosses, risk: float | Floats) -> Floats:
        """Log-wealth of each item (I, K); the total is their sum."""
        return np.where(_fits(self.bets, risk), _log_growth(losses, risk, self.bets), -np.inf)

    @property
    def largest_bet(self) -> float:
        """Over the thresholds."""
        return float(self.bets.max())


@dataclass(frozen=True, eq=False)
class Mixture(Wealth):
    """The mean wealth of forty fixed bets ``(j - 1/2) / 40 / (1 - alpha)``; needs no tune rows."""

    alpha: float

    @property
    def bets(self) -> Floats:
        """The bets (40,)."""
        return (np.arange(N_MIXTURE) + 0.5) / N_MIXTURE / (1 - self.alpha)

    def log_wealth(
        self, losses: ItemLosses, risk: float | Floats, weights: Floats | None = None
    ) -> Floats:
        """Log of the mean; a bet too large for the hypothesis keeps nothing."""
        if weights is None:
            totals = _log_products(losses, risk, self.bets)[:, None]
        else:
            grown = (_log_growth(losses, risk, bet) for bet in self.bets)
            totals = np.array([_total(each, weights) for each in grown])
        return log_mean(np.where(_fits(self.bets[:, None, None], risk), totals, -np.inf))

    @property
    def largest_bet(self) -> float:
        """The last of the forty."""
        return float(self.bets[-1])


@dataclass(frozen=True, eq=False)
class Agrapa(Wealth):
    """Each item's bet is learned from the items before it (approximate GRAPA).

    ``bet = clip(sum g / sum g^2, .2, .9 / (1 - alpha))`` over the gains ``g = -a_i`` of earlier
    items and one imaginary item of gain ``alpha / 4`` and square ``alpha / 4``. ``order`` (I,)
    ranks the items, before their labels are seen.
    """

    alpha: float
    order: NDArray[np.intp]

    def log_wealth(
        self, losses: ItemLosses, risk: float | Floats, weights: Floats | None = None
    ) -> Floats:
        """Bets follow the order among the items taken, whatever hypothesis they are put to."""
        if weights is None:
            ordered = ItemLosses(losses.selected[self.order], losses.wrong[self.order])
            bets = self._bets(ordered)
            fits = _fits(bets.max(axis=0, initial=0.0), risk)
            return np.where(fits, _log_growth(ordered, risk, bets).sum(axis=0), -np.inf)[None]
        rows = []
        for taken in weights.astype(bool):
            kept = Agrapa(self.alpha, self.order[taken[self.order]])
            rows.append(kept.log_wealth(losses, risk)[0])
        return np.array(rows)

    def _bets(self, ordered: ItemLosses) -> Floats:
        gains = self.alpha * ordered.selected - ordered.wrong
        start = np.full((1, gains.shape[1]), self.alpha / 4)
        sums = np.cumsum(np.concatenate([start, gains]), axis=0)[:-1]
        squares = np.cumsum(np.concatenate([start, gains**2]), axis=0)[:-1]
        return np.clip(sums / squares, LEAST_BET, self.largest_bet)

    @property
    def largest_bet(self) -> float:
        """Where it is clipped."""
        return 0.9 / (1 - self.alpha)


def tuned_bets(tune: ItemLosses, alpha: float) -> Floats:
    """Bets (K,) fixed on tune items: ``mean / (var + mean^2)`` of their gains, clipped.

    The gain of an item is ``alpha * selected - wrong``. The clip to [.2, .9 / (1 - alpha)] keeps
    the wealth positive whatever the calibration items are.
    """
    gains = alpha * tune.selected - tune.wrong
    square = (gains**2).mean(axis=0)
    ratio = np.divide(gains.mean(axis=0), square, out=np.zeros_like(square), where=square > 0)
    return np.clip(ratio, LEAST_BET, 0.9 / (1 - alpha))


def hash_order(items: NDArray[np.str_]) -> NDArray[np.intp]:
    """Positions (I,) of distinct item ids in the order of their sha256."""
    digests = [hashlib.sha256(str(item).encode()).digest() for item in items]
    return np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.intp)


def log_mean(values: Floats) -> Floats:
    """Log of the mean of ``exp(values)`` over the first axis."""
    top = values.max(axis=0)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return safe + np.log(np.exp(values - safe).mean(axis=0))


def _fits(bets: float | Floats, risk: float | Floats) -> NDArray[np.bool_]:
    """Whether no item can make the wealth negative: ``bet * (1 - risk) <= 1``."""
    return np.asarray(np.asarray(bets) * (1 - np.asarray(risk)) <= 1)


def _log_growth(losses: ItemLosses, risk: float | Floats, bets: float | Floats) -> Floats:
    stake = np.minimum(bets * (losses.wrong - risk * losses.selected), 1.0)
    with np.errstate(divide="ignore"):
        return np.log1p(-stake)


def _log_products(losses: ItemLosses, risk: float | Floats, bets: Floats) -> Floats:
    """Sums over items of :func:`_log_growth` for each of many bets: (bets, K).

    One logarithm for 64 items: a product of so many cannot leave the range of a float.
    """
    stakes = losses.wrong - risk * losses.selected
    total = np.zeros((len(bets), stakes.shape[1]))
    for start in range(0, len(stakes), BLOCK):
        growth = 1 - bets[:, None, None] * stakes[start : start + BLOCK]
        with np.errstate(divide="ignore"):
            total += np.log(np.maximum(growth, 0.0).prod(axis=1))
    return total


def _total(values: Floats, weights: Floats | None) -> Floats:
    if weights is None:
        return values.sum(axis=0, keepdims=True)
    # Minus infinity times a weight of 0 would be undefined.
    return weights @ np.maximum(values, -1e300) if np.isneginf(values).any() else weights @ values
