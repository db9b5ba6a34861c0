"""The Meta-Faithfulness Score, S eq. 8, and the other summaries of IVR and AS."""

from __future__ import annotations

import math


def harmonic_mean(ivr: float, sensitivity: float) -> float:
    """Harmonic mean of invariance ``1 - ivr`` and ``sensitivity``; both in [0, 1], higher better.

    It is 0 where both are 0, the limit of the formula.

    Raises:
        ValueError: on a value outside [0, 1] or NaN.
    """
    _check("ivr", ivr)
    _check("sensitivity", sensitivity)
    invariance = 1.0 - ivr
    total = invariance + sensitivity
    return 0.0 if total == 0 else 2.0 * invariance * sensitivity / total


def meta_faithfulness_score(ivr: float, sensitivity: float, coverage: float) -> float:
    """S eq. 8: ``coverage * 2 (1 - IVR) AS / ((1 - IVR) + AS)``, in [0, 1], higher is better.

    Args:
        ivr: invariance-violation rate in [0, 1] on the certified subset, lower is better.
        sensitivity: alteration sensitivity AS in [0, 1] on the same subset.
        coverage: share of traces the detector commits on, in [0, 1].

    Raises:
        ValueError: on a value outside [0, 1] or NaN.
    """
    _check("coverage", coverage)
    return coverage * harmonic_mean(ivr, sensitivity)


def balanced_score(ivr: float, sensitivity: float) -> float:
    """S table 18: the geometric mean ``sqrt((1 - IVR) AS)``, in [0, 1], higher is better.

    Never below the harmonic mean.

    Raises:
        ValueError: on a value outside [0, 1] or NaN.
    """
    _check("ivr", ivr)
    _check("sensitivity", sensitivity)
    return math.sqrt((1.0 - ivr) * sensitivity)


def _check(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in [0, 1] (got {value})")
