"""The prespecified hypotheses, part by part."""

from __future__ import annotations

from faithshift_bench.agreement.analysis import Agreements
from faithshift_bench.agreement.tables import Cell, Table
from faithshift_bench.agreement.traces import POOLED
from faithshift_bench.studies.hypotheses import Estimate


def hypotheses_table(made: Agreements) -> Table:
    """A row a part of a hypothesis; the outcome of an undefined one says why."""
    rows: list[tuple[Cell, ...]] = []
    reasons = _why_undefined(made)
    for each in made.hypotheses:
        late = " (statistic chosen afterwards)" if each.hypothesis.post_hoc else ""
        for part in each.parts:
            e = part.estimate
            why = reasons.get((part.quantity, part.unit))
            outcome = f"{part.outcome}: {why}" if why else part.outcome
            rows.append((each.hypothesis.id + late, each.outcome, part.quantity, part.unit,
                         e.value, _ends(e), e.n, outcome))  # fmt: skip
    columns = ("hypothesis", "outcome", "quantity", "of", "value", "95%", "n", "part")
    note = (
        "n counts questions, and traces for kappa_pooled. Prespecified; sha256 of their file "
        f"{made.hypotheses_sha256}."
    )
    return Table("hypotheses", "Hypotheses", columns, tuple(rows), note)


def _why_undefined(made: Agreements) -> dict[tuple[str, str], str | None]:
    """Quantity and unit -> why it is undefined; None where it is not."""
    taus = {("tau_b", f"{t.first}/{t.second}"): t.reason for t in made.taus}
    kappas = {
        ("kappa_pooled", f"{t.first}/{t.second}"): t.agreement.kappa.reason
        for t in made.traces
        if t.over == POOLED
    }
    gap = {("kappa_difference", "instruct - thinking"): made.type_difference.reason}
    return taus | kappas | gap


def _ends(estimate: Estimate) -> tuple[float, float] | None:
    low, high = estimate.low, estimate.high
    return None if low is None or high is None else (low, high)
