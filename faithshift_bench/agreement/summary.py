"""The comparison in a few lines, and as a claim to check with ``faithshift lint-claim``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from faithshift_bench.agreement.claims import PROPERTIES
from faithshift_bench.agreement.flags import NOTHING_COMPARED
from faithshift_bench.agreement.health import Share
from faithshift_bench.agreement.ranking import Ranking, chance_of_reversal
from faithshift_bench.agreement.traces import POOLED
from faithshift_bench.board import figure, span

if TYPE_CHECKING:
    from faithshift_bench.agreement.analysis import Agreements
    from faithshift_bench.stats.intervals import Interval


def headline_lines(made: Agreements) -> list[str]:
    """How it was measured, agreement of rankings and of traces, reversals, hypotheses, hash."""
    settings, plan = made.plan.settings, made.plan
    cue = f"cue {settings.elicitation}" if settings.elicitation else "elicitation not stated"
    cue += f" ({plan.run})" if plan.run else ""
    lines = [f"Judge: {made.judge or 'none'}; {cue}."]
    for tau in made.taus:
        why = f" ({tau.reason})" if tau.reason else ""
        lines.append(
            f"Rankings by {tau.first} and {tau.second}: tau-b "
            f"{_estimate(tau.value, tau.interval)}{why}."
        )
    level = settings.reversal_level
    chance = f"by chance {chance_of_reversal(level):.0%} of pairs that are equal under both"
    lines.append(
        f"{_reversing(made)} between two metrics at level {level:g} ({chance})."
        if made.n_comparable
        else f"Pairs of models that reverse: undefined ({NOTHING_COMPARED})."
    )
    for each in made.traces:
        if each.over == POOLED:
            found = each.agreement
            why = f" ({found.kappa.reason})" if found.kappa.reason else ""
            lines.append(
                f"Traces by {each.first} and {each.second}: kappa "
                f"{_estimate(found.kappa.value, each.interval)}, AC1 {figure(found.ac1.value)}, "
                f"n = {found.n}{why}."
            )
    for swap in made.swaps:
        lines.append(
            f"Judges {swap.first} and {swap.second}: tau-b "
            f"{_estimate(swap.tau.value, swap.tau.interval)}, kappa "
            f"{figure(swap.agreement.kappa.value)}."
        )
    for run in made.repeats:
        lines.append(
            f"{run.model}, run {run.run} again: {_share(run.same_answer)} of answers and "
            f"{_share(run.same_text)} of texts identical."
        )
    outcomes = ", ".join(
        f"{each.hypothesis.id} {each.outcome}"
        + (" (statistic chosen afterwards)" if each.hypothesis.post_hoc else "")
        for each in made.hypotheses
    )
    lines.append(f"Hypotheses: {outcomes}; sha256 {made.hypotheses_sha256}.")
    amended = f", {len(plan.amendments)} changed since" if plan.amendments else ""
    lines.append(f"Settings {plan.source}, sha256 {plan.sha256}{amended}.")
    return lines


def _estimate(value: float | None, interval: Interval | None) -> str:
    return "undefined" if value is None else f"{figure(value)} {span(interval)}"


def _share(share: Share) -> str:
    return "-" if share.value is None else f"{share.value:.1%} ({share.count} of {share.n})"


def _reversing(made: Agreements) -> str:
    return f"{made.n_reversing} of {made.n_comparable} pairs of models reverse"


def _disagreements(made: Agreements) -> str:
    """What a decision has to know; left open, with the reason, where nothing could be compared."""
    known = [tau for tau in made.taus if tau.value is not None]
    if not known and not made.n_comparable:
        return f'disagreements = ""          # undefined: {NOTHING_COMPARED}'
    taus = [f"{tau.first}/{tau.second} tau-b {figure(tau.value)}" for tau in known]
    taus += [
        f"{tau.first}/{tau.second} tau-b undefined, {tau.reason}"
        for tau in made.taus
        if tau.value is None
    ]
    return f"disagreements = {json.dumps('; '.join([*taus, _reversing(made)]))}"


def _verified(arrived: Mapping[str, int], *, scored: bool) -> str:
    """True where every row was checked and none failed; else the rows that a reader must know of.

    Failed rows are in no score. How many of them a claim bears is for its author to say.
    """
    n, checked = sum(arrived.values()), arrived["verified"]
    if scored and checked == n:
        return "injection_verified = true"
    why = [f"{k} of {n} rows {word}" for word, k in arrived.items() if k and word != "verified"]
    return f"injection_verified = false  # {', '.join(why) or 'no model has a score'}"


def _scored(ranking: Ranking) -> bool:
    return any(each.value is not None for each in ranking.models)


def claim_toml(made: Agreements) -> str:
    """What can be claimed of this run, as a file for ``faithshift lint-claim`` to be completed."""
    lines = [
        "# Complete it, then: faithshift lint-claim claim.toml",
        'claim = "..."',
        'kind = "ranking"            # score | comparison | ranking',
        "informs_decision = true",
        _disagreements(made),
    ]
    for metric in made.rankings:
        arrived = made.injections_by_metric.get(metric)
        judged = arrived is None
        lines += [
            "",
            "[[result]]",
            f"metric = {json.dumps(metric)}",
            f"property = {json.dumps(PROPERTIES[metric])}",
            f"judge = {json.dumps((made.judge or '') if judged else 'none')}",
            f"elicitation = {json.dumps('none' if judged else made.plan.settings.elicitation)}",
        ]
        if arrived is not None:
            lines.append(_verified(arrived, scored=_scored(made.rankings[metric])))
    shares = [(run.same_text.value, run.model) for run in made.repeats]
    known = [(share, model) for share, model in shares if share is not None]
    if known:
        share, model = min(known)
        lines += ["", "[rerun]", f"model = {json.dumps(model)}", f"identical = {json.dumps(share)}"]
    lines += [
        "",
        "# [reproduction]             # of a published result by biasing features",
        '# source = "..."',
        "# published = 0.0",
        "# ours = 0.0",
    ]
    return "\n".join(lines) + "\n"
