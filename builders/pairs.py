"""Pairs: which traces belong together, what kind they are, and why some are dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from builders.axes import language_asked, registry
from builders.deltas import deltas
from builders.pair_checks import check_pair
from faithshift_data.schema import Kind, Role, stable_id

Row = Mapping[str, Any]
REPEAT, FAMILY = "repeat", "model_family"


def make_pairs(
    traces: Mapping[str, Row],
    interventions: Mapping[str, list[Row]],
    semantic: Mapping[str, float | None] | None = None,
) -> list[dict]:
    """Every (anchor, partner) pair and every pair of repeated generations.

    Args:
        traces: labelled rows by id; all partners' anchors are among them.
        interventions: rows by trace_id; the label-role scramble says whether the reasoning
            of both traces is causally needed (``mechanism_preserved``).
        semantic: semantic distances by pair_id, of ``builders.deltas.semantic_distances``; a
            pair without one has a null there and is not checked for similarity.
    """
    known = semantic or {}
    return [_pair(each, interventions, known) for each in related(traces)]


@dataclass(frozen=True)
class Related:
    """Two traces that belong together, before anything is said of them."""

    axis: str
    anchor: Row
    partner: Row

    @property
    def ids(self) -> dict[str, str]:
        """The columns of their pair that say which it is."""
        ends = self.anchor["trace_id"], self.partner["trace_id"]
        return {
            "pair_id": stable_id("p", self.axis, *ends),
            "axis": self.axis,
            "anchor_id": ends[0],
            "partner_id": ends[1],
        }


def related(traces: Mapping[str, Row]) -> Iterator[Related]:
    """Partners with their anchors, repeated generations of a prompt, and two models' answers to it.

    Two models make a family pair where both wrote the clean anchor of an item themselves.
    """
    for trace in sorted(traces.values(), key=lambda row: row["trace_id"]):
        if trace["anchor_id"] is not None:
            yield Related(trace["axis"], traces[trace["anchor_id"]], trace)
    anchors = {
        (row["item_id"], row["condition"], str(row["model_revision"]), row["gen_index"]): row
        for row in traces.values()
        if row["condition"] in ("base", "cued_base")
    }
    for (*same, gen_index), row in sorted(anchors.items()):
        again = anchors.get((*same, gen_index + 1))
        if again is not None:
            yield Related(REPEAT, row, again)
    first: dict[str, list[Row]] = {}
    for (item_id, condition, _, gen_index), row in sorted(anchors.items()):
        if condition == "base" and gen_index == 0:
            first.setdefault(item_id, []).append(row)
    for rows in first.values():
        for left, right in combinations(rows, 2):
            yield Related(FAMILY, left, right)


def _pair(
    found: Related,
    interventions: Mapping[str, list[Row]],
    semantic: Mapping[str, float | None],
) -> dict[str, Any]:
    axis, anchor, partner, ids = found.axis, found.anchor, found.partner, found.ids
    distance = semantic.get(ids["pair_id"])
    labels = anchor["label"], partner["label"]
    kind, reason = kind_of(axis, *labels)
    checks = check_pair(anchor, partner, axis, distance)
    reason = next((name for name, passed in checks.items() if not passed), reason)
    return {
        **ids,
        "kind": str(kind),
        "mode": "regen" if axis in (REPEAT, FAMILY) else partner["mode"],
        "item_id": anchor["item_id"],
        "split": anchor["split"],
        "anchor_label": labels[0],
        "partner_label": labels[1],
        "direction": _direction(kind, *labels),
        "verified": reason is None,
        "dropped_because": reason,
        "mechanism_preserved": _mechanism(kind, anchor, partner, interventions),
        "deltas": deltas(
            str(anchor["reasoning"]),
            str(partner["reasoning"]),
            one_language=language_asked(axis) == "en",
            semantic=distance,
        ),
        "checks": [{"name": name, "passed": passed} for name, passed in checks.items()],
    }


def kind_of(axis: str, left: int | None, right: int | None) -> tuple[Kind, str | None]:
    """The kind of a pair, and why its labels rule it out, or None.

    A pair is of the kind its axis is meant to be, and is dropped where the labels say otherwise.
    A mixed axis has no such kind: equal labels make a preserving pair, unequal ones an altering
    pair, and an unknown one neither.
    """
    unknown = left is None or right is None
    if axis == REPEAT:
        return Kind.REPEAT, _unequal(left, right)
    made = next(made for made in registry().values() if made.name == axis)
    if made.mixed:
        kind = Kind.ALTERING if not unknown and left != right else Kind.PRESERVING
        return kind, "label unknown" if unknown else None
    if made.kind == Kind.PRESERVING:
        return made.kind, _unequal(left, right)
    if unknown:
        return made.kind, "label unknown"
    return made.kind, "label did not change" if left == right else None


def _unequal(left: int | None, right: int | None) -> str | None:
    if left == right:
        return None
    return "label unknown on one side" if None in (left, right) else "label changed"


def _direction(kind: Kind, left: int | None, right: int | None) -> int | None:
    if left is not None and right is not None:
        return right - left
    return 0 if left == right and kind != Kind.ALTERING else None


def _mechanism(
    kind: Kind, anchor: Row, partner: Row, interventions: Mapping[str, Iterable[Row]]
) -> bool | None:
    """Both answers change when the reasoning is scrambled (S, appendix H); None if unknown."""
    if kind != Kind.PRESERVING:
        return None
    moved = [_scramble(interventions[row["trace_id"]]) for row in (anchor, partner)]
    return None if None in moved else all(moved)


def _scramble(rows: Iterable[Row]) -> bool | None:
    found = [
        row["changed"] for row in rows if row["kind"] == "scramble" and row["role"] == Role.LABEL
    ]
    return found[0] if found else None
