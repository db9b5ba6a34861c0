"""The three assumptions of S Theorem 4.6 as figures, S table 20."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.stats import percentile_interval
from faithshift_bench.stats.intervals import Interval

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
THRESHOLDS = {"local": 0.10, "symmetry": 0.05, "independence": 0.20}
HOLDS, FAILS, UNDEFINED = "holds", "fails", "undefined"


@dataclass(frozen=True)
class Diagnostic:
    """One assumption: its statistic, where it should lie, and whether it does (S table 20).

    - ``local``: mean square of the remainder over that of gamma Delta, among the fifth of the
      changed pairs with the smallest |Delta|; at most 0.10.
    - ``symmetry``: |P(Delta > 0) - P(Delta < 0)|; at most 0.05.
    - ``independence``: |corr(|Delta|, |m|)|; at most 0.20.
    """

    name: str
    value: float | None
    interval: Interval | None
    threshold: float

    @property
    def verdict(self) -> str:
        """``holds`` or ``fails`` by the point estimate, as published; ``undefined``."""
        if self.value is None:
            return UNDEFINED
        return HOLDS if self.value <= self.threshold else FAILS


def diagnose(
    margin: Floats, change: Floats, first: Floats, rest: Floats, weights: Floats
) -> tuple[Diagnostic, ...]:
    """The three diagnostics on pairs.

    Args:
        margin: (p,) margin m of the anchors.
        change: (p,) Delta.
        first: (p,) gamma Delta.
        rest: (p,) the remainder r.
        weights: (B, p) weights of the pairs in each resample; B = 0 leaves intervals out.
    """
    statistics: dict[str, Statistic] = {
        "local": _local(first, rest, change),
        "symmetry": lambda w: np.abs(weighted_mean(w, np.sign(change))),
        "independence": _correlation(np.abs(change), np.abs(margin)),
    }
    found = []
    for name, statistic in statistics.items():
        value = float(statistic(np.ones((1, len(margin))))[0])
        found.append(
            Diagnostic(
                name,
                None if math.isnan(value) else value,
                percentile_interval(statistic(weights)),
                THRESHOLDS[name],
            )
        )
    return tuple(found)


def weighted_mean(weights: Floats, values: NDArray) -> Floats:
    """(B,) means of values (p,) under weights (B, p), each row of which has some weight."""
    return (weights @ values) / weights.sum(axis=1)


def _local(first: Floats, rest: Floats, change: Floats) -> Statistic:
    moved = change != 0
    near = np.zeros(len(change), dtype=bool)
    if moved.any():
        near = moved & (np.abs(change) <= np.quantile(np.abs(change[moved]), 0.2))
    return lambda w: _ratio(w @ (near * rest**2), w @ (near * first**2))


def _correlation(x: Floats, y: Floats) -> Statistic:
    # A constant has no correlation; centring first keeps the moments from cancelling digits.
    constant = np.ptp(x) == 0 or np.ptp(y) == 0
    x, y = x - x.mean(), y - y.mean()

    def statistic(w: Floats) -> Floats:
        mx, my = weighted_mean(w, x), weighted_mean(w, y)
        vx = weighted_mean(w, x * x) - mx * mx
        vy = weighted_mean(w, y * y) - my * my
        both = np.zeros(len(w)) if constant else np.sqrt(np.maximum(vx, 0) * np.maximum(vy, 0))
        return np.abs(_ratio(weighted_mean(w, x * y) - mx * my, both))

    return statistic


def _ratio(above: Floats, below: Floats) -> Floats:
    """(B,) quotients; NaN where the divisor is 0."""
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
