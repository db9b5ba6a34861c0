"""Does a ranking hold on other traces: those that all metrics score, and those not cut off?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.agreement.metrics import Parts
from faithshift_bench.agreement.ranking import (
    Ranking,
    RankTau,
    average_ranks,
    rank_models,
    rank_tau,
)
from faithshift_bench.agreement.settings import Settings
from faithshift_bench.agreement.study import Study
from faithshift_bench.board import counted

Bools = NDArray[np.bool_]
ROBUST, NOT_ROBUST, UNINTERPRETABLE, NOT_TESTED = (
    "robust",
    "not robust",
    "uninterpretable",
    "not tested",
)
ON_COMMON = "a trace that another metric does not count"
ON_WHOLE = "a model's trace of the question was cut off"


@dataclass(frozen=True)
class Robustness:
    """A ranking on a subset against the ranking on all traces.

    Attributes:
        metric: its name.
        outcome: robust (tau and shift within the limits), not robust, uninterpretable (a model
            has too few traces there), or not tested.
        tau: of the two rankings.
        shift: the most ranks by which a model moves; None where undefined.
        n_questions: of the subset.
        least, most: traces of a model that count there.
        reason: why it was not tested, or cannot be interpreted.
    """

    metric: str
    outcome: str
    tau: float | None
    shift: float | None
    n_questions: int
    least: int
    most: int
    reason: str | None


def common_rankings(
    parts: Mapping[str, Parts],
    variants: Mapping[str, str],
    study: Study,
    weights: NDArray[np.float64],
    min_traces: int,
) -> dict[str, Ranking]:
    """Each metric's ranking on the traces that all metrics count."""
    everywhere = np.logical_and.reduce([part.counted for part in parts.values()])
    return {
        metric: rank_models(
            metric,
            variants[metric],
            restrict(part, everywhere, ON_COMMON),
            study.models,
            weights,
            min_traces,
        )
        for metric, part in parts.items()
    }


def truncation(
    parts: Mapping[str, Parts],
    rankings: Mapping[str, Ranking],
    study: Study,
    weights: NDArray[np.float64],
    settings: Settings,
) -> list[Robustness]:
    """Each ranking again on the questions for which no model's hinted trace was cut off."""
    cut, unknown = study.truncated == 1, study.truncated < 0
    whole = ~(cut | unknown).any(0)
    found = []
    for metric, part in parts.items():
        if unknown.all():
            reason = "the table does not say which traces were cut off"
            found.append(Robustness(metric, NOT_TESTED, None, None, 0, 0, 0, reason))
            continue
        kept = restrict(part, np.broadcast_to(whole, study.shape), ON_WHOLE)
        scored = [m for m, each in enumerate(rankings[metric].models) if each.value is not None]
        n = kept.counted.sum(1)[scored]
        counts = (
            int(whole.sum()),
            int(n.min(initial=10**9)) if len(n) else 0,
            int(n.max(initial=0)),
        )
        if len(scored) == 0 or counts[1] < settings.min_traces:
            n_least = counted(counts[1], "trace")
            reason = f"a model has {n_least} there, at least {settings.min_traces} needed"
            found.append(Robustness(metric, UNINTERPRETABLE, None, None, *counts, reason))
            continue
        subset = rank_models(
            metric, rankings[metric].variant, kept, study.models, weights, settings.min_traces
        )
        tau, shift = compare(rankings[metric], subset)
        if tau.value is None or shift is None:
            found.append(Robustness(metric, UNINTERPRETABLE, None, shift, *counts, tau.reason))
            continue
        holds = tau.value >= settings.robust_tau and shift <= settings.robust_shift
        outcome = ROBUST if holds else NOT_ROBUST
        found.append(Robustness(metric, outcome, tau.value, shift, *counts, None))
    return found


def compare(full: Ranking, subset: Ranking) -> tuple[RankTau, float | None]:
    """tau-b of two rankings, and the most ranks that a model moves, over models that both score."""
    tau = rank_tau(full, subset, names=("all", "subset"))
    both = ~np.isnan(full.values) & ~np.isnan(subset.values)
    if not both.any():
        return tau, None
    moved = average_ranks(full.values[both]) - average_ranks(subset.values[both])
    return tau, float(np.abs(moved).max())


def restrict(parts: Parts, kept: Bools, reason: str) -> Parts:
    """The same parts on some traces alone; the others are excluded for a reason."""
    lost = parts.counted & ~kept
    excluded = {**parts.excluded, reason: lost} if lost.any() else dict(parts.excluded)
    return replace(parts, sums=parts.sums * kept, counted=parts.counted & kept, excluded=excluded)
