"""Scores of models, rankings, their agreement, and the pairs of models that reverse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.agreement.metrics import Parts, ratio
from faithshift_bench.agreement.resampling import preference, score_draws, tau_b
from faithshift_bench.board import counted
from faithshift_bench.metrics.rates import rate_interval
from faithshift_bench.stats import percentile_interval
from faithshift_bench.stats.agreement import kendall_tau_b
from faithshift_bench.stats.intervals import Interval

Floats = NDArray[np.float64]
LEVELS = tuple(round(0.50 + 0.01 * step, 2) for step in range(1, 51))


@dataclass(frozen=True)
class ModelScore:
    """One model under one metric.

    Attributes:
        model: its name.
        value: share in [0, 1]; None, with a ``reason``, where undefined.
        interval: 95% over questions; exact where a share is 0 or 1.
        n: traces that count.
        rank: from 1, the mean of their ranks for models that tie; None without a score.
        excluded: reason -> traces.
        reason: why there is no score.
    """

    model: str
    value: float | None
    interval: Interval | None
    n: int
    rank: float | None
    excluded: Mapping[str, int]
    reason: str | None


@dataclass(frozen=True)
class Ranking:
    """All models under one metric, and their scores on every resample (B, M), NaN undefined."""

    metric: str
    variant: str
    models: tuple[ModelScore, ...]
    draws: Floats

    @property
    def values(self) -> Floats:
        """Scores (M,); NaN where undefined."""
        return np.array([np.nan if m.value is None else m.value for m in self.models])


@dataclass(frozen=True)
class RankTau:
    """tau-b of two rankings over the models that both score.

    ``p`` tests that the models' order is random; the interval resamples questions and takes the
    models as given. ``n`` counts models; ``n_undefined`` resamples without a tau.
    """

    first: str
    second: str
    value: float | None
    interval: Interval | None
    p: float | None
    p_reason: str | None
    n: int
    n_undefined: int
    reason: str | None


@dataclass(frozen=True)
class Preference:
    """P(score of i > score of j) under one metric, over resamples, ties half; None: undefined."""

    metric: str
    first: str
    second: str
    value: float | None


@dataclass(frozen=True)
class Reversal:
    """A pair of models that two metrics order differently, each in at least ``level`` resamples.

    ``level`` is the smaller of the two shares.
    """

    higher: str
    lower: str
    first_metric: str
    second_metric: str
    first_share: float
    second_share: float
    level: float


@dataclass(frozen=True)
class Curve:
    """How many pairs of models reverse between two metrics at each level of ``LEVELS``.

    ``by_chance`` is how many would be expected to if all of them were equal under both metrics:
    their shares would then be uniform, and ``2 (1 - p)**2`` of the pairs would reverse at p.
    """

    first: str
    second: str
    counts: tuple[int, ...]
    n_pairs: int
    by_chance: tuple[float, ...]


def rank_models(
    metric: str,
    variant: str,
    parts: Parts,
    models: Sequence[str],
    weights: Floats,
    min_traces: int,
) -> Ranking:
    """Scores with intervals and ranks; a model under ``min_traces`` counted traces has none.

    Args:
        metric: its name.
        variant: which way of computing it.
        parts: of the variant.
        models: names (M,).
        weights: (B, Q) resamples.
        min_traces: least number of counted traces.
    """
    n = parts.counted.sum(1)
    values = parts.combine(parts.sums.sum(-1))
    draws = score_draws(parts, weights)
    reasons: list[str | None] = []
    for m in range(len(models)):
        short = n[m] < min_traces
        few = f"{counted(n[m], 'trace')}, at least {min_traces} needed" if short else None
        reasons.append(few or ("no better than chance" if np.isnan(values[m]) else None))
    without = np.array([reason is not None for reason in reasons])
    values = np.where(without, np.nan, values)
    draws = np.where(without[None, :], np.nan, draws)
    ranks = average_ranks(values)
    found = []
    for m, model in enumerate(models):
        value = None if without[m] else float(values[m])
        found.append(
            ModelScore(
                model=model,
                value=value,
                interval=(
                    rate_interval(value, draws[:, m], int(n[m]))
                    if parts.combine is ratio
                    else percentile_interval(draws[:, m])
                ),
                n=int(n[m]),
                rank=None if value is None else float(ranks[m]),
                excluded={why: int(k) for why, k in _counts(parts, m).items() if k},
                reason=reasons[m],
            )
        )
    return Ranking(metric, variant, tuple(found), draws)


def chance_of_reversal(level: float) -> float:
    """Share of equal pairs that reverse at a level from 0.5 to 1, of two independent metrics."""
    return 2 * (1 - level) ** 2


def average_ranks(values: Floats) -> Floats:
    """Ranks from 1 for the highest, ties sharing the mean; NaN where a value is."""
    known = ~np.isnan(values)
    x = values[known]
    higher = (x[None, :] > x[:, None]).sum(1)
    same = (x[None, :] == x[:, None]).sum(1)
    ranks = np.full(len(values), np.nan)
    ranks[known] = higher + (same + 1) / 2
    return ranks


def rank_tau(first: Ranking, second: Ranking, *, names: tuple[str, str] | None = None) -> RankTau:
    """tau-b of two rankings, with an interval from the resamples that they share."""
    one, two = names or (first.metric, second.metric)
    point = kendall_tau_b(first.values, second.values)
    reason, p_reason = (
        why and why.replace("object", "model") for why in (point.reason, point.p_reason)
    )
    if point.value is None:
        return RankTau(one, two, None, None, None, p_reason, point.n, 0, reason)
    draws = tau_b(first.draws, second.draws)
    lost = int(np.isnan(draws).sum())
    found = percentile_interval(draws)
    reason = None if found else f"{lost} of {len(draws)} resamples have no tau"
    return RankTau(one, two, point.value, found, point.p, p_reason, point.n, lost, reason)


def preferences(ranking: Ranking) -> list[Preference]:
    """P(i > j) of every pair of models, in order."""
    pairs = combinations([m.model for m in ranking.models], 2)
    return [
        Preference(ranking.metric, i, j, None if np.isnan(p) else float(p))
        for (i, j), p in zip(pairs, preference(ranking.draws), strict=True)
    ]


def comparable_pairs(by_metric: Mapping[str, Sequence[Preference]]) -> int:
    """Number of pairs of models that at least two metrics order."""
    return sum(
        sum(each.value is not None for each in pair) > 1
        for pair in zip(*by_metric.values(), strict=True)
    )


def reversing_pairs(found: Iterable[Reversal]) -> int:
    """Number of pairs of models, however many metrics they reverse between."""
    return len({frozenset((each.higher, each.lower)) for each in found})


def reversals(
    by_metric: Mapping[str, Sequence[Preference]], level: float
) -> tuple[list[Reversal], list[Curve]]:
    """Pairs of models that reverse between two metrics, and their number at every level.

    A reverses B for i and j at p if A prefers i in at least p of the resamples and B prefers j in
    at least p. Over 0.5 no pair counts twice.

    Args:
        by_metric: metric -> preferences over the same pairs.
        level: p of the list.
    """
    found, curves = [], []
    for one, two in combinations(by_metric, 2):
        shares = []
        for a, b in zip(by_metric[one], by_metric[two], strict=True):
            if a.value is None or b.value is None:
                continue
            for higher, lower, x, y in (
                (a.first, a.second, a.value, 1 - b.value),
                (a.second, a.first, 1 - a.value, b.value),
            ):
                least = min(x, y)
                if least > 0.5:
                    shares.append(Reversal(higher, lower, one, two, x, y, least))
        n_pairs = sum(
            None not in (a.value, b.value)
            for a, b in zip(by_metric[one], by_metric[two], strict=True)
        )
        counts = tuple(sum(r.level >= p - 1e-9 for r in shares) for p in LEVELS)
        by_chance = tuple(n_pairs * chance_of_reversal(p) for p in LEVELS)
        curves.append(Curve(one, two, counts, n_pairs, by_chance))
        found += [r for r in shares if r.level >= level - 1e-9]
    return sorted(found, key=lambda r: (-r.level, r.higher, r.lower, r.first_metric)), curves


def _counts(parts: Parts, model: int) -> dict[str, int]:
    return {why: int(bad[model].sum()) for why, bad in parts.excluded.items()}
