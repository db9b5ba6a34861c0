"""How well scores separate and describe the labels: AUROC, AP, Brier score, ECE.

Labels are 1 (faithful), 0 (unfaithful) or -1 (unknown: left out and counted). Rows weigh equally;
equal scores are tied by value, so no figure depends on the order of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.measure import Measure, counts_by_value, known_rows

BINS = 10
MAX_CELLS = 4_000_000


def auroc(scores: ArrayLike, labels: ArrayLike) -> Measure:
    """Probability that a faithful trace outscores an unfaithful one, a tie counting one half.

    The Mann-Whitney rank formula, in [0, 1], higher is better; .5 is chance. Undefined unless
    both classes occur.

    Args:
        scores: (n,) finite, higher is more faithful.
        labels: (n,) 1, 0 or -1.

    Raises:
        ValueError: on bad shapes, scores or labels.
    """
    values, truth, excluded = known_rows("scores", scores, labels)
    if reason := _one_class(truth):
        return Measure(None, len(truth), int(truth.sum()), excluded, reason)
    _, rows, ones = counts_by_value(values, truth)
    zeros = rows - ones
    wins_twice = int((ones * (2 * (np.cumsum(zeros) - zeros) + zeros)).sum())
    n_one, n_zero = int(ones.sum()), int(zeros.sum())
    return Measure(wins_twice / (2 * n_one * n_zero), len(truth), n_one, excluded)


def auroc_draws(
    scores: ArrayLike, labels: ArrayLike, item: ArrayLike, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """AUROC in each resample of items: (B,), NaN where a class is not drawn.

    For :func:`faithshift_bench.stats.percentile_interval`; with the same weights, draws of two
    sets of scores may be subtracted, as in an interval of a transfer gap.

    Args:
        scores: (n,) finite, higher is more faithful.
        labels: (n,) 1, 0 or -1 (left out).
        item: (n,) column of ``weights`` that each row's item has.
        weights: (B, I) from :func:`faithshift_bench.stats.item_weights`.

    Raises:
        ValueError: on bad shapes, scores or labels, or an item without a column.
    """
    known_rows("scores", scores, labels)
    truth, column = np.asarray(labels), np.asarray(item)
    if column.shape != truth.shape or not np.isin(column, np.arange(weights.shape[1])).all():
        raise ValueError(f"item must be of shape {truth.shape}, in 0..{weights.shape[1] - 1}")
    rows = np.flatnonzero(truth >= 0)
    result = np.full(len(weights), np.nan)
    if len(rows) == 0:
        return result
    rows = rows[np.lexsort((column[rows], truth[rows], np.asarray(scores)[rows]))]
    values, one = np.asarray(scores, dtype=float)[rows], truth[rows] == 1
    first = np.flatnonzero(np.diff(values, prepend=-np.inf) > 0)
    block = max(1, MAX_CELLS // len(rows))
    for start in range(0, len(weights), block):
        drawn = weights[start : start + block][:, column[rows]]
        ones = np.add.reduceat(drawn * one, first, axis=1)
        zeros = np.add.reduceat(drawn * ~one, first, axis=1)
        wins = (ones * (np.cumsum(zeros, axis=1) - zeros / 2)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            result[start : start + block] = wins / (ones.sum(axis=1) * zeros.sum(axis=1))
    return result


def average_precision(scores: ArrayLike, labels: ArrayLike, *, positive: int = 1) -> Measure:
    """Average precision: sum of precision times the step in recall over distinct scores.

    In [0, 1], higher is better; chance is the share of the positive class. Not interpolated.
    Undefined unless both classes occur.

    Args:
        scores: (n,) finite, higher is more faithful.
        labels: (n,) 1, 0 or -1.
        positive: the class to be found: 1 from the highest score, 0 from the lowest.

    Raises:
        ValueError: on bad shapes, scores, labels or ``positive``.
    """
    if positive not in (0, 1):
        raise ValueError(f"positive must be 0 or 1 (got {positive!r})")
    values, truth, excluded = known_rows("scores", scores, labels)
    n_positive = int((truth == positive).sum())
    if reason := _one_class(truth):
        return Measure(None, len(truth), n_positive, excluded, reason)
    _, rows, ones = counts_by_value(values, truth)
    found = ones[::-1] if positive else rows - ones
    seen = np.cumsum(rows[::-1] if positive else rows)
    value = float((found * np.cumsum(found) / seen).sum() / n_positive)
    return Measure(value, len(truth), n_positive, excluded)


def brier(scores: ArrayLike, labels: ArrayLike) -> Measure:
    """Brier score: mean of (score - label)^2, in [0, 1], lower is better; .25 for a constant .5.

    Args:
        scores: (n,) in [0, 1], the probability that a trace is faithful.
        labels: (n,) 1, 0 or -1.

    Raises:
        ValueError: on bad shapes, scores or labels.
    """
    values, truth, excluded = known_rows("scores", scores, labels, unit=True)
    if len(truth) == 0:
        return Measure(None, 0, 0, excluded, "no labelled rows")
    value = float(((values - truth) ** 2).mean())
    return Measure(value, len(truth), int(truth.sum()), excluded)


def calibration_error(scores: ArrayLike, labels: ArrayLike, *, bins: int = BINS) -> Measure:
    """Expected calibration error: mean over rows of |mean score - share faithful| of their bin.

    Bins of equal width are (k/bins, (k+1)/bins], the first with 0, as a verdict is
    ``score > tau``; empty bins have no weight. In [0, 1], lower is better.

    Args:
        scores: (n,) in [0, 1], the probability that a trace is faithful.
        labels: (n,) 1, 0 or -1.
        bins: number of bins.

    Raises:
        ValueError: on bad shapes, scores or labels, or fewer than one bin.
    """
    if bins < 1:
        raise ValueError(f"bins must be 1 or more (got {bins})")
    values, truth, excluded = known_rows("scores", scores, labels, unit=True)
    if len(truth) == 0:
        return Measure(None, 0, 0, excluded, "no labelled rows")
    code = np.searchsorted(np.arange(1, bins) / bins, values, side="left")
    gap = np.bincount(code, weights=values - truth, minlength=bins)
    return Measure(float(np.abs(gap).sum() / len(truth)), len(truth), int(truth.sum()), excluded)


def _one_class(truth: NDArray[np.int64]) -> str | None:
    if len(truth) == 0:
        return "no labelled rows"
    return "one class among the labelled rows" if truth.min() == truth.max() else None
