"""Paired tests of two detectors on the same traces.

McNemar treats its pairs as independent, so it takes one row an item. Everything else that is
compared here goes through the permutation test, which swaps whole items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

TOLERANCE = 1e-12
CHUNK = 1000
Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class McNemar:
    """``first_only`` and ``second_only`` of ``n`` units; ``p`` is None, with a reason, at n = 0."""

    p: float | None
    first_only: int
    second_only: int
    n: int
    reason: str | None


@dataclass(frozen=True)
class SwapTest:
    """A difference, first minus second, and its two-sided p; None where undefined.

    ``n_undefined`` permutations had no value; they count against the null being rejected.
    """

    difference: float | None
    p: float | None
    n_permutations: int
    n_undefined: int
    reason: str | None


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """Exact two-sided McNemar test: the binomial test at 1/2 of the discordant units.

    Args:
        first: (n,) 1 where the first detector has the property, else 0; one row an item.
        second: (n,) the same of the second.

    Returns:
        ``p = min(1, 2 P(X <= min(b, c)))``, X binomial (b + c, 1/2); 1 without discordant units.

    Raises:
        ValueError: on unequal shapes or a value other than 0 and 1.
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"two arrays of one shape (n,) are needed (got {a.shape}, {b.shape})")
    if not (np.isin(a, (0, 1)).all() and np.isin(b, (0, 1)).all()):
        raise ValueError("values must be 0 or 1")
    if len(a) == 0:
        return McNemar(None, 0, 0, 0, "no units")
    only_a, only_b = int((a > b).sum()), int((b > a).sum())
    tail = float(special.bdtr(min(only_a, only_b), only_a + only_b, 0.5))
    return McNemar(min(1.0, 2 * tail), only_a, only_b, len(a), None)


def swap_signs(n_items: int, n_permutations: int, seed: int) -> NDArray[np.int8]:
    """(B, I) of 1 (the item keeps its detector) and 0 (it is swapped), from the seed alone."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, size=(n_permutations, n_items), dtype=np.int8)


def swap_test(
    first: ArrayLike, second: ArrayLike, statistic: Statistic, keep: NDArray[np.int8]
) -> SwapTest:
    """Cluster permutation test: whole items are swapped between two detectors.

    The null is that the two are exchangeable within an item, all rows and seeds of it together.
    Two-sided ``p = (b + 1) / (B + 1)``, b counting permutations at least as far from 0.

    Args:
        first: (S, I, K) sums of the first detector by seed and item; items sorted by id.
        second: (S, I, K) of the second.
        statistic: from totals (S, B, K) to values (B,); NaN where undefined.
        keep: (B, I) from :func:`swap_signs`; one draw serves all comparisons.

    Raises:
        ValueError: on unequal shapes.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.ndim != 3 or a.shape != b.shape or keep.shape[1:] != a.shape[1:2]:
        raise ValueError(f"shapes do not fit (got {a.shape}, {b.shape}, {keep.shape})")
    ends = (statistic(x.sum(axis=1, keepdims=True))[0] for x in (a, b))
    difference = float(np.subtract(*ends))
    if np.isnan(difference):
        return SwapTest(None, None, len(keep), 0, "undefined on one side")
    parts = []
    for start in range(0, len(keep), CHUNK):
        swaps = keep[start : start + CHUNK].astype(float)
        one = np.matmul(swaps, a - b) + b.sum(axis=1, keepdims=True)
        two = (a + b).sum(axis=1, keepdims=True) - one
        parts.append(statistic(one) - statistic(two))
    draws = np.concatenate(parts)
    undefined = np.isnan(draws)
    extreme = undefined | (np.abs(draws) >= abs(difference) - TOLERANCE)
    p = (int(extreme.sum()) + 1) / (len(keep) + 1)
    return SwapTest(difference, p, len(keep), int(undefined.sum()), None)


def cluster_permutation_test(
    first: ArrayLike,
    second: ArrayLike,
    groups: ArrayLike,
    *,
    n_permutations: int = 9999,
    seed: int = 0,
) -> SwapTest:
    """Whether two detectors differ in the mean of a value a row, with items swapped whole.

    Args:
        first: (n,) of the first detector, such as 1 where its verdict errs.
        second: (n,) of the second, on the same rows.
        groups: (n,) item of each row. The draws follow items in ascending order.
        n_permutations: B.
        seed: of the swaps.

    Returns:
        ``difference`` is mean(first) - mean(second); p two-sided, ``(b + 1) / (B + 1)``.

    Raises:
        ValueError: on unequal shapes or a value that is not finite.
    """
    a, b, items = np.asarray(first, float), np.asarray(second, float), np.asarray(groups)
    if a.ndim != 1 or not a.shape == b.shape == items.shape:
        raise ValueError(f"shapes differ (got {a.shape}, {b.shape}, {items.shape})")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("values must be finite")
    if len(a) == 0:
        return SwapTest(None, None, n_permutations, 0, "no rows")
    names, code = np.unique(items, return_inverse=True)
    one, two = (np.bincount(code, x)[None, :, None] for x in (a, b))
    keep = swap_signs(len(names), n_permutations, seed)
    return swap_test(one, two, lambda totals: totals[0, :, 0] / len(a), keep)
