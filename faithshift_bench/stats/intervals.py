"""Intervals of a proportion of independent items."""

from __future__ import annotations

import math

from scipy import special

Interval = tuple[float, float]


def exact_interval(count: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Two-sided Clopper-Pearson interval of ``count`` of ``n`` independent items.

    Args:
        count: items with the property, ``0 <= count <= n``.
        n: independent items.
        confidence: in (0, 1).

    Returns:
        ``(low, high)`` in [0, 1]; ``None`` where ``n`` is 0 (undefined).

    Raises:
        ValueError: on counts or a confidence out of range.
    """
    _check(count, n, confidence)
    if n == 0:
        return None
    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else float(special.betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(special.betainccinv(count + 1, n - count, tail))
    return low, high


def wilson_interval(count: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Two-sided Wilson score interval of ``count`` of ``n`` independent items.

    Near its level on average, shorter than :func:`exact_interval`, and without that guarantee: no
    certificate rests on it. Arguments, result and errors as there.
    """
    _check(count, n, confidence)
    if n == 0:
        return None
    z2 = float(special.ndtri(0.5 + confidence / 2)) ** 2
    middle = (count + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (count * (n - count) / n + z2 / 4)) / (n + z2)
    low = 0.0 if count == 0 else max(0.0, middle - half)
    high = 1.0 if count == n else min(1.0, middle + half)
    return low, high


def _check(count: int, n: int, confidence: float) -> None:
    if not 0 <= count <= n:
        raise ValueError(f"count must lie in 0..n (got {count} of {n})")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie in (0, 1) (got {confidence})")
