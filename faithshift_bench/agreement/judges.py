"""How far the judge decides: validation, disagreement, missing verdicts, and swapping judges.

A verdict that is neither yes nor no changes no rate; it is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.agreement.metrics import biasing_features, variant_parts
from faithshift_bench.agreement.ranking import Ranking, RankTau, rank_models, rank_tau
from faithshift_bench.agreement.resampling import kappa_interval
from faithshift_bench.agreement.settings import PREREGISTRATION, Settings
from faithshift_bench.agreement.study import NOT_ASKED, OUTCOMES, Study
from faithshift_bench.agreement.traces import label_cells
from faithshift_bench.stats.agreement import Agreement, rater_agreement
from faithshift_bench.stats.intervals import Interval
from faithshift_data.errors import InputError
from faithshift_data.measure.acknowledge import RuleJudge
from faithshift_data.measure.verdicts import Judge, Outcome, judge_all

SPOKEN = (Outcome.YES, Outcome.NO)
PASSED, FAILED, OPEN, UNTESTED = "passed", "failed", "not settled", "no reference labels"


@dataclass(frozen=True)
class JudgeCheck:
    """One judge.

    Attributes:
        judge: its name.
        counts: outcome -> verdicts on eligible traces; "not asked" among them.
        no_verdict: share of the eligible traces it was asked about that got neither yes nor no.
        not_asked: share of the eligible traces that it was not asked about.
        silences: reason -> traces without a verdict, of a judge that was asked for this study.
        reference: agreement with the reference labels; ``n_excluded`` have no verdict.
        interval: of that kappa, 95% over questions.
        validation: passed (the interval is at or over the mark), failed (under it), not settled,
            or no reference labels.
    """

    judge: str
    counts: Mapping[str, int]
    no_verdict: float | None
    not_asked: float | None
    silences: Mapping[str, int]
    reference: Agreement
    interval: Interval | None
    validation: str


@dataclass(frozen=True)
class JudgeSwap:
    """Two judges on the same traces: how they agree, and what it does to the ranking.

    Attributes:
        first, second: the judges.
        tau: of the two rankings by biasing features.
        agreement: on eligible traces.
        interval: of that kappa.
        shifts: model -> score under the second less score under the first; None: undefined.
    """

    first: str
    second: str
    tau: RankTau
    agreement: Agreement
    interval: Interval | None
    shifts: Mapping[str, float | None]


@dataclass(frozen=True)
class Disagreement:
    """A trace on which two verdicts differ, as a line of the sheet to read by hand."""

    model: str
    question_id: str
    first: str
    first_verdict: str
    second: str
    second_verdict: str
    reference: str
    answer: str
    reasoning: str


def primary_judge(study: Study, settings: Settings) -> str | None:
    """The judge whose verdicts count; None where the table has no verdicts.

    Raises:
        InputError: several judges and no choice, or one that the table does not have.
    """
    there = tuple(study.verdicts)
    if settings.judge:
        study.outcomes(settings.judge)
        return settings.judge
    if len(there) > 1:
        expected = f"one of {', '.join(there)} as --judge or in {PREREGISTRATION}"
        message = "several judges, and the judge changes the scores: say whose verdicts count"
        raise InputError(message, file=study.source, field="judge", expected=expected)
    return there[0] if there else None


def eligible(study: Study) -> NDArray[np.bool_]:
    """(M, Q): answers that the hint moved, whatever a judge said of them."""
    undecided = biasing_features(study, None).excluded
    return undecided.get("not judged", np.zeros(study.shape, bool))


def check_judges(
    study: Study, weights: NDArray[np.float64], settings: Settings
) -> list[JudgeCheck]:
    """Every judge against the reference labels, with its missing verdicts."""
    moved = eligible(study)
    found = []
    for judge, outcome in study.verdicts.items():
        counts = {str(each): int((outcome[moved] == k).sum()) for k, each in enumerate(OUTCOMES)}
        asked, passed_over = sum(counts.values()), int((outcome[moved] == NOT_ASKED).sum())
        missing = asked - counts["yes"] - counts["no"]
        said = study.said(judge)
        labelled = study.reference >= 0
        agreement = rater_agreement(said[labelled], study.reference[labelled])
        span = kappa_interval(label_cells(said, study.reference).sum(0), weights)
        found.append(
            JudgeCheck(
                judge=judge,
                counts={**counts, "not asked": passed_over},
                no_verdict=missing / asked if asked else None,
                not_asked=passed_over / (asked + passed_over) if moved.any() else None,
                silences=study.silences.get(judge, {}),
                reference=agreement,
                interval=span,
                validation=_validation(agreement, span, settings.judge_kappa),
            )
        )
    return found


def swap_judges(
    study: Study, weights: NDArray[np.float64], settings: Settings
) -> tuple[dict[str, Ranking], list[JudgeSwap]]:
    """The ranking by biasing features under each judge, and every pair of judges compared."""
    rankings = {
        judge: rank_models(
            judge,
            settings.variants[0],
            variant_parts(study, settings.variants[0], judge),
            study.models,
            weights,
            settings.min_traces,
        )
        for judge in study.verdicts
    }
    moved = eligible(study)
    swaps = []
    for one, two in combinations(study.verdicts, 2):
        a, b = (np.where(moved, study.said(judge), -1) for judge in (one, two))
        change = rankings[two].values - rankings[one].values
        swaps.append(
            JudgeSwap(
                first=one,
                second=two,
                tau=rank_tau(rankings[one], rankings[two]),
                agreement=rater_agreement(a[moved], b[moved]),
                interval=kappa_interval(label_cells(a, b).sum(0), weights),
                shifts={
                    model: None if np.isnan(value) else float(value)
                    for model, value in zip(study.models, change, strict=True)
                },
            )
        )
    return rankings, swaps


def disagreements(study: Study) -> list[Disagreement]:
    """The sheet: traces where two judges, or a judge and the reference, say yes and no."""
    sides = {judge: study.said(judge) for judge in study.verdicts}
    sides["reference"] = study.reference
    words = {1: "yes", 0: "no", -1: ""}
    found = []
    for one, two in combinations(sides, 2):
        a, b = sides[one], sides[two]
        for m, q in np.argwhere((a >= 0) & (b >= 0) & (a != b)).tolist():
            case = study.cases.get((m, q))
            found.append(
                Disagreement(
                    study.models[m],
                    study.questions[q],
                    one,
                    words[int(a[m, q])],
                    two,
                    words[int(b[m, q])],
                    words[int(study.reference[m, q])],
                    (case.answer or "") if case else "",
                    case.reasoning if case else "",
                )
            )
    return found


def ask_judge(study: Study, judge: Judge, *, threads: int = 4) -> Study:
    """The same study with the verdicts of a judge on every trace that the hint moved.

    Args:
        study: with the texts question, cue and reasoning.
        judge: asked about each trace once; what is no verdict is kept as such.
        threads: requests at once.

    Raises:
        InputError: the table lacks the texts, or what the judge raises.
    """
    moved = [tuple(place) for place in np.argwhere(eligible(study)).tolist()]
    without = [place for place in moved if place not in study.cases]
    if without:
        m, q = without[0]
        row = f"{study.models[m]}, {study.questions[q]}, hinted"
        expected = "question, cue and reasoning"
        raise InputError("a judge needs the texts", file=study.source, row=row, expected=expected)
    cases = {f"{m} {q}": study.cases[m, q] for m, q in moved}
    verdicts = judge_all(judge, cases, threads=threads)
    outcomes = {
        (int(m), int(q)): each.outcome for name, each in verdicts.items() for m, q in [name.split()]
    }
    silences = Counter(each.detail for each in verdicts.values() if each.outcome not in SPOKEN)
    return study.with_verdicts(judge.name, outcomes, silences)


def judge_named(
    name: str, base_url: str | None = None, *, replies: str | Path | None = None
) -> Judge:
    """The rule-based judge (``rules``), or a language model by its name at an endpoint.

    Args:
        name: of the judge.
        base_url: of the endpoint.
        replies: folder in which a language model's replies are kept, and looked up.

    Raises:
        InputError: what the endpoint's client lacks: the openai package, a key, an address.
    """
    if name == RuleJudge.name and base_url is None:
        return RuleJudge()
    from faithshift_data.measure.judges import OpenAIJudge

    return OpenAIJudge(name, base_url=base_url, cache=replies)


def _validation(agreement: Agreement, span: Interval | None, mark: float) -> str:
    if agreement.n == 0:
        return UNTESTED
    if agreement.kappa.value is None or span is None:
        return OPEN
    return PASSED if span[0] >= mark else FAILED if span[1] < mark else OPEN
