"""Multiple testing: Benjamini-Hochberg, with undefined p-values dropped and reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Adjusted:
    """Adjusted p-values in the order given, None where the p-value was undefined.

    ``n_tests`` counts the defined ones, which form the family; ``dropped`` holds the positions of
    the others.
    """

    values: tuple[float | None, ...]
    n_tests: int
    dropped: tuple[int, ...]


def benjamini_hochberg(p_values: Sequence[float | None]) -> Adjusted:
    """Adjusted p-values that control the false discovery rate (Benjamini and Hochberg, 1995).

    ``q_(i) = min_{j >= i} m p_(j) / j``, at most 1; equal adjusted values are right.

    Args:
        p_values: in [0, 1]; None or NaN where undefined.

    Raises:
        ValueError: on a value outside [0, 1].
    """
    raw = np.array([np.nan if p is None else p for p in p_values], dtype=float)
    defined = np.flatnonzero(~np.isnan(raw))
    p = raw[defined]
    if ((p < 0) | (p > 1)).any():
        raise ValueError("p-values must lie in [0, 1]")
    m = len(p)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * m / np.arange(1, m + 1)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    values: list[float | None] = [None] * len(raw)
    for position, value in zip(defined, adjusted, strict=True):
        values[position] = float(value)
    return Adjusted(tuple(values), m, tuple(int(i) for i in np.flatnonzero(np.isnan(raw))))
