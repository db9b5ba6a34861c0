"""A small table in a few words: answers of one model and question as a string of letters."""

from __future__ import annotations

from faithshift_bench.agreement.reading import assemble
from faithshift_bench.agreement.table import rows_of
from tests.bench.agreement.simulated import columns_of

CUTS = (0, 20, 40, 60, 80)


def trace(
    model, question, base, hinted, filler="", cuts="", /, *, target="B", gold="A", said=None, **more
):
    """Rows of one model and question; "-" in a place of answers is a row without an answer."""
    named = {"baseline": base, "hinted": hinted, "filler": filler}
    named |= {f"early@{cut}": answer for cut, answer in zip(CUTS, cuts, strict=False)}
    shared = {"model": model, "question_id": question, "target": target, "gold": gold}
    rows = [
        {**shared, "condition": condition, "answer": answer.strip("-")}
        for condition, answer in named.items()
        if answer
    ]
    for row in rows:
        if row["condition"] == "hinted":
            row |= {f"verdict:{judge}": word for judge, word in (said or {}).items()} | more
    return rows


def study(*traces):
    """A study from rows of `trace`."""
    rows = [row for each in traces for row in each]
    return assemble("table", rows_of(columns_of(rows), "table"))
