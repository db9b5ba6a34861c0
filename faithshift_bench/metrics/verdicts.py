"""From scores to verdicts: the threshold, the margin around it, and abstention.

A verdict is 1 (faithful), 0 (unfaithful) or -1 (the detector abstains).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

TOLERANCE = 1e-12


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
    labels = np.asarray(labels)
    known = labels >= 0
    values, labels = np.asarray(scores, dtype=float)[known], labels[known]
    if len(values) == 0:
        return Threshold(0.5, "no labelled rows to set tau; .5 used")
    positives = np.sort(values[labels == 1])
    negatives = np.sort(values[labels == 0])
    if len(positives) == 0 or len(negatives) == 0:
        return Threshold(0.5, "one class among the rows that set tau; .5 used")
    distinct = np.unique(values)
    candidates = np.unique(np.concatenate([[0.0, 1.0], (distinct[1:] + distinct[:-1]) / 2]))
    true_pos = len(positives) - np.searchsorted(positives, candidates, side="right")
    false_pos = len(negatives) - np.searchsorted(negatives, candidates, side="right")
    # Integer form of J, so that equal J compare equal.
    merit = true_pos * len(negatives) - false_pos * len(positives)
    best = candidates[merit == merit.max()]
    distance = np.round(np.abs(best - 0.5), 12)
    return Threshold(float(best[distance == distance.min()].min()), None)


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
