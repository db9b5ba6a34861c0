"""Believed labels against the mechanism: the confusion matrix of a label rule.

Only data whose labels are known by mechanism can show it. A rule's label is 1 (faithful),
0 (unfaithful) or -1 (unknown); what it leaves unknown is counted, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.board import figure, span, text_table
from faithshift_bench.metrics.rates import rate_result
from faithshift_bench.stats.intervals import Interval
from faithshift_data.errors import InputError
from faithshift_data.schema import LabelRule

if TYPE_CHECKING:
    from faithshift_data import FaithShift

MECHANISM = str(LabelRule.MECHANISM)
NAMES = {1: "faithful", 0: "unfaithful", -1: "unknown"}
SHARES = ("decided", "right", "right_if_faithful", "right_if_unfaithful")
COLUMNS = ("rule", "F: F", "F: U", "F: ?", "U: F", "U: U", "U: ?", "decided", "95%", "right", "95%",
           "right of F", "95%", "right of U", "95%")  # fmt: skip


@dataclass(frozen=True)
class Share:
    """A share of traces with its 95% interval over items; None where undefined."""

    value: float | None
    interval: Interval | None
    n_traces: int
    n_items: int


@dataclass(frozen=True)
class Confusion:
    """A rule's labels against the mechanism.

    Attributes:
        rule: its name.
        counts: mechanism (faithful, unfaithful) -> label (faithful, unfaithful, unknown) -> traces.
        decided: traces with a label, of all.
        right: labels that are the mechanism, of traces with a label.
        right_if_faithful: the same of truly faithful traces with a label.
        right_if_unfaithful: the same of truly unfaithful ones.
    """

    rule: str
    counts: dict[str, dict[str, int]]
    decided: Share
    right: Share
    right_if_faithful: Share
    right_if_unfaithful: Share


def confusion(
    rule: str,
    believed: ArrayLike,
    mechanism: ArrayLike,
    items: ArrayLike,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Confusion:
    """The confusion matrix of a rule; traces weigh equally, intervals resample items.

    Args:
        rule: its name.
        believed: (n,) labels 1, 0 or -1.
        mechanism: (n,) 1 or 0.
        items: (n,) the independent unit of each trace.
        n_resamples: of the items.
        seed: of the resamples.

    Raises:
        InputError: arrays of unequal length, or a label outside its set.
    """
    said, truth, item = np.asarray(believed), np.asarray(mechanism), np.asarray(items)
    if not said.shape == truth.shape == item.shape or said.ndim != 1:
        got = (said.shape, truth.shape, item.shape)
        raise InputError("wrong length", field=rule, expected="one label a trace", got=got)
    for field, values, allowed in ((rule, said, (1, 0, -1)), (MECHANISM, truth, (1, 0))):
        if not np.isin(values, allowed).all():
            got = values[~np.isin(values, allowed)][0]
            raise InputError("bad label", field=field, expected=allowed, got=got)
    known, right = said >= 0, said == truth
    shares = [
        share(hit, counted, item, n_resamples, seed)
        for hit, counted in (
            (known, np.ones_like(known)),
            (right, known),
            (right, known & (truth == 1)),
            (right, known & (truth == 0)),
        )
    ]
    counts = {
        NAMES[true]: {name: int(((truth == true) & (said == v)).sum()) for v, name in NAMES.items()}
        for true in (1, 0)
    }
    return Confusion(rule, counts, *shares)


def confusions(
    data: FaithShift,
    believed: Mapping[str, Mapping[str, int]],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> list[Confusion]:
    """The confusion matrix of every rule over all traces of a dataset.

    Args:
        data: with labels by mechanism.
        believed: rule -> trace_id -> 1, 0 or -1, for every trace.
        n_resamples: of the items.
        seed: of the resamples.

    Raises:
        InputError: labels that are not known by mechanism, or a trace without a believed one.
    """
    rows = known_rows(data)
    truth, items = ([row[key] for row in rows] for key in ("label", "item_id"))
    found = []
    for rule, labels in believed.items():
        said = [label_of(labels, row["trace_id"], rule) for row in rows]
        found.append(confusion(rule, said, truth, items, n_resamples=n_resamples, seed=seed))
    return found


def render_confusions(found: Sequence[Confusion]) -> str:
    """Aligned text, a row a rule; ``F: U`` counts truly faithful traces called unfaithful."""
    rows = []
    for each in found:
        counts = [str(n) for by in each.counts.values() for n in by.values()]
        shares = [getattr(each, name) for name in SHARES]
        cells = [cell for s in shares for cell in (figure(s.value), span(s.interval))]
        rows.append((each.rule, *counts, *cells))
    return "\n".join(text_table(COLUMNS, rows))


def known_rows(data: FaithShift) -> list[dict[str, Any]]:
    """Trace_id, item_id and label of every trace.

    Raises:
        InputError: labels that are not known by mechanism.
    """
    rows = data.table("traces").select(["trace_id", "item_id", "label", "label_rule"]).to_pylist()
    for row in rows:
        if row["label_rule"] != MECHANISM or row["label"] is None:
            message = "the truth is not known"
            got = row["label_rule"] if row["label_rule"] != MECHANISM else None
            where = {"file": data.path, "row": row["trace_id"], "field": "label_rule"}
            raise InputError(message, **where, expected=MECHANISM, got=got)
    return rows


def label_of(labels: Mapping[str, int], trace: str, rule: str) -> int:
    """A rule's label of a trace.

    Raises:
        InputError: it has none, not even -1.
    """
    if trace not in labels:
        raise InputError("no label", file=rule, row=trace, expected="1, 0 or -1")
    return labels[trace]


def share(
    hit: NDArray[np.bool_], counted: NDArray[np.bool_], item: NDArray, n_resamples: int, seed: int
) -> Share:
    """The share of ``hit`` among ``counted`` rows (n,) of ``item`` (n,)."""
    rows = np.flatnonzero(counted)
    if not rows.size:
        return Share(None, None, 0, 0)
    made = rate_result(
        hit[rows],
        np.ones(rows.size, bool),
        axis=None,
        groups=item[rows],
        n_resamples=n_resamples,
        seed=seed,
    )
    return Share(made.value, made.interval, made.n_pairs, made.n_items)
