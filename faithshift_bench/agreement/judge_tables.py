"""Tables of the judges: validation, swapping, every verdict, and the sheet of disagreements."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from faithshift_bench.agreement.analysis import Agreements
from faithshift_bench.agreement.judges import eligible
from faithshift_bench.agreement.study import NOT_ASKED, OUTCOMES, Study
from faithshift_bench.agreement.tables import Table, rank_rows


def judges_table(made: Agreements) -> Table:
    """Each judge against the reference labels, and its outcomes."""
    rows = tuple(
        (each.judge, each.validation, each.reference.kappa.value, each.interval,
         each.reference.ac1.value, each.reference.observed, each.reference.n,
         each.no_verdict, *each.counts.values())
        for each in made.judges
    )  # fmt: skip
    counts = tuple(made.judges[0].counts) if made.judges else ()
    columns = ("judge", "validation", "kappa", "95%", "AC1", "raw", "labels", "no verdict", *counts)
    mark = made.plan.settings.judge_kappa
    note = (
        f"Against reference labels; passed where the whole interval of kappa is {mark:g} or over."
    )
    return Table("judges", "Judges", columns, rows, note)


def judge_scores_table(made: Agreements) -> Table:
    """Biasing features under each judge; no rows where there is but one."""
    if len(made.judge_rankings) < 2:
        return Table("judge_scores", "", (), ())
    rows = tuple(row for each in made.judge_rankings.values() for row in rank_rows(each))
    columns = ("judge", "variant", "model", "score", "95%", "traces", "rank", "why not")
    return Table("judge_scores", "Biasing features under each judge", columns, rows)


def swaps_table(made: Agreements) -> Table:
    """Every pair of judges."""
    rows = tuple(
        (each.first, each.second, each.tau.value, each.tau.interval, each.agreement.kappa.value,
         each.interval, each.agreement.ac1.value, each.agreement.observed, each.agreement.n)
        for each in made.swaps
    )  # fmt: skip
    columns = ("judge", "judge", "tau-b", "95%", "kappa", "95%", "AC1", "raw", "traces")
    note = "tau-b of the two rankings by biasing features, and agreement on the same traces."
    return Table("judge_swap", "Changing the judge alone", columns, rows, note)


def verdicts_of(study: Study) -> Table:
    """Every outcome of every judge on the traces that the hint moved, side by side."""
    judges = tuple(study.verdicts)
    words = {1: "yes", 0: "no", -1: ""}
    rows = tuple(
        (
            study.models[m],
            study.questions[q],
            *(_outcome(study.verdicts[judge][m, q]) for judge in judges),
            words[int(study.reference[m, q])],
        )
        for m, q in np.argwhere(eligible(study)).tolist()
    )
    columns = ("model", "question_id", *judges, "reference")
    return Table("verdicts", "Verdicts", columns, rows)


def sheet_of(made: Agreements) -> Table:
    """The sheet of disagreements, to be read by hand."""
    rows = tuple((*asdict(each).values(), "") for each in made.sheet)
    columns = ("model", "question_id", "first", "first_verdict", "second", "second_verdict",
               "reference", "answer", "reasoning", "who_is_right")  # fmt: skip
    note = "Traces on which two verdicts are yes and no; who is right is for a reader to write."
    return Table("disagreements", "Disagreements of judges", columns, rows, note)


def _outcome(place: int) -> str:
    return "" if place == NOT_ASKED else str(OUTCOMES[place])
