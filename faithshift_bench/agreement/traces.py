"""Do two metrics agree on single traces? Cohen's kappa with what it must be read beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.agreement.resampling import kappa_interval, kappa_of
from faithshift_bench.stats import percentile_interval
from faithshift_bench.stats.agreement import Agreement, rater_agreement
from faithshift_bench.stats.intervals import Interval

Floats = NDArray[np.float64]
Labels = Mapping[str, NDArray[np.int8]]
TYPES = ("instruct", "thinking")
POOLED, MODEL, GROUP = "pooled", "model", "group"


@dataclass(frozen=True)
class TraceAgreement:
    """Two metrics on the traces that both label.

    Attributes:
        first, second: the metrics.
        over: pooled, model or group.
        unit: "all", the model, or the subject of the questions.
        agreement: raw agreement, kappa, AC1, prevalence and counts.
        interval: of kappa, 95% over questions; None where undefined.
        faithful: share that each of the two calls faithful, among the traces that both label.
    """

    first: str
    second: str
    over: str
    unit: str
    agreement: Agreement
    interval: Interval | None
    faithful: tuple[float | None, float | None]


@dataclass(frozen=True)
class MeanKappa:
    """Mean of a model's kappas over pairs of metrics; undefined ones are dropped and counted."""

    model: str
    model_type: str
    value: float | None
    n_pairs: int
    n_dropped: int


@dataclass(frozen=True)
class TypeDifference:
    """Mean kappa of instruct models less that of thinking models, 95% over questions."""

    value: float | None
    interval: Interval | None
    n_instruct: int
    n_thinking: int
    reason: str | None


def trace_agreements(
    labels: Labels,
    models: Sequence[str],
    groups: Sequence[str],
    weights: Floats,
) -> list[TraceAgreement]:
    """Every pair of metrics: pooled over models, then by model, then by group of questions.

    Args:
        labels: metric -> (M, Q) labels 1, 0, -1.
        models: names (M,).
        groups: of the questions (Q,); "" is no group.
        weights: (B, Q) resamples.
    """
    found = []
    subjects = np.array(groups)
    for one, two in combinations(labels, 2):
        a, b = labels[one], labels[two]
        everywhere = np.ones(a.shape, bool)
        places = [(POOLED, "all", everywhere)]
        places += [
            (MODEL, model, everywhere & (np.arange(len(models)) == m)[:, None])
            for m, model in enumerate(models)
        ]
        places += [
            (GROUP, name, everywhere & (subjects == name)[None, :])
            for name in sorted(set(groups) - {""})
        ]
        for over, unit, where in places:
            x, y = np.where(where, a, -1), np.where(where, b, -1)
            both = (x >= 0) & (y >= 0)
            agreement = rater_agreement(x[where], y[where])
            span = kappa_interval(label_cells(x, y).sum(0), weights)
            shares = _faithful(x[both]), _faithful(y[both])
            found.append(TraceAgreement(one, two, over, unit, agreement, span, shares))
    return found


def mean_kappas(
    found: Sequence[TraceAgreement], models: Sequence[str], types: Sequence[str]
) -> list[MeanKappa]:
    """Each model's kappa, averaged over the pairs of metrics where it is defined."""
    means = []
    for model, kind in zip(models, types, strict=True):
        own = [
            each.agreement.kappa.value for each in found if (each.over, each.unit) == (MODEL, model)
        ]
        values = [kappa for kappa in own if kappa is not None]
        mean = float(np.mean(values)) if values else None
        means.append(MeanKappa(model, kind, mean, len(values), len(own) - len(values)))
    return means


def type_difference(labels: Labels, means: Sequence[MeanKappa], weights: Floats) -> TypeDifference:
    """Instruct less thinking, over the models and pairs of metrics whose kappa is defined."""
    sides = {
        kind: [
            m for m, mean in enumerate(means) if mean.model_type == kind and mean.value is not None
        ]
        for kind in TYPES
    }
    sizes = len(sides["instruct"]), len(sides["thinking"])
    if not all(sizes):
        return TypeDifference(None, None, *sizes, _no_sides(means))
    value = _side_mean(sides["instruct"], means) - _side_mean(sides["thinking"], means)
    draws = [
        kappa_of(
            np.einsum("bq,mqk->bmk", weights, label_cells(labels[one], labels[two]), optimize=True)
        )
        for one, two in combinations(labels, 2)
    ]
    # A pair that is undefined on the whole sample is dropped from every draw, too.
    kappas = np.stack(draws)
    whole = np.stack(
        [
            kappa_of(label_cells(labels[one], labels[two]).sum(1))
            for one, two in combinations(labels, 2)
        ]
    )
    kept = ~np.isnan(whole)
    masked = np.where(kept[:, None, :], kappas, 0.0).sum(0) / np.maximum(kept.sum(0), 1)
    moved = masked[:, sides["instruct"]].mean(1) - masked[:, sides["thinking"]].mean(1)
    return TypeDifference(value, percentile_interval(moved), *sizes, None)


def _no_sides(means: Sequence[MeanKappa]) -> str:
    """Why instruct and thinking models cannot be told apart, or compared."""
    reasons = []
    for kind in TYPES:
        own = [mean for mean in means if mean.model_type == kind]
        if not own:
            reasons.append(f"no model is said to be {kind}")
        elif all(mean.value is None for mean in own):
            reasons.append(f"no {kind} model has a kappa")
    return " and ".join(reasons)


def _side_mean(side: Sequence[int], means: Sequence[MeanKappa]) -> float:
    return float(np.mean([means[m].value for m in side]))


def _faithful(labels: NDArray[np.int8]) -> float | None:
    return float((labels == 1).mean()) if labels.size else None


def label_cells(x: NDArray[np.int8], y: NDArray[np.int8]) -> Floats:
    """(M, Q, 4) indicators of (0,0), (0,1), (1,0), (1,1)."""
    known = (x >= 0) & (y >= 0)
    place = np.where(known, 2 * np.maximum(x, 0) + np.maximum(y, 0), -1)
    return (place[..., None] == np.arange(4)).astype(float)
