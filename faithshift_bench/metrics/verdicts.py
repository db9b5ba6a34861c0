"""From scores to verdicts: the threshold, the margin around it, and abstention.

A verdict is 1 (faithful), 0 (unfaithful) or -1 (the detector abstains).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

TOLERANCE = 1e-12
RATES = ("false_alarm", "miss")


class Threshold(NamedTuple):
    """A verdict threshold ``tau`` and, where it could not be fitted, why (else ``None``)."""

    tau: float
    flag: str | None


def youden_threshold(scores: ArrayLike, labels: ArrayLike) -> Threshold:
    """The threshold that maximises Youden's J = TPR - FPR, with verdict ``score > tau``.

    Candidates are 0, 1 and the midpoints of adjacent distinct scores; ties go to the one nearest
    to .5, then to the lower.

    Args:
        scores: (n,) in [0, 1], the probability of a faithful trace.
        labels: (n,) 1, 0, or -1 where unknown (ignored).

    Returns:
        The threshold; .5 with a flag where the labelled rows hold one class or none.
    """
    candidates, false_alarms, misses, n_one, n_zero = _scan(scores, labels)
    if flag := _one_class(n_one, n_zero):
        return Threshold(0.5, flag)
    # Integer form of J, so that equal J compare equal.
    loss = false_alarms * n_zero + misses * n_one
    return Threshold(_nearest_half(candidates[loss == loss.min()]), None)


def rate_threshold(
    scores: ArrayLike, labels: ArrayLike, target: float, *, rate: str = "false_alarm"
) -> Threshold:
    """The threshold that keeps one error rate at or below ``target`` and the other least.

    Candidates and ties are those of :func:`youden_threshold`. The rate is the one on these rows;
    it carries no guarantee on others.

    Args:
        scores: (n,) in [0, 1], the probability of a faithful trace.
        labels: (n,) 1, 0, or -1 where unknown (ignored).
        target: highest rate, in [0, 1].
        rate: ``false_alarm``, the share of faithful traces called unfaithful, or ``miss``, the
            share of unfaithful traces called faithful.

    Returns:
        The threshold; .5 with a flag where the labelled rows hold one class or none; the one
        nearest to the target, with a flag, where none keeps it (a score of 0 is never faithful).

    Raises:
        ValueError: on a target out of range or an unknown rate.
    """
    if not 0 <= target <= 1:
        raise ValueError(f"target must lie in [0, 1] (got {target})")
    if rate not in RATES:
        raise ValueError(f"rate must be one of {RATES} (got {rate!r})")
    candidates, false_alarms, misses, n_one, n_zero = _scan(scores, labels)
    if flag := _one_class(n_one, n_zero):
        return Threshold(0.5, flag)
    kept, other, n = (
        (false_alarms, misses, n_one) if rate == "false_alarm" else (misses, false_alarms, n_zero)
    )
    allowed = kept <= target * n + TOLERANCE
    flag = None
    if not allowed.any():
        allowed = kept == kept.min()
        flag = f"no tau keeps the {rate} rate at {target:g}; the nearest is {kept.min() / n:.3g}"
    best = allowed & (other == other[allowed].min())
    return Threshold(_nearest_half(candidates[best]), flag)


def cost_threshold(cost_miss: float, cost_false_alarm: float) -> Threshold:
    """The threshold of least expected cost for calibrated scores: C_miss / (C_miss + C_alarm).

    Calling a trace of score s faithful costs ``(1 - s) C_miss``, calling it unfaithful ``s
    C_alarm``; so the dearer a miss, the *higher* tau. (S U.3 and A.1 say lower: contradicted.)

    Args:
        cost_miss: of calling an unfaithful trace faithful, 0 or more.
        cost_false_alarm: of calling a faithful trace unfaithful, 0 or more.

    Raises:
        ValueError: on a cost that is negative or not finite, or where both are 0.
    """
    total = cost_miss + cost_false_alarm
    if not (cost_miss >= 0 and cost_false_alarm >= 0 and 0 < total < float("inf")):
        raise ValueError(
            "costs must be finite, 0 or more, and not both 0 "
            f"(got {cost_miss} and {cost_false_alarm})"
        )
    return Threshold(cost_miss / total, None)


def margin(scores: ArrayLike, tau: float) -> NDArray[np.float64]:
    """Confidence of a verdict as its normalised distance from ``tau``, in [0, 1].

    ``(s - tau) / (1 - tau)`` above tau, ``(tau - s) / tau`` at or below it (0 where tau is 0),
    rounded to 1e-12.
    """
    values = np.asarray(scores, dtype=float)
    above = (values - tau) / (1 - tau) if tau < 1 else np.zeros_like(values)
    below = (tau - values) / tau if tau > 0 else np.zeros_like(values)
    return np.round(np.where(values > tau, above, below), 12).astype(np.float64)


def select(confidence: ArrayLike, threshold: float | ArrayLike) -> NDArray[np.bool_]:
    """Whether a verdict is committed: ``confidence >= threshold - 1e-12``."""
    return np.asarray(np.asarray(confidence) >= np.asarray(threshold) - TOLERANCE)


def _scan(
    scores: ArrayLike, labels: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp], int, int]:
    """Candidates (K,), false alarms and misses at each (K,), and the size of either class."""
    truth = np.asarray(labels)
    known = truth >= 0
    values, truth = np.asarray(scores, dtype=float)[known], truth[known]
    ones, zeros = np.sort(values[truth == 1]), np.sort(values[truth == 0])
    distinct = np.unique(values)
    candidates = np.unique(np.concatenate([[0.0, 1.0], (distinct[1:] + distinct[:-1]) / 2]))
    false_alarms = np.searchsorted(ones, candidates, side="right")
    misses = len(zeros) - np.searchsorted(zeros, candidates, side="right")
    return candidates, false_alarms, misses, len(ones), len(zeros)


def _one_class(n_one: int, n_zero: int) -> str | None:
    if n_one and n_zero:
        return None
    if n_one or n_zero:
        return "one class among the rows that set tau; .5 used"
    return "no labelled rows to set tau; .5 used"


def _nearest_half(candidates: NDArray[np.float64]) -> float:
    distance = np.round(np.abs(candidates - 0.5), 12)
    return float(candidates[distance == distance.min()].min())
