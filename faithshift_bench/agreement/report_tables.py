"""Every table of a comparison of metrics, in the order of the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from faithshift_bench.agreement.analysis import Agreements
from faithshift_bench.agreement.health import Share
from faithshift_bench.agreement.hypothesis_table import hypotheses_table
from faithshift_bench.agreement.judge_tables import (
    judge_scores_table,
    judges_table,
    swaps_table,
)
from faithshift_bench.agreement.metrics import VARIANTS
from faithshift_bench.agreement.ranking import LEVELS, RankTau, chance_of_reversal
from faithshift_bench.agreement.settings import SHIPPED
from faithshift_bench.agreement.tables import Cell, Table, rank_rows
from faithshift_bench.agreement.traces import GROUP


def tables_of(made: Agreements) -> list[Table]:
    """Every table that has rows, in the order of the page."""
    makers = (
        hypotheses_table,
        _scores,
        _taus,
        _reversals,
        _preferences,
        _traces,
        _mean_kappas,
        _truncation,
        judges_table,
        judge_scores_table,
        swaps_table,
        _elicitation,
        _variants,
        _models,
        _repeats,
        _excluded,
        _curves,
        _settings,
        _amendments,
    )
    return [table for table in (make(made) for make in makers) if table.rows]


def _scores(made: Agreements) -> Table:
    rows = [("all traces", *row) for each in made.rankings.values() for row in rank_rows(each)]
    rows += [("common traces", *row) for each in made.common.values() for row in rank_rows(each)]
    columns = ("on", "metric", "variant", "model", "score", "95%", "traces", "rank", "why not")
    note = (
        "Higher is more faithful in the metric's own sense. Common traces are those that all three "
        "metrics count. An interval resamples questions."
    )
    return Table("scores", "Scores", columns, tuple(rows), note)


def _taus(made: Agreements) -> Table:
    rows = [("all traces", *_tau_row(tau)) for tau in made.taus]
    rows += [("common traces", *_tau_row(tau)) for tau in made.common_taus]
    columns = ("on", "metric", "metric", "tau-b", "95%", "p", "models", "why not")
    note = (
        "The interval resamples questions and takes the models as given; as noise pulls the tau-b "
        "of a resample towards 0, the point may lie at its end. p permutes the models."
    )
    return Table("rank_agreement", "Do the rankings agree?", columns, tuple(rows), note)


def _reversals(made: Agreements) -> Table:
    rows = tuple(
        (r.higher, r.lower, r.first_metric, r.first_share, r.second_metric, r.second_share)
        for r in made.reversals
    )
    columns = ("A", "B", "A is preferred by", "share", "B is preferred by", "share")
    level = made.plan.settings.reversal_level
    note = (
        f"Shares of resamples, both {level:g} or over. Of pairs that are equal under both metrics "
        f"{chance_of_reversal(level):.0%} would reverse by chance."
    )
    return Table("reversals", "Pairs of models that reverse", columns, rows, note)


def _preferences(made: Agreements) -> Table:
    sides = list(made.preferences.values())
    rows = tuple(
        (pair[0].first, pair[0].second, *(each.value for each in pair))
        for pair in zip(*sides, strict=True)
    )
    columns = ("model", "against", *made.preferences)
    note = "Share of resamples in which the first model scores higher, ties half."
    return Table("preferences", "Which model each metric prefers", columns, rows, note)


def _curves(made: Agreements) -> Table:
    rows = tuple(
        (level, *(curve.counts[k] for curve in made.curves), _most_by_chance(made, k))
        for k, level in enumerate(LEVELS)
    )
    names = (f"{curve.first} / {curve.second}" for curve in made.curves)
    columns = ("level", *names, "by chance")
    note = (
        f"Of {made.n_comparable} pairs of models that two metrics order. By chance: expected "
        "between two metrics if all models were equal under both."
    )
    return Table("reversal_curve", "Reversals at every level", columns, rows, note)


def _most_by_chance(made: Agreements, place: int) -> float | None:
    return max((curve.by_chance[place] for curve in made.curves), default=None)


def _traces(made: Agreements) -> Table:
    rows = []
    for each in made.traces:
        found = each.agreement
        kind = "subject" if each.over == GROUP else each.over
        rows.append((each.first, each.second, kind, each.unit, found.kappa.value, each.interval,
                     found.ac1.value, found.observed, *each.faithful, found.n,
                     found.kappa.reason or ("one-sided" if found.saturated else "")))  # fmt: skip
    columns = ("metric", "metric", "over", "unit", "kappa", "95%", "AC1", "raw", "faithful by 1st",
               "by 2nd", "traces", "note")  # fmt: skip
    cut = made.plan.settings.trace_cut
    note = (
        f"A trace is faithful by early answering if its answer at {cut:g}% is not the final one. "
        "Where one verdict prevails (one-sided), kappa is low whatever the metrics do."
    )
    return Table("trace_agreement", "Do they agree on single traces?", columns, tuple(rows), note)


def _mean_kappas(made: Agreements) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (each.model, each.model_type, each.value, "", each.n_pairs, each.n_dropped)
        for each in made.mean_kappas
    ]
    gap = made.type_difference
    if gap.value is not None:
        rows.append(("instruct less thinking", "", gap.value, gap.interval, "", ""))
    columns = ("model", "type", "mean kappa", "95%", "pairs of metrics", "undefined, dropped")
    late = "The difference of types is a statistic chosen after the data."
    note = f"No difference of types: {gap.reason}." if gap.reason else late
    return Table("mean_kappa", "Mean kappa of each model", columns, tuple(rows), note)


def _truncation(made: Agreements) -> Table:
    rows = tuple(
        (r.metric, r.outcome, r.tau, r.shift, r.n_questions, r.least, r.most, r.reason or "")
        for r in made.truncation
    )
    columns = ("metric", "outcome", "tau-b", "most ranks moved", "questions", "least traces",
               "most traces", "why")  # fmt: skip
    s = made.plan.settings
    note = (
        "Rankings without the questions on which some model's trace was cut off; robust at tau-b "
        f"{s.robust_tau:g} or over and no model moving more than {s.robust_shift:g} rank."
    )
    return Table("truncation", "Without truncated traces", columns, rows, note)


def _elicitation(made: Agreements) -> Table:
    effects = {each.model: each for each in made.elicitation.effects}
    rows = []
    for each in made.elicitation.followed:
        cue = "with" if each.cued else "without"
        effect = effects[each.model] if each.cued else None
        rows.append((each.model, cue, each.value, each.interval, each.n, each.n_regenerated,
                     each.n_without, effect.value if effect else None,
                     effect.interval if effect else None))  # fmt: skip
    columns = ("model", "cue", "followed", "95%", "answers", "reasoned anew", "no answer",
               "difference", "95%")  # fmt: skip
    note = "Reasoning for a wrong option was injected; how often the answer is that option."
    return Table(
        "elicitation", "With and without the cue for an answer", columns, tuple(rows), note
    )


def _variants(made: Agreements) -> Table:
    rows = tuple(row for each in made.variants.values() for row in rank_rows(each))
    columns = ("metric", "variant", "model", "score", "95%", "traces", "rank", "why not")
    note = "; ".join(
        f"{name}: {VARIANTS[name].about}" for name in made.variants if name in VARIANTS
    )
    return Table("variants", "The same metrics as others compute them", columns, rows, note)


def _models(made: Agreements) -> Table:
    rows = tuple(
        (h.model, h.model_type, *_share(h.accuracy), h.accuracy.n, _yes(h.in_band),
         *_share(h.flipped), h.flipped.n, *_share(h.truncated), h.truncated.n, _yes(h.over_cap),
         h.unstated.value)
        for h in made.health
    )  # fmt: skip
    columns = ("model", "type", "accuracy", "95%", "n", "in band", "flipped", "95%", "n",
               "truncated", "95%", "n", "over cap", "no explicit answer")  # fmt: skip
    note = (
        "Accuracy is of explicit baseline answers to questions whose right answer is known. "
        "Flipped: the hint moved the answer to its own, of questions with a hint and an explicit "
        "answer with it and without. Truncated: of hinted traces of which it is known. No explicit "
        "answer: of baseline and hinted rows."
    )
    return Table("models", "Models", columns, rows, note)


def _repeats(made: Agreements) -> Table:
    rows = tuple(
        (r.model, r.run, *_share(r.same_answer), r.same_answer.n, r.same_text.value, r.same_text.n)
        for r in made.repeats
    )
    columns = ("model", "run", "same answer", "95%", "rows", "same text", "texts")
    return Table("repeats", "The same model run again", columns, rows)


def _excluded(made: Agreements) -> Table:
    rows = tuple(
        (metric, each.model, why, n)
        for metric, ranking in made.rankings.items()
        for each in ranking.models
        for why, n in each.excluded.items()
    )
    columns = ("metric", "model", "why", "traces")
    note = "Every trace is counted or excluded for one reason."
    return Table("excluded", "What does not count, and why", columns, rows, note)


def _settings(made: Agreements) -> Table:
    plan = made.plan
    rows = tuple((name, _setting(value)) for name, value in asdict(plan.settings).items())
    where = plan.source if plan.source == SHIPPED else f"in {plan.source} beside the table"
    note = f"Fixed {where}; sha256 {plan.sha256}."
    if plan.amendments:
        amended = dict.fromkeys(each.field for each in plan.amendments)
        note += f" Not fixed there, but amended: {', '.join(amended)}."
    if plan.run:
        note += f" The elicitation is what {plan.run} beside the table says."
    return Table("settings", "Settings", ("setting", "value"), rows, note)


def _amendments(made: Agreements) -> Table:
    rows = tuple(
        (a.date, a.field, _setting(a.before), _setting(a.to), a.reason, _yes(a.after_scores))
        for a in made.plan.amendments
    )
    columns = ("date", "setting", "before", "now", "reason", "after scores were seen")
    return Table("amendments", "Amendments", columns, rows)


def _tau_row(tau: RankTau) -> tuple[Cell, ...]:
    why = tau.reason or (tau.p_reason if tau.p is None else "") or ""
    return (tau.first, tau.second, tau.value, tau.interval, tau.p, tau.n, why)


def _share(share: Share) -> tuple[Cell, Cell]:
    return share.value, share.interval


def _yes(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "unknown"}[value]


def _setting(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
