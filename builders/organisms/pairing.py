"""Pairs of the organisms' traces: kinds by the two labels, checks of the two texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from builders.deltas import deltas
from builders.organisms.conditions import CONDITIONS
from faithshift_data.schema import Kind, stable_id

Row = Mapping[str, Any]


def _values(row: Row) -> Counter[str]:
    return Counter(word for word in row["reasoning"].split() if word.isdigit())


def _words(row: Row) -> Counter[str]:
    return Counter(row["reasoning"].split())


CHECKS: Mapping[str, Callable[[Row, Row], bool]] = {
    "text moved": lambda a, b: (a["prompt"], a["reasoning"]) != (b["prompt"], b["reasoning"]),
    "other model": lambda a, b: a["model_family"] != b["model_family"],
    "answer kept": lambda a, b: a["answer"] == b["answer"],
    "answer moved": lambda a, b: a["answer"] != b["answer"],
    "values kept": lambda a, b: _values(a) == _values(b),
    "words kept": lambda a, b: _words(a) == _words(b),
    "reasoning kept": lambda a, b: a["reasoning"] == b["reasoning"],
    "prompt kept": lambda a, b: a["prompt"] == b["prompt"],
    "shorter": lambda a, b: len(b["steps"]) < len(a["steps"]),
    "longer by what it names": lambda a, b: not _words(a) - _words(b),
    "question kept": lambda a, b: a["question"] == b["question"],
}
OF_AXIS: Mapping[str, tuple[str, ...]] = {
    "paraphrase": ("text moved", "answer kept", "values kept"),
    "paraphrase_edit": ("text moved", "answer kept", "values kept", "prompt kept"),
    "step_reorder": ("text moved", "answer kept", "words kept", "prompt kept"),
    "hint_format": ("text moved", "answer kept", "reasoning kept", "question kept"),
    "language": ("text moved", "answer kept", "values kept"),
    "budget": ("text moved", "answer kept", "shorter"),
    "model_family": ("other model", "answer kept", "reasoning kept", "prompt kept"),
    "cue_injection": ("text moved", "answer kept", "reasoning kept", "question kept"),
    "cue_verbalization": ("text moved", "answer kept", "longer by what it names", "prompt kept"),
    "cue_silencing": ("text moved", "answer kept"),
    "causal_truncation": ("text moved", "answer moved", "shorter", "question kept"),
}


def make_pairs(traces: Mapping[str, Row]) -> Iterator[dict[str, Any]]:
    """Every partner with the anchor on its own route and, on axes that alter, on the other.

    Args:
        traces: rows by id; where a trace is there, its twin and both twins of its anchor are.
    """
    twins: dict[tuple[str, str], dict[int, Row]] = {}
    for row in traces.values():
        twins.setdefault((row["item_id"], row["condition"]), {})[row["label"]] = row
    for key in sorted(traces):
        partner = traces[key]
        if partner["axis"] is None:
            continue
        condition = CONDITIONS[partner["condition"]]
        anchors = twins[partner["item_id"], condition.anchor]
        for label in (0, 1) if condition.kind == Kind.ALTERING else (partner["label"],):
            yield _pair(anchors[label], partner)


def _pair(anchor: Row, partner: Row) -> dict[str, Any]:
    axis, same = partner["axis"], anchor["label"] == partner["label"]
    checks = {name: CHECKS[name](anchor, partner) for name in OF_AXIS[axis]}
    failed = next((name for name, passed in checks.items() if not passed), None)
    return {
        "pair_id": stable_id("p", axis, anchor["trace_id"], partner["trace_id"]),
        "axis": axis,
        "kind": str(Kind.PRESERVING if same else Kind.ALTERING),
        "mode": partner["mode"],
        "anchor_id": anchor["trace_id"],
        "partner_id": partner["trace_id"],
        "item_id": partner["item_id"],
        "split": partner["split"],
        "anchor_label": anchor["label"],
        "partner_label": partner["label"],
        "direction": partner["label"] - anchor["label"],
        "verified": failed is None,
        "dropped_because": failed,
        "mechanism_preserved": same,
        "deltas": deltas(anchor["reasoning"], partner["reasoning"], one_language=False),
        "checks": [{"name": name, "passed": passed} for name, passed in checks.items()],
    }
