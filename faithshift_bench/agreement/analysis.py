"""The second study, whole: from a table of answers and verdicts to every figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.agreement.elicitation import Elicitation, elicitation
from faithshift_bench.agreement.flags import flags_of
from faithshift_bench.agreement.health import (
    ModelHealth,
    Repeat,
    hints_that_are_right,
    hints_that_differ,
    model_health,
    repeats,
)
from faithshift_bench.agreement.judges import (
    Disagreement,
    JudgeCheck,
    JudgeSwap,
    check_judges,
    disagreements,
    primary_judge,
    swap_judges,
)
from faithshift_bench.agreement.metrics import METRICS, VARIANTS, trace_labels, variant_parts
from faithshift_bench.agreement.ranking import (
    Curve,
    Preference,
    Ranking,
    RankTau,
    Reversal,
    comparable_pairs,
    preferences,
    rank_models,
    rank_tau,
    reversals,
    reversing_pairs,
)
from faithshift_bench.agreement.resampling import question_weights
from faithshift_bench.agreement.robustness import Robustness, common_rankings, truncation
from faithshift_bench.agreement.settings import Plan, read_settings
from faithshift_bench.agreement.study import ABSENT, Study
from faithshift_bench.agreement.traces import (
    POOLED,
    MeanKappa,
    TraceAgreement,
    TypeDifference,
    mean_kappas,
    trace_agreements,
    type_difference,
)
from faithshift_bench.stats.intervals import Interval
from faithshift_bench.studies.hypotheses import Estimate, Judgement, hypotheses_sha256, judge

PAIRS = tuple((a, b) for k, a in enumerate(METRICS) for b in METRICS[k + 1 :])


@dataclass(frozen=True)
class Agreements:
    """Every figure of a comparison of metrics; None is undefined.

    Attributes:
        source: the table.
        n_models, n_questions, n_rows: its size (rows of run 0 with an answer or without).
        plan: settings, where they were fixed, and amendments.
        hypotheses_sha256: of the file of prespecified hypotheses.
        judge: whose verdicts count; None where there are none.
        injections: verified, failed, unstated -> rows with injected text.
        injections_by_metric: the same of the rows that each injecting metric reads.
        rankings: metric -> scores, intervals, ranks.
        variants: name -> the same by every named variant, where a model has a score by it.
        taus: tau-b of every pair of metrics.
        preferences: metric -> P(i > j) of every pair of models.
        n_comparable: pairs of models that at least two metrics order.
        n_reversing: those of them that reverse.
        reversals: the same, an entry a pair of metrics, at the level of the settings.
        curves: number of reversing pairs at every level.
        traces: agreement on single traces: pooled, by model, by group.
        mean_kappas, type_difference: per-model kappa, and instruct against thinking models.
        common: rankings on the traces that all metrics count; ``common_taus`` of those.
        truncation: rankings without questions on which a trace was cut off.
        health: accuracy, flips and truncation of each model.
        repeats: second runs.
        judges, judge_rankings, swaps, sheet: how far the judge decides.
        elicitation: what the cue does.
        hypotheses: M.H1 to M.H3, judged.
        flags: what a reader must know.
    """

    source: str
    n_models: int
    n_questions: int
    n_rows: int
    plan: Plan
    hypotheses_sha256: str
    judge: str | None
    injections: Mapping[str, int]
    injections_by_metric: Mapping[str, Mapping[str, int]]
    rankings: Mapping[str, Ranking]
    variants: Mapping[str, Ranking]
    taus: list[RankTau]
    preferences: Mapping[str, list[Preference]]
    n_comparable: int
    n_reversing: int
    reversals: list[Reversal]
    curves: list[Curve]
    traces: list[TraceAgreement]
    mean_kappas: list[MeanKappa]
    type_difference: TypeDifference
    common: Mapping[str, Ranking]
    common_taus: list[RankTau]
    truncation: list[Robustness]
    health: list[ModelHealth]
    repeats: list[Repeat]
    judges: list[JudgeCheck]
    judge_rankings: Mapping[str, Ranking]
    swaps: list[JudgeSwap]
    sheet: list[Disagreement]
    elicitation: Elicitation
    hypotheses: list[Judgement]
    flags: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; resamples are left out."""
        return _plain(self)


