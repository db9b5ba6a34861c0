"""Exact intervals of a proportion of independent items."""

from __future__ import annotations

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
    if not 0 <= count <= n:
        raise ValueError(f"count must lie in 0..n (got {count} of {n})")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie in (0, 1) (got {confidence})")
    if n == 0:
        return None
    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else float(special.betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(special.betainccinv(count + 1, n - count, tail))
    return low, high
