"""Resamples of the questions, shared by every score, and what is computed on all of them at once.

The question is the independent unit. A resample is a row of weights, so a score is a ratio of
weighted sums; undefined draws are NaN and are counted, never 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.agreement.metrics import Parts
from faithshift_bench.stats import exact_interval, item_weights, percentile_interval
from faithshift_bench.stats.bootstrap import MAX_UNDEFINED
from faithshift_bench.stats.intervals import Interval

Floats = NDArray[np.float64]
TIE = 1e-12


def question_weights(n_questions: int, n_resamples: int, seed: int) -> Floats:
    """(B, Q): how often each question is drawn; questions in ascending order of id."""
    return item_weights(np.zeros(n_questions, np.int8), n_resamples, seed)


def score_draws(parts: Parts, weights: Floats) -> Floats:
    """Scores (B, M) of a variant on every resample."""
    sums = parts.sums
    # Whole numbers below 2**53: the product is exact, and equal scores are equal floats.
    totals = np.einsum("bq,kmq->bkm", weights, sums, optimize=True)
    return parts.combine(totals)


def pair_signs(scores: Floats) -> Floats:
    """Sign of score i minus score j for all i < j: (..., P); NaN where either is undefined."""
    first, second = np.triu_indices(scores.shape[-1], 1)
    gaps = scores[..., first] - scores[..., second]
    return np.where(np.abs(gaps) <= TIE, 0.0, np.sign(gaps))


def tau_b(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b of two rankings of the same models on every resample.

    Args:
        first: (..., M) scores; a model that is NaN on either side is left out of that row.
        second: (..., M).

    Returns:
        (...,) in [-1, 1]; NaN where a side is constant, or under two models are left.
    """
    a, b = pair_signs(first), pair_signs(second)
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = np.where(known, a, 0.0), np.where(known, b, 0.0)
    scale = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(scale > 0, (a * b).sum(-1) / scale, np.nan)
    return np.clip(found, -1.0, 1.0)


def preference(draws: Floats) -> Floats:
    """P(score i > score j) for all i < j over draws (B, M), ties half: (P,).

    NaN where more than 5% of the draws are undefined for the pair.
    """
    signs = pair_signs(draws)
    undefined = np.isnan(signs)
    share = np.where(undefined, 0.0, (signs + 1) / 2).sum(0)
    defined = (~undefined).sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(undefined.mean(0) <= MAX_UNDEFINED, share / defined, np.nan)


def kappa_of(counts: Floats) -> Floats:
    """Cohen's kappa from counts (..., 4) of (0,0), (0,1), (1,0), (1,1); NaN where undefined."""
    n = counts.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (counts[..., 0] + counts[..., 3]) / n
        p, q = (counts[..., 2] + counts[..., 3]) / n, (counts[..., 1] + counts[..., 3]) / n
        chance = p * q + (1 - p) * (1 - q)
        # A constant rater has no kappa, however the rounding of its margin comes out.
        varied = (p > 0) & (p < 1) & (q > 0) & (q < 1)
        return np.where(varied, (observed - chance) / (1 - chance), np.nan)


def kappa_interval(cells: Floats, weights: Floats) -> Interval | None:
    """95% interval of a kappa over questions.

    Raters who always (or never) agree do so in every resample, however few they are; the interval
    is then that of the exact binomial one of their raw agreement, on questions.

    Args:
        cells: (Q, 4) counts of (0,0), (0,1), (1,0), (1,1) by question.
        weights: (B, Q) resamples.

    Returns:
        None where kappa, or more than 5% of its draws, is undefined.
    """
    total = cells.sum(0)
    if np.isnan(kappa_of(total)):
        return None
    same = total[0] + total[3]
    if same not in (0, total.sum()):
        return percentile_interval(kappa_of(weights @ cells))
    n = int((cells.sum(1) > 0).sum())
    low, high = exact_interval(n if same else 0, n) or (0.0, 1.0)
    p, q = (total[[2, 3]].sum() / total.sum(), total[[1, 3]].sum() / total.sum())
    chance = float(p * q + (1 - p) * (1 - q))
    return (low - chance) / (1 - chance), (high - chance) / (1 - chance)
