"""Cluster bootstrap: items are resampled within strata, as weights.

A resample is a row of item weights, so every statistic that is a ratio of item sums is
computed for all resamples by one matrix product, and all detectors share the draws.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.stats.intervals import Interval

MAX_UNDEFINED = 0.05


def item_weights(strata: ArrayLike, n_resamples: int, seed: int) -> NDArray[np.float64]:
    """How often each item is drawn in each resample, drawn within its stratum.

    Args:
        strata: (I,) stratum of each item, in item order. The draws depend on this order, so
            callers pass items sorted by id.
        n_resamples: B.
        seed: of the draws.

    Returns:
        (B, I) non-negative weights; each row sums, within a stratum, to its number of items.
    """
    labels = np.asarray(strata)
    rng = np.random.default_rng(seed)
    weights = np.zeros((n_resamples, len(labels)))
    offsets = np.arange(n_resamples)[:, None]
    for stratum in np.unique(labels):
        members = np.flatnonzero(labels == stratum)
        n = len(members)
        draws = rng.integers(0, n, size=(n_resamples, n)) + offsets * n
        counts = np.bincount(draws.ravel(), minlength=n_resamples * n)
        weights[:, members] = counts.reshape(n_resamples, n)
    return weights


def percentile_interval(
    draws: ArrayLike, confidence: float = 0.95, max_undefined: float = MAX_UNDEFINED
) -> Interval | None:
    """Percentile interval of bootstrap draws (B,); NaN marks a draw that is undefined.

    Returns:
        ``(low, high)``, or ``None`` where more than ``max_undefined`` of the draws (or all of
        them) are undefined.
    """
    values = np.asarray(draws, dtype=float)
    defined = values[~np.isnan(values)]
    if len(defined) == 0 or len(values) - len(defined) > max_undefined * len(values):
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def rate_draws(
    weights: NDArray[np.float64], hits: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Bootstrap draws of rates from their sums by item, with the spread of :func:`vary_ends`.

    Args:
        weights: (B, I), of :func:`item_weights`.
        hits: (..., I, A) hits of each item, by rate.
        counts: (..., I, A) what is counted of each item.

    Returns:
        (..., B, A); NaN where a resample counts nothing.
    """
    with np.errstate(invalid="ignore"):
        draws = (weights @ hits) / (weights @ counts)
        rates = hits.sum(axis=-2) / counts.sum(axis=-2)
    return vary_ends(draws, rates, (counts > 0).sum(axis=-2))


def vary_ends(
    draws: NDArray[np.float64], rates: NDArray[np.float64], n_items: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Draws of rates of which those of exactly 0 or 1 have the spread that resampling cannot show.

    Every resample of ``n`` items without the property is without it, although they say no more
    than that its rate is below the Clopper-Pearson bound ``1 - q^(1/n)``. Draws from Beta(1, n)
    have just these bounds as their upper quantiles; those of a rate of 1 are their mirror image.

    Args:
        draws: (..., B, A) bootstrap draws of A rates; NaN stays NaN.
        rates: (..., A) observed rates.
        n_items: (..., A) independent items behind each rate.

    Returns:
        (..., B, A) draws; one resample has the same quantile in all seeds.
    """
    level = np.random.default_rng(0).random(draws.shape[-2:])
    above = -np.expm1(np.log1p(-level) / np.maximum(n_items, 1)[..., None, :])
    rates = np.broadcast_to(rates[..., None, :], draws.shape)
    ends = np.where(rates == 0, above, np.where(rates == 1, 1 - above, draws))
    return np.where(np.isnan(draws), np.nan, ends)
