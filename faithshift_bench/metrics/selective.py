"""Selective prediction: risk against coverage, and the areas under that curve.

A row is committed where its confidence reaches a threshold. Rows of equal confidence are committed
together: the curve has one point a distinct confidence, and the areas are means over all orders of
tied rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.measure import Measure, counts_by_value, known_rows
from faithshift_bench.metrics.verdicts import select
from faithshift_bench.stats import exact_interval, item_weights, percentile_interval
from faithshift_bench.stats.intervals import Interval


@dataclass(frozen=True)
class RiskCoverage:
    """A risk-coverage curve of V points, from the highest threshold (least coverage) down.

    Attributes:
        threshold: (V,) distinct confidences, descending.
        coverage: (V,) share of the rows committed, in (0, 1], ascending.
        risk: (V,) share of the committed rows that are wrong, in [0, 1].
        n_selected: (V,) rows committed.
        n_errors: (V,) of them wrong.
        n_excluded: rows whose error is unknown.
    """

    threshold: NDArray[np.float64]
    coverage: NDArray[np.float64]
    risk: NDArray[np.float64]
    n_selected: NDArray[np.int64]
    n_errors: NDArray[np.int64]
    n_excluded: int


def risk_coverage(confidence: ArrayLike, errors: ArrayLike) -> RiskCoverage:
    """The empirical curve, neither smoothed nor interpolated; rows weigh equally.

    Args:
        confidence: (n,) finite, higher is surer.
        errors: (n,) 1 wrong, 0 right, -1 unknown (left out and counted).

    Returns:
        The curve; it has no points where no error is known.

    Raises:
        ValueError: on bad shapes, confidences or errors.
    """
    values, wrong, excluded = known_rows("confidence", confidence, errors)
    distinct, rows, ones = counts_by_value(values, wrong)
    n_selected, n_errors = np.cumsum(rows[::-1]), np.cumsum(ones[::-1])
    return RiskCoverage(
        distinct[::-1],
        n_selected / max(len(wrong), 1),
        n_errors / n_selected,
        n_selected,
        n_errors,
        excluded,
    )


def aurc(confidence: ArrayLike, errors: ArrayLike) -> Measure:
    """Area under the risk-coverage curve: mean over k of the risk of the k surest rows.

    In [0, 1], lower is better; the error rate where confidence says nothing. Geifman, Uziel and
    El-Yaniv (2019), averaged over all orders of tied rows: a tie of ranks a+1..b with e errors,
    after E errors, adds ``e + (E - a e / (b - a)) (H_b - H_a)``, H the harmonic numbers.

    Args:
        confidence: (n,) finite, higher is surer.
        errors: (n,) 1 wrong, 0 right, -1 unknown (left out and counted).

    Raises:
        ValueError: on bad shapes, confidences or errors.
    """
    curve = risk_coverage(confidence, errors)
    if len(curve.risk) == 0:
        return _no_rows(curve)
    n = int(curve.n_selected[-1])
    start, seen, tied, wrong = _ties(curve)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])
    steps = harmonic[curve.n_selected] - harmonic[start]
    value = float((wrong + (seen - start * wrong / tied) * steps).sum() / n)
    return Measure(value, n, int(curve.n_errors[-1]), curve.n_excluded)


def augrc(confidence: ArrayLike, errors: ArrayLike) -> Measure:
    """Area under the generalised curve: P(committed and wrong) against coverage.

    In [0, 1/2], lower is better; half the error rate where confidence says nothing. Traub et al.
    (2024), with straight lines from (0, 0) through the points of the curve, which is the mean over
    all orders of tied rows; equal to ``a (1 - a) (1 - AUROC) + (1 - a)^2 / 2`` with accuracy a and
    the AUROC of confidence for being right.

    Args:
        confidence: (n,) finite, higher is surer.
        errors: (n,) 1 wrong, 0 right, -1 unknown (left out and counted).

    Raises:
        ValueError: on bad shapes, confidences or errors.
    """
    curve = risk_coverage(confidence, errors)
    if len(curve.risk) == 0:
        return _no_rows(curve)
    n = int(curve.n_selected[-1])
    _, seen, tied, wrong = _ties(curve)
    value = int((tied * (2 * seen + wrong)).sum()) / (2 * n * n)
    return Measure(value, n, int(curve.n_errors[-1]), curve.n_excluded)


def isotonic_risk(curve: RiskCoverage) -> NDArray[np.float64]:
    """The risks of a curve made non-decreasing in coverage: (V,), a named extra for plots.

    Least squares, each point weighing its share of new rows; it estimates nothing that a
    certificate may rest on. S Fig. 9 shows such a curve.
    """
    if len(curve.risk) == 0:
        return curve.risk
    from sklearn.isotonic import IsotonicRegression

    weight = np.diff(curve.n_selected, prepend=0)
    fitted = IsotonicRegression().fit_transform(curve.coverage, curve.risk, sample_weight=weight)
    return np.asarray(fitted, dtype=float)


def risk_band(
    confidence: ArrayLike,
    errors: ArrayLike,
    thresholds: ArrayLike,
    groups: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> list[Interval | None]:
    """Bootstrap interval of the risk at each of K thresholds, each for itself; items resampled.

    Exact on items where the risk is 0 or 1; ``None`` where nothing is committed.

    Args:
        confidence: (n,) finite.
        errors: (n,) 1 wrong, 0 right, -1 unknown (left out).
        thresholds: (K,).
        groups: (n,) item of each row.
        strata: (n,) stratum of each row's item; one where omitted.
        level: of the interval, in (0, 1).
        n_resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ValueError: on bad shapes, confidences or errors.
    """
    known_rows("confidence", confidence, errors)
    wrong, names = np.asarray(errors), np.asarray(groups)
    if names.shape != wrong.shape:
        raise ValueError(f"groups must be of shape {wrong.shape} (got {names.shape})")
    keep = wrong >= 0
    chosen = select(np.asarray(confidence)[keep, None], np.asarray(thresholds, float)[None, :])
    items, first, code = np.unique(names[keep], return_index=True, return_inverse=True)
    sums = np.zeros((2, len(items), chosen.shape[1]))
    np.add.at(sums[0], code, chosen * wrong[keep, None])
    np.add.at(sums[1], code, chosen)
    layer = np.zeros(len(items)) if strata is None else np.asarray(strata)[keep][first]
    weights = item_weights(layer, n_resamples, seed)
    with np.errstate(invalid="ignore"):
        draws = (weights @ sums[0]) / (weights @ sums[1])
    band: list[Interval | None] = []
    for k, (bad, n) in enumerate(zip(*sums.sum(axis=1), strict=True)):
        n_items = int((sums[1][:, k] > 0).sum())
        flat = bad in (0, n)
        exact = exact_interval(n_items if bad else 0, n_items, level)
        band.append(exact if flat else percentile_interval(draws[:, k], level))
    return band


def _ties(curve: RiskCoverage) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Of each tie: rows and errors before it, rows and errors in it."""
    tied = np.diff(curve.n_selected, prepend=0)
    wrong = np.diff(curve.n_errors, prepend=0)
    return curve.n_selected - tied, curve.n_errors - wrong, tied, wrong


def _no_rows(curve: RiskCoverage) -> Measure:
    return Measure(None, 0, 0, curve.n_excluded, "no rows whose error is known")
