"""AUROC with its interval over resampled items: how well scores tell the labels apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.ranking import auroc, auroc_draws
from faithshift_bench.stats.bootstrap import item_weights, percentile_interval


def separation(
    scores: ArrayLike,
    labels: NDArray,
    items: NDArray,
    *,
    confidence: float = 0.95,
    n_resamples: int = 1000,
) -> dict[str, Any]:
    """AUROC of scores, the mean over seeds where there are several.

    Args:
        scores: (n,) or (seeds, n), finite, higher is more faithful.
        labels: (n,) 1, 0 or -1 (left out).
        items: (n,) the independent unit of each row.
        confidence: of the interval.
        n_resamples: of the items; all seeds share the draws.

    Returns:
        ``auroc`` in [0, 1] (.5 is chance), ``low`` and ``high`` (None where undefined),
        ``n_traces`` and ``n_items`` with a label, and ``reason``: why there is no figure, or None.
    """
    rows = np.atleast_2d(np.asarray(scores, dtype=float))
    names, code = np.unique(items, return_inverse=True)
    values = [auroc(row, labels) for row in rows]
    weights = item_weights(np.zeros(len(names)), n_resamples, seed=0)
    draws = np.mean([auroc_draws(row, labels, code, weights) for row in rows], axis=0)
    low, high = percentile_interval(draws, confidence) or (None, None)
    known = [found.value for found in values if found.value is not None]
    return {
        "auroc": float(np.mean(known)) if known else None,
        "low": low,
        "high": high,
        "n_traces": int((labels >= 0).sum()),
        "n_items": len(set(code[labels >= 0].tolist())),
        "reason": values[0].reason,
    }


def no_separation(reason: str) -> dict[str, Any]:
    """What `separation` returns, where nothing could be scored."""
    empty = dict.fromkeys(("auroc", "low", "high"), None)
    return {**empty, "n_traces": 0, "n_items": 0, "reason": reason}
