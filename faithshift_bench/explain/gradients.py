"""Integrated gradients: contributions of the inputs that add up to the difference in log-odds.

Sundararajan, Taly and Yan (2017), eq. 1 and proposition 1 (completeness), along the straight line
from the baseline. A linear function needs one point; a network as many as its kinks ask for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.explain.inputs import Differentiable
from faithshift_data.errors import InputError

POINTS = (8, 32, 128, 512)
# What contributions may miss of the difference: a share of it, or so many log-odds.
SHARE, LEAST = 0.01, 0.001


@dataclass(frozen=True)
class Contributions:
    """What each input adds to the log-odds.

    Attributes:
        values: (k,), in log-odds.
        log_odds: of the trace.
        baseline: log-odds at the baseline.
        error: how far the values, added up, are from ``log_odds - baseline``; at most
            ``tolerance``.
        tolerance: in log-odds.
        points: on the line, at which gradients were taken.
    """

    values: NDArray[np.float64]
    log_odds: float
    baseline: float
    error: float
    tolerance: float
    points: int


def integrated_gradients(found: Differentiable) -> Contributions:
    """Contributions at the fewest points, of 8, 32, 128 and 512, that are complete.

    Raises:
        InputError: the function gives arrays of another shape or numbers that are not finite, or
            even the most points do not make the contributions complete.
    """
    start, end = (np.asarray(x, np.float64) for x in (found.baseline, found.inputs))
    if not start.shape == end.shape == (len(found.features),):
        expected = f"({len(found.features)},), one a feature"
        got = f"{end.shape}, baseline {start.shape}"
        raise InputError("wrong shape", field="inputs", expected=expected, got=got)
    ends, _ = _evaluate(found, np.stack([start, end]))
    difference = float(ends[1] - ends[0])
    tolerance = max(SHARE * abs(difference), LEAST)
    for points in POINTS:
        place, weight = np.polynomial.legendre.leggauss(points)
        line = start + (place[:, None] + 1) / 2 * (end - start)
        values = (end - start) * (weight / 2 @ _evaluate(found, line)[1])
        error = abs(float(values.sum()) - difference)
        if error <= tolerance:
            return Contributions(values, float(ends[1]), float(ends[0]), error, tolerance, points)
    message = "contributions do not add up to the score, so there is no explanation"
    expected = f"within {tolerance:.4f} log-odds of {difference:.4f}"
    raise InputError(message, field="completeness", expected=expected, got=f"{error:.4f} away")


def _evaluate(
    found: Differentiable, points: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    values, gradients = (np.asarray(x, np.float64) for x in found.value_and_gradient(points))
    if values.shape != points.shape[:1] or gradients.shape != points.shape:
        expected = f"{points.shape[:1]} and {points.shape}"
        got = f"{values.shape} and {gradients.shape}"
        raise InputError("wrong shape", field="value_and_gradient", expected=expected, got=got)
    if not (np.isfinite(values).all() and np.isfinite(gradients).all()):
        raise InputError("not finite", field="value_and_gradient")
    return values, gradients