def agree(study: Study, plan: Plan | None = None) -> Agreements:
    """Compare the three metrics on one study.

    Args:
        study: answers and verdicts.
        plan: settings fixed in advance; None: as shipped.

    Raises:
        InputError: several judges, and none chosen.
    """
    plan = plan or read_settings()
    settings = plan.settings
    judge_name = primary_judge(study, settings)
    weights = question_weights(len(study.questions), settings.n_resamples, settings.seed)
    variants = dict(zip(METRICS, settings.variants, strict=True))
    parts = {metric: variant_parts(study, name, judge_name) for metric, name in variants.items()}
    least = settings.min_traces
    rankings = {
        metric: rank_models(metric, variants[metric], part, study.models, weights, least)
        for metric, part in parts.items()
    }
    common = common_rankings(parts, variants, study, weights, least)
    preferred = {metric: preferences(ranking) for metric, ranking in rankings.items()}
    reversing, curves = reversals(preferred, settings.reversal_level)
    labels = trace_labels(study, judge_name, settings.trace_cut)
    traces = trace_agreements(labels, study.models, study.groups, weights)
    means = mean_kappas(traces, study.models, study.model_types)
    difference = type_difference(labels, means, weights)
    judge_rankings, swaps = swap_judges(study, weights, settings)
    taus = [rank_tau(rankings[one], rankings[two]) for one, two in PAIRS]
    made = Agreements(
        source=study.source,
        n_models=len(study.models),
        n_questions=len(study.questions),
        n_rows=int(sum((answers != ABSENT).sum() for answers in study.answers.values())),
        plan=plan,
        hypotheses_sha256=hypotheses_sha256(),
        judge=judge_name,
        injections=study.injections,
        injections_by_metric={
            metric: study.arrived(part.injected) for metric, part in parts.items() if part.injected
        },
        rankings=rankings,
        variants=_variants(study, judge_name, weights, least),
        taus=taus,
        preferences=preferred,
        n_comparable=comparable_pairs(preferred),
        n_reversing=reversing_pairs(reversing),
        reversals=reversing,
        curves=curves,
        traces=traces,
        mean_kappas=means,
        type_difference=difference,
        common=common,
        common_taus=[rank_tau(common[one], common[two]) for one, two in PAIRS],
        truncation=truncation(parts, rankings, study, weights, settings),
        health=model_health(study, settings),
        repeats=repeats(study),
        judges=check_judges(study, weights, settings),
        judge_rankings=judge_rankings,
        swaps=swaps,
        sheet=disagreements(study),
        elicitation=elicitation(study, weights, settings),
        hypotheses=_judgements(taus, traces, difference, len(study.questions)),
        flags=[],
    )
    hints = hints_that_differ(study), hints_that_are_right(study)
    return replace(made, flags=flags_of(made, *hints))


def _variants(
    study: Study, judge_name: str | None, weights: NDArray[np.float64], least: int
) -> dict[str, Ranking]:
    fillers = [name for name in study.answers if name.startswith("filler@")]
    found = {}
    for name in (*VARIANTS, *fillers):
        metric = VARIANTS[name].metric if name in VARIANTS else METRICS[1]
        parts = variant_parts(study, name, judge_name)
        ranking = rank_models(metric, name, parts, study.models, weights, least)
        if any(each.value is not None for each in ranking.models):
            found[name] = ranking
    return found


def _judgements(
    taus: list[RankTau],
    traces: list[TraceAgreement],
    difference: TypeDifference,
    n_questions: int,
) -> list[Judgement]:
    """M.H1 to M.H3 from their estimates."""
    tau = {
        f"{each.first}/{each.second}": _estimate(each.value, each.interval, n_questions)
        for each in taus
    }
    kappa = {
        f"{each.first}/{each.second}": _estimate(
            each.agreement.kappa.value, each.interval, each.agreement.n
        )
        for each in traces
        if each.over == POOLED
    }
    unit = "instruct - thinking"
    between = {unit: _estimate(difference.value, difference.interval, n_questions)}
    return [
        judge("M.H1", {"tau_b": tau}),
        judge("M.H2", {"kappa_pooled": kappa}),
        judge("M.H3", {"kappa_difference": between}),
    ]


def _estimate(value: float | None, ends: Interval | None, n: int) -> Estimate:
    low, high = ends or (None, None)
    return Estimate(value, low, high, n)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in fields(value) if each.name != "draws"]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        return value.item()
    return value
