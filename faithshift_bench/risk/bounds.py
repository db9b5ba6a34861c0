"""Upper bounds on a selective risk, and the p-values of ``risk >= alpha``.

``exact`` counts drawn rows (Clopper-Pearson), ``betting`` multiplies the wealth of bets on item
means, ``normal`` is S eq. 34, which is not a bound at small counts and is always flagged.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

BOUNDS = ("exact", "betting", "normal")
LEAST_BET = 0.2


def binomial_p_value(errors: ArrayLike, n: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """P(Binomial(n, alpha) <= errors); exactly 1 where ``n`` is 0."""
    errors, n = np.asarray(errors), np.asarray(n)
    value = special.bdtr(errors, np.maximum(n, 1).astype(int), alpha)
    return np.where((n == 0) | (errors >= n), 1.0, value)


def binomial_upper(errors: ArrayLike, n: ArrayLike, level: float) -> NDArray[np.float64]:
    """One-sided Clopper-Pearson upper bound at ``level``; 1 where ``n`` is 0 or all are errors."""
    errors, n = np.asarray(errors), np.asarray(n)
    full = errors >= n
    value = special.betainccinv(errors + 1.0, np.where(full, 1.0, n - errors), level)
    return np.where(full, 1.0, value)


def normal_p_value(errors: ArrayLike, n: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """Level at which S eq. 34 equals ``alpha``; 0 at zero errors, its known defect; 1 at n = 0."""
    rate, spread = _normal(errors, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = special.ndtr((rate - alpha) / spread)
    value = np.where(spread > 0, value, np.where(rate <= alpha, 0.0, 1.0))
    return np.where(np.asarray(n) == 0, 1.0, value)


def normal_upper(errors: ArrayLike, n: ArrayLike, level: float) -> NDArray[np.float64]:
    """S eq. 34: ``R + z_{1 - level} sqrt(R (1 - R) / n)``; 1 where ``n`` is 0."""
    rate, spread = _normal(errors, n)
    bound = rate - special.ndtri(level) * spread
    return np.where(np.asarray(n) == 0, 1.0, bound)


def tuned_bets(
    selected: NDArray[np.float64], wrong: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Bets (K,) fixed on tune items (I, K): ``mean / (var + mean^2)`` of the gains, clipped.

    The gain of an item is ``alpha * selected - wrong``. The clip to [.2, .9 / (1 - alpha)] keeps
    the wealth positive whatever the calibration items are.
    """
    gains = alpha * selected - wrong
    square = (gains**2).mean(axis=0)
    ratio = np.divide(gains.mean(axis=0), square, out=np.zeros(gains.shape[1]), where=square > 0)
    return np.clip(ratio, LEAST_BET, 0.9 / (1 - alpha))


def log_wealth_terms(
    selected: NDArray[np.float64], wrong: NDArray[np.float64], alpha: float, bets: NDArray
) -> NDArray[np.float64]:
    """``log(1 - bet * a_i)`` with ``a_i = wrong - alpha * selected``: (I, K), summed over items."""
    with np.errstate(divide="ignore"):
        return np.log1p(-np.minimum(bets * (wrong - alpha * selected), 1.0))


def betting_p_value(log_wealth: ArrayLike) -> NDArray[np.float64]:
    """``min(1, 1 / W)`` from the logarithm of the wealth."""
    return np.exp(-np.maximum(np.asarray(log_wealth, float), 0.0))


def betting_upper(
    selected: NDArray[np.float64], wrong: NDArray[np.float64], bets: NDArray, level: float
) -> NDArray[np.float64]:
    """The smallest risk that the bets reject at ``level``, for each threshold (K,).

    The wealth grows with the risk it is tested against, so bisection finds where it first reaches
    ``1 / level``. Below ``1 - 1 / bet`` the wealth could go negative and nothing is rejected.
    """
    low = np.maximum(0.0, 1 - 1 / bets)
    high = np.ones_like(bets)
    target = -math.log(level)

    def reached(risk: NDArray) -> NDArray[np.bool_]:
        with np.errstate(divide="ignore"):
            terms = np.log1p(-np.minimum(bets * (wrong - risk * selected), 1.0))
        return terms.sum(axis=0) >= target

    never, at_once = ~reached(high), reached(low)
    for _ in range(60):
        middle = (low + high) / 2
        hit = reached(middle)
        low, high = np.where(hit, low, middle), np.where(hit, middle, high)
    return np.where(never, 1.0, np.where(at_once, np.maximum(0.0, 1 - 1 / bets), high))


def allowed_errors(n: int, alpha: float, level: float) -> int:
    """Most errors of ``n`` at which ``exact`` certifies; -1 where even none would be too many."""
    passing = binomial_p_value(np.arange(n + 1), n, alpha) <= level
    return int(passing.sum()) - 1


def least_n_exact(alpha: float, level: float) -> int:
    """Selected draws that ``exact`` needs without any error: ceil(ln level / ln(1 - alpha))."""
    guess = math.ceil(math.log(level) / math.log1p(-alpha))
    return guess if (1 - alpha) ** guess <= level else guess + 1


def least_n_at_rate(
    errors: int, n: int, alpha: float, level: float, largest: int = 100_000
) -> int | None:
    """Draws needed when ``errors`` of each ``n`` are wrong; None if never (or over ``largest``)."""
    if n == 0 or errors >= alpha * n:
        return None
    size = 64
    while size <= largest:
        draws = np.arange(1, size + 1)
        passing = binomial_p_value(-(-errors * draws // n), draws, alpha) <= level
        if passing.any():
            return int(draws[passing.argmax()])
        size *= 4
    return None


def _normal(errors: ArrayLike, n: ArrayLike) -> tuple[NDArray, NDArray]:
    counts = np.maximum(np.asarray(n, float), 1.0)
    rate = np.asarray(errors, float) / counts
    return rate, np.sqrt(rate * (1 - rate) / counts)
