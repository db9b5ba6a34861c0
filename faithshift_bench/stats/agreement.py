"""Agreement of two raters and of two rankings; what cannot be computed says why."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

SATURATED = 0.70
MIN_RANKED = 3
MIN_TESTED = 5
ENUMERATED = 7
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Coefficient:
    """A coefficient in [-1, 1]; ``value`` is None with a ``reason`` where undefined."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True)
class Agreement:
    """Agreement of two binary raters on ``n`` rows; ``n_excluded`` had no verdict on a side.

    Attributes:
        n: rows with two verdicts.
        n_excluded: rows without.
        observed: raw agreement in [0, 1]; None at n = 0.
        kappa: Cohen's kappa; undefined where a rater is constant.
        ac1: Gwet's AC1, which a skewed prevalence does not push towards 0.
        prevalence: share of 1 among both raters' verdicts; None at n = 0.
        saturated: whether one verdict has a share over ``SATURATED``, so that kappa is low
            whatever the raters do; read AC1 and the raw agreement beside it.
    """

    n: int
    n_excluded: int
    observed: float | None
    kappa: Coefficient
    ac1: Coefficient
    prevalence: float | None
    saturated: bool


@dataclass(frozen=True)
class RankAgreement:
    """Kendall's tau-b in [-1, 1] of n objects and its two-sided p; None with a reason each."""

    value: float | None
    p: float | None
    n: int
    n_excluded: int
    reason: str | None
    p_reason: str | None
    method: str | None


def rater_agreement(first: ArrayLike, second: ArrayLike) -> Agreement:
    """Raw agreement, Cohen's kappa and Gwet's AC1 of two binary raters.

    ``kappa = (po - pe) / (1 - pe)`` with pe from each rater's own margin; AC1 takes
    ``pe = 2 q (1 - q)``, q the mean prevalence (Gwet, 2008).

    Args:
        first: (n,) verdicts 1, 0, or -1 (none given: excluded and counted).
        second: (n,) of the other rater.

    Raises:
        ValueError: on unequal shapes or another value.
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"two arrays of one shape (n,) are needed (got {a.shape}, {b.shape})")
    if not (np.isin(a, (-1, 0, 1)).all() and np.isin(b, (-1, 0, 1)).all()):
        raise ValueError("verdicts must be 1, 0 or -1")
    both = (a >= 0) & (b >= 0)
    x, y, n = a[both], b[both], int(both.sum())
    if n == 0:
        none = Coefficient(None, "no row with two verdicts")
        return Agreement(0, len(a), None, none, none, None, False)
    ones_x, ones_y = int((x == 1).sum()), int((y == 1).sum())
    observed, q = float((x == y).mean()), (ones_x + ones_y) / (2 * n)
    constant = [name for name, k in (("first", ones_x), ("second", ones_y)) if k in (0, n)]
    if constant:
        raters = f"{constant[0]} rater is" if len(constant) == 1 else "both raters are"
        kappa = Coefficient(None, f"{raters} constant")
    else:
        chance = (ones_x * ones_y + (n - ones_x) * (n - ones_y)) / n**2
        kappa = Coefficient((observed - chance) / (1 - chance))
    by_chance = 2 * q * (1 - q)
    ac1 = Coefficient((observed - by_chance) / (1 - by_chance))
    return Agreement(n, len(a) - n, observed, kappa, ac1, q, max(q, 1 - q) > SATURATED)


def kendall_tau_b(
    first: ArrayLike, second: ArrayLike, *, n_permutations: int = 9999, seed: int = 0
) -> RankAgreement:
    """Kendall's tau-b of two rankings of the same objects.

    Its p is exact without ties; with ties it comes from all permutations up to n = 7, and from
    ``n_permutations`` seeded ones, ``(b + 1) / (B + 1)``, beyond. Under 5 objects no p is given:
    even a perfect tau of 3 has p = 1/3.

    Args:
        first: (n,) values; NaN leaves the object out, counted.
        second: (n,) values of the same objects.
        n_permutations: B.
        seed: of the permutations.

    Raises:
        ValueError: on unequal shapes.
    """
    from scipy import stats

    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"two arrays of one shape (n,) are needed (got {a.shape}, {b.shape})")
    keep = ~(np.isnan(a) | np.isnan(b))
    # In order of value, so that the seeded permutations do not hang on the order of rows.
    order = np.lexsort((b[keep], a[keep]))
    x, y, n = a[keep][order], b[keep][order], int(keep.sum())
    constant = [name for name, v in (("first", x), ("second", y)) if len(np.unique(v)) == 1]
    reason = None
    if n < MIN_RANKED:
        reason = f"{n} {_objects(n)}, at least {MIN_RANKED} needed"
    elif constant:
        reason = f"{' and '.join(constant)} ranking constant"
    if reason:
        return RankAgreement(None, None, n, len(a) - n, reason, reason, None)
    signs = _signs(x), _signs(y)
    scale = float(np.sqrt((signs[0] ** 2).sum() * (signs[1] ** 2).sum()))
    tau = float((signs[0] * signs[1]).sum()) / scale
    tau = max(-1.0, min(1.0, tau))
    if n < MIN_TESTED:
        p_reason = f"{n} {_objects(n)}, at least {MIN_TESTED} needed for a test"
        return RankAgreement(tau, None, n, len(a) - n, None, p_reason, None)
    if len(np.unique(x)) == n == len(np.unique(y)):
        p, method = float(stats.kendalltau(x, y, method="exact").pvalue), "exact"
    elif n <= ENUMERATED:
        draws = np.array([_score(signs, np.array(turn)) for turn in permutations(range(n))])
        p, method = (
            float((np.abs(draws) >= abs(tau * scale) - TOLERANCE).mean()),
            "all permutations",
        )
    else:
        rng = np.random.default_rng(seed)
        draws = np.array([_score(signs, rng.permutation(n)) for _ in range(n_permutations)])
        hits = int((np.abs(draws) >= abs(tau * scale) - TOLERANCE).sum())
        p, method = (hits + 1) / (n_permutations + 1), f"{n_permutations} permutations"
    return RankAgreement(tau, p, n, len(a) - n, None, None, method)


def _objects(n: int) -> str:
    return "object" if n == 1 else "objects"


def _signs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sign(values[:, None] - values[None, :])


def _score(signs: tuple[NDArray, NDArray], order: NDArray[np.intp]) -> float:
    return float((signs[0] * signs[1][np.ix_(order, order)]).sum())
