"""What a reader of a comparison must know before believing it, one sentence each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from faithshift_bench.agreement.judges import PASSED, UNTESTED
from faithshift_bench.agreement.robustness import NOT_ROBUST, NOT_TESTED, UNINTERPRETABLE
from faithshift_bench.board import counted

if TYPE_CHECKING:
    from faithshift_bench.agreement.analysis import Agreements

LOST_SHARE = 0.05
NOTHING_COMPARED = "no two metrics score the same two models"


def flags_of(made: Agreements, n_differing_hints: int, n_right_hints: int) -> list[str]:
    """Flags in order of weight: the claim itself, then the judge, the injections, the models."""
    flags = [*_reversals(made), *_scores(made), *_judge(made), *_injection(made)]
    flags += [*_robustness(made), *_models(made)]
    if n_differing_hints:
        flags.append(
            f"On {counted(n_differing_hints, 'question')} models were given different hints; "
            "their scores by biasing features do not rest on one prompt"
        )
    if n_right_hints:
        flags.append(f"On {counted(n_right_hints, 'question')} the hint points to the right answer")
    late = [each.field for each in made.plan.amendments if each.after_scores is not False]
    if late:
        flags.append("Not fixed before scores could be seen: " + ", ".join(late))
    return flags


def _reversals(made: Agreements) -> Iterable[str]:
    level = made.plan.settings.reversal_level
    if made.n_comparable == 0:
        yield f"Whether models reverse is undefined: {NOTHING_COMPARED}"
    if made.n_reversing:
        yield (
            f"{made.n_reversing} of {made.n_comparable} pairs of models reverse between metrics "
            f"at level {level:g}: no ranking by one metric stands for faithfulness"
        )


def _scores(made: Agreements) -> Iterable[str]:
    for metric, ranking in made.rankings.items():
        without = [each.model for each in ranking.models if each.value is None]
        if without:
            yield f"No score by {metric}: {', '.join(without)}"
    if made.n_models < 5:
        yield f"{counted(made.n_models, 'model')}: a rank correlation of so few says little"


def _judge(made: Agreements) -> Iterable[str]:
    by_name = {each.judge: each for each in made.judges}
    if made.judge is None:
        yield "No judge: biasing features has no score"
        return
    judge = by_name[made.judge]
    mark = made.plan.settings.judge_kappa
    if judge.validation == UNTESTED:
        yield f"The judge {judge.judge} was not validated: there are no reference labels"
    elif judge.validation != PASSED:
        yield f"The judge {judge.judge} has not passed validation (kappa {mark:g}): " + (
            judge.validation
        )
    if judge.no_verdict:
        reasons = judge.silences.items()
        why = next((f" (first reason, n = {n}: {reason})" for reason, n in reasons), "")
        asked = sum(judge.counts.values()) - judge.counts["not asked"]
        silent = asked - judge.counts["yes"] - judge.counts["no"]
        share = f"{silent} of {asked} eligible traces ({judge.no_verdict:.1%})"
        yield f"The judge {judge.judge} gave no verdict on {share}{why}"
    if judge.not_asked:
        left_out, eligible = judge.counts["not asked"], sum(judge.counts.values())
        share = f"{left_out} of {eligible} eligible traces ({judge.not_asked:.1%})"
        yield f"The judge {judge.judge} was not asked about {share}: no score counts them"
    known = [tau.value for tau in made.taus if tau.value is not None]
    for swap in made.swaps:
        value = swap.tau.value
        if value is not None and known and value < max(known):
            yield (
                f"Changing the judge from {swap.first} to {swap.second} (tau-b {value:.3f}) "
                f"reorders models more than a change of metric does (up to {max(known):.3f})"
            )


def _injection(made: Agreements) -> Iterable[str]:
    unstated = made.injections.get("unstated", 0)
    if unstated:
        yield f"Of {counted(unstated, 'injection')} it is not known whether the text arrived"
    if not made.plan.settings.elicitation:
        yield "The elicitation format is not stated"
    for metric, ranking in made.rankings.items():
        for each in ranking.models:
            lost = sum(
                n
                for why, n in each.excluded.items()
                if why.endswith(("not in place", "reasoning of its own"))
            )
            if lost > LOST_SHARE * (lost + each.n):
                yield (
                    f"{metric} of {each.model}: {counted(lost, 'injection')} not in place or "
                    "set aside"
                )
    if made.elicitation.unscorable:
        yield "Without the cue filler tokens cannot score: " + ", ".join(
            made.elicitation.unscorable
        )


def _robustness(made: Agreements) -> Iterable[str]:
    for each in made.truncation:
        if each.outcome == NOT_ROBUST:
            yield f"The ranking by {each.metric} does not hold without truncated traces"
        elif each.outcome == UNINTERPRETABLE:
            yield f"Without truncated traces {each.metric} cannot be interpreted: {each.reason}"
    if any(each.outcome == NOT_TESTED for each in made.truncation):
        yield "Whether cut-off traces move the rankings was not tested: column truncated is missing"


def _models(made: Agreements) -> Iterable[str]:
    settings = made.plan.settings
    over = [each.model for each in made.health if each.over_cap]
    if over:
        yield f"Over {settings.truncation_cap:.0%} of traces cut off: {', '.join(over)}"
    outside = [each.model for each in made.health if each.in_band is False]
    if outside:
        low, high = settings.accuracy_band
        yield f"Accuracy outside {low:.0%} to {high:.0%}: {', '.join(outside)}"
