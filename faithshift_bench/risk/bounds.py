"""Upper bounds on a selective risk, and p-values of "the risk is alpha or more".

``exact`` counts rows (Clopper-Pearson); ``normal`` is S eq. 34, which is not a bound at small
counts and is always flagged. Bounds on item means are in :mod:`faithshift_bench.risk.betting`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from faithshift_bench.risk.losses import ItemLosses

LARGEST_N = 100_000
Floats = NDArray[np.float64]


class Bound(Protocol):
    """A way to bound selective risk at thresholds (K,), from the losses of items (I, K)."""

    @property
    def alpha(self) -> float:
        """The risk target."""

    def p_values(self, losses: ItemLosses, weights: Floats | None = None) -> Floats:
        """P-values (B, K) of the items taken by 0/1 ``weights`` (B, I); of all, with B = 1."""

    def upper(self, losses: ItemLosses, level: float | Floats) -> Floats:
        """Upper bounds (K,) at ``level``, one or (K,); 1 where nothing is selected."""

    def least_n(self, level: float) -> int:
        """Draws (or items) needed where none is wrong."""

    def least_n_at_rate(self, losses: ItemLosses, level: float) -> int | None:
        """The same at the best observed rate; None where that does not suffice."""

    def limit(self, n: int, upper: float, level: float) -> str:
        """What would have been accepted, in words."""

    def flags(self, n: int, errors: int) -> tuple[str, ...]:
        """What a reader must know of the bound at these counts."""


@dataclass(frozen=True)
class Exact:
    """Clopper-Pearson on counts of rows: one drawn an item, or (``iid``) all of them."""

    alpha: float

    def p_values(self, losses: ItemLosses, weights: Floats | None = None) -> Floats:
        """Binomial p-values of the counts."""
        wrong, n = _sums(losses, weights)
        return binomial_p_value(wrong, n, self.alpha)

    def upper(self, losses: ItemLosses, level: float | Floats) -> Floats:
        """Clopper-Pearson bounds."""
        return binomial_upper(losses.wrong.sum(axis=0), losses.selected.sum(axis=0), level)

    def least_n(self, level: float) -> int:
        """``ceil(ln level / ln(1 - alpha))``."""
        guess = math.ceil(math.log(level) / math.log1p(-self.alpha))
        return guess if (1 - self.alpha) ** guess <= level else guess + 1

    def least_n_at_rate(self, losses: ItemLosses, level: float) -> int | None:
        """Smallest n that certifies with ``ceil(rate * n)`` errors, at the lowest error rate."""
        n, wrong = losses.selected.sum(axis=0), losses.wrong.sum(axis=0)
        if not n.any():
            return None
        seen = np.flatnonzero(n)
        best = seen[np.lexsort((-n[seen], wrong[seen] / n[seen]))[0]]
        errors, draws = int(wrong[best]), int(n[best])
        if errors >= self.alpha * draws:
            return None
        if errors == 0:
            return self.least_n(level)
        # With e errors p falls in n, so it suffices to try the largest n with ceil(rate * n) = e.
        first, last = 0, LARGEST_N * errors // draws
        for stop in (64, 512, 4096, last):
            e = np.arange(first, min(stop, last) + 1)
            passing = binomial_p_value(e, draws * e // errors, self.alpha) <= level
            if passing.any():
                wrong_n = int(e[passing.argmax()])
                tried = np.arange(
                    draws * (wrong_n - 1) // errors + 1, draws * wrong_n // errors + 1
                )
                return int(tried[(binomial_p_value(wrong_n, tried, self.alpha) <= level).argmax()])
            first = stop + 1
        return None

    def limit(self, n: int, upper: float, level: float) -> str:
        """Most errors allowed, or draws needed where even none would be too many."""
        allowed = allowed_errors(n, self.alpha, level)
        if allowed < 0:
            return f"at least {self.least_n(level)} needed without an error"
        return f"at most {allowed} allowed"

    def flags(self, n: int, errors: int) -> tuple[str, ...]:
        """None: the bound holds at every size."""
        return ()


@dataclass(frozen=True)
class Normal(Exact):
    """S eq. 34 as published: ``R + z sqrt(R (1 - R) / n)``. Zero at zero errors."""

    def p_values(self, losses: ItemLosses, weights: Floats | None = None) -> Floats:
        """Levels at which the bound equals alpha: 0 at zero errors; 1 where n is 0."""
        wrong, n = _sums(losses, weights)
        rate, spread = _normal(wrong, n)
        scale = np.where(spread > 0, spread, 1.0)
        value = np.where(spread > 0, special.ndtr((rate - self.alpha) / scale), rate > self.alpha)
        return np.where(n == 0, 1.0, value)

    def upper(self, losses: ItemLosses, level: float | Floats) -> Floats:
        """The published bounds."""
        n = losses.selected.sum(axis=0)
        rate, spread = _normal(losses.wrong.sum(axis=0), n)
        return np.where(n == 0, 1.0, np.minimum(rate - special.ndtri(level) * spread, 1.0))

    def least_n(self, level: float) -> int:
        """1: without an error the published bound certifies any set."""
        return 1

    def least_n_at_rate(self, losses: ItemLosses, level: float) -> int | None:
        """Not given for a bound that does not hold."""
        return None

    def limit(self, n: int, upper: float, level: float) -> str:
        """The bound itself."""
        return against(upper, self.alpha)

    def flags(self, n: int, errors: int) -> tuple[str, ...]:
        """That it is not valid at finite size, and the counts where it is worst."""
        always = "normal bound (S eq. 34): not valid at finite size"
        weak = min(errors, n - errors) < 10
        return (always, f"normal bound at {errors} errors of {n}") if weak else (always,)


def binomial_p_value(errors: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """P(Binomial(n, alpha) <= errors); exactly 1 where ``n`` is 0."""
    errors, n = np.asarray(errors), np.asarray(n)
    value = special.bdtr(errors, np.maximum(n, 1).astype(int), alpha)
    return np.where(errors >= n, 1.0, value)


def binomial_upper(errors: ArrayLike, n: ArrayLike, level: float | Floats) -> Floats:
    """One-sided Clopper-Pearson upper bound at ``level``; 1 where ``n`` is 0 or all are errors."""
    errors, n = np.asarray(errors), np.asarray(n)
    full = errors >= n
    value = special.betainccinv(errors + 1.0, np.where(full, 1.0, n - errors), level)
    return np.where(full, 1.0, value)


def allowed_errors(n: int, alpha: float, level: float) -> int:
    """Most errors of ``n`` at which ``exact`` certifies; -1 where even none would be too many."""
    return int((binomial_p_value(np.arange(n + 1), n, alpha) <= level).sum()) - 1


def _sums(losses: ItemLosses, weights: Floats | None) -> tuple[Floats, Floats]:
    if weights is None:
        return losses.wrong.sum(axis=0, keepdims=True), losses.selected.sum(axis=0, keepdims=True)
    return weights @ losses.wrong, weights @ losses.selected


def _normal(errors: Floats, n: Floats) -> tuple[Floats, Floats]:
    counts = np.maximum(n, 1.0)
    rate = errors / counts
    return rate, np.sqrt(rate * (1 - rate) / counts)


def against(upper: float, alpha: float) -> str:
    """``bound .231 <= .25``, in the words of a reason."""
    return f"bound {upper:.3f} {'<=' if upper <= alpha else '>'} {alpha:g}"
