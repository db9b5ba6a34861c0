"""Which thresholds are tested, in which order, and at which level.

Thresholds and order are fixed before the calibration labels are seen: constants, or read off the
tune rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.risk.losses import ItemLosses
from faithshift_data.errors import InputError

MULTIPLICITY = ("bonferroni", "holm", "fixed_sequence")
GRIDS = ("k/20", "q5")
Q5_COVERAGES = (85, 70, 55, 40)


def threshold_grid(
    grid: str | ArrayLike | None, tune_confidence: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """The thresholds (K,), ascending and distinct.

    Args:
        grid: ``k/20`` (0, .05, ..., .95; the default), ``q5`` (0 and the tune confidences that
            select at least 85, 70, 55 and 40 % of the tune rows), or thresholds in [0, 1].
        tune_confidence: (n,) confidences of the tune rows; needed by ``q5``.

    Raises:
        ValueError: on an unknown grid, missing tune rows, or thresholds outside [0, 1].
    """
    if grid is None or (isinstance(grid, str) and grid == "k/20"):
        return np.array([k / 20 for k in range(20)])
    if isinstance(grid, str):
        if grid != "q5":
            expected = f"{' | '.join(GRIDS)} | numbers in [0, 1]"
            raise InputError("unknown grid", field="grid", expected=expected, got=grid)
        if tune_confidence is None or len(tune_confidence) == 0:
            raise InputError("grid q5 needs labelled tune rows", field="grid")
        # Order statistics, so that the grid follows any monotone map of the confidence.
        ordered = np.sort(tune_confidence)
        ranks = [len(ordered) * (100 - share) // 100 for share in Q5_COVERAGES]
        return np.unique(np.concatenate([[0.0], ordered[ranks]]))
    values = np.unique(np.asarray(grid, dtype=float))
    if len(values) == 0 or not ((values >= 0) & (values <= 1)).all():
        raise InputError("bad thresholds", field="grid", expected="numbers in [0, 1]", got=grid)
    return values


def order_on_tune(tune: ItemLosses, alpha: float) -> NDArray[np.intp]:
    """Thresholds from the most to the least promising on tune: (K,) indices.

    Ascending ``z = mean(a_i) / se(a_i)`` with ``a_i = wrong - alpha * selected``; ties go to the
    lower threshold. Without spread, z is minus infinity where the mean is negative, else plus.
    """
    loss = tune.wrong - alpha * tune.selected
    n = len(loss)
    mean = loss.mean(axis=0)
    spread = loss.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(loss.shape[1])
    # Equal losses can leave a spread of rounding errors.
    flat = spread < 1e-12
    z = np.where(flat, np.where(mean < 0, -np.inf, np.inf), mean / np.where(flat, 1.0, spread))
    return np.lexsort((np.arange(len(z)), np.round(z, 12)))


def spent_level(multiplicity: str, delta: float, n_thresholds: int) -> float:
    """Level of the first test: ``delta / K`` (bonferroni, holm) or ``delta`` (fixed_sequence).

    Raises:
        ValueError: on an unknown procedure.
    """
    if multiplicity not in MULTIPLICITY:
        expected = " | ".join(MULTIPLICITY)
        raise InputError(
            "unknown procedure", field="multiplicity", expected=expected, got=multiplicity
        )
    return delta if multiplicity == "fixed_sequence" else delta / n_thresholds


def holm_levels(p_values: NDArray[np.float64], delta: float) -> NDArray[np.float64]:
    """Level spent on each threshold by Holm's step-down, (..., K) like ``p_values``.

    The j-th smallest of K p-values (from 0) is tested at ``delta / (K - j)``. After the first
    failure nothing is tested, so the level stays there; a threshold is certified iff its p-value
    is at most its level.
    """
    n_thresholds = p_values.shape[-1]
    order = p_values.argsort(axis=-1, kind="stable")
    ladder = delta / (n_thresholds - np.arange(n_thresholds))
    passed = np.logical_and.accumulate(np.take_along_axis(p_values, order, -1) <= ladder, axis=-1)
    reached = np.minimum(passed.sum(axis=-1, keepdims=True), n_thresholds - 1)
    levels = np.empty_like(p_values)
    np.put_along_axis(levels, order, np.minimum(ladder, ladder[reached]), -1)
    return levels


def rejections(
    p_values: NDArray[np.float64],
    level: float | NDArray[np.float64],
    order: NDArray[np.intp] | None,
) -> NDArray[np.bool_]:
    """Which thresholds are certified, (..., K) like ``p_values``; ``level`` is one or like them.

    With an ``order`` testing stops at the first failure; without one each stands alone.
    """
    passed = p_values <= level
    if order is None:
        return passed
    result = np.zeros_like(passed)
    result[..., order] = np.logical_and.accumulate(passed[..., order], axis=-1)
    return result
