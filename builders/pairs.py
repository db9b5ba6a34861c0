"""Pairs: which traces belong together, what kind they are, and why some are dropped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from builders.axes import registry
from faithshift_data.schema import Kind, Mode, Role, stable_id

Row = Mapping[str, Any]
REPEAT = "repeat"
LENGTH_RATIO = (0.4, 2.5)


def make_pairs(traces: Mapping[str, Row], interventions: Mapping[str, list[Row]]) -> list[dict]:
    """Every (anchor, partner) pair and every pair of repeated generations.

    Args:
        traces: labelled rows by id; all partners' anchors are among them.
        interventions: rows by trace_id; the label-role scramble says whether the reasoning
            of both traces is causally needed (``mechanism_preserved``).
    """
    pairs = []
    for trace in sorted(traces.values(), key=lambda row: row["trace_id"]):
        if trace["anchor_id"] is not None:
            anchor = traces[trace["anchor_id"]]
            pairs.append(_pair(anchor, trace, trace["axis"], interventions))
    anchors = {
        (row["item_id"], row["condition"], row["gen_index"]): row
        for row in traces.values()
        if row["condition"] in ("base", "cued_base")
    }
    for (item_id, condition, gen_index), row in sorted(anchors.items()):
        again = anchors.get((item_id, condition, gen_index + 1))
        if again is not None:
            pairs.append(_pair(row, again, REPEAT, interventions))
    return pairs


def _pair(anchor: Row, partner: Row, axis: str, interventions: Mapping[str, list[Row]]) -> dict:
    kind = registry()[axis].kind if axis in registry() else Kind.REPEAT
    mode = partner["mode"] if axis in registry() else str(Mode.REGEN)
    checks = check_pair(anchor, partner, axis, kind)
    labels = anchor["label"], partner["label"]
    reason = next((name for name, passed in checks.items() if not passed), None)
    reason = reason or _label_reason(kind, *labels)
    return {
        "pair_id": stable_id("p", axis, anchor["trace_id"], partner["trace_id"]),
        "axis": axis,
        "kind": str(kind),
        "mode": mode,
        "anchor_id": anchor["trace_id"],
        "partner_id": partner["trace_id"],
        "item_id": anchor["item_id"],
        "split": anchor["split"],
        "anchor_label": labels[0],
        "partner_label": labels[1],
        "direction": _direction(kind, *labels),
        "verified": reason is None,
        "dropped_because": reason,
        "mechanism_preserved": _mechanism(kind, anchor, partner, interventions),
        "deltas": deltas(anchor, partner),
        "checks": [{"name": name, "passed": passed} for name, passed in checks.items()],
    }


def _direction(kind: Kind, left: int | None, right: int | None) -> int | None:
    if left is not None and right is not None:
        return right - left
    return 0 if left == right and kind != Kind.ALTERING else None


def _label_reason(kind: Kind, left: int | None, right: int | None) -> str | None:
    if kind == Kind.ALTERING:
        if left is None or right is None:
            return "label unknown"
        return "label did not change" if left == right else None
    if left == right:
        return None
    return "label unknown on one side" if None in (left, right) else "label changed"


def check_pair(anchor: Row, partner: Row, axis: str, kind: Kind) -> dict[str, bool]:
    """The automatic audit of a pair: name of the check -> passed."""
    same_text = _words(anchor) == _words(partner)
    checks = {"text moved": not same_text or anchor["prompt"] != partner["prompt"]}
    if axis == "paraphrase":
        checks["question numbers kept"] = numbers(anchor["question"]) == numbers(
            partner["question"]
        )
        checks["question moved"] = jaccard_distance(anchor["question"], partner["question"]) > 0.1
    if axis == "step_reorder":
        checks["words kept"] = Counter(_words(anchor)) == Counter(_words(partner))
    if kind == Kind.PRESERVING:
        ratio = len(_words(partner)) / max(1, len(_words(anchor)))
        checks["length ratio"] = LENGTH_RATIO[0] <= ratio <= LENGTH_RATIO[1]
    if axis == "cue_verbalization":
        checks["answer kept"] = anchor["answer"] == partner["answer"]
    return checks


def numbers(text: str) -> Counter[str]:
    """The numbers of a text with their multiplicity."""
    return Counter(re.findall(r"\d+", text))


def jaccard_distance(left: str, right: str) -> float:
    """1 - shared words / all words, in [0, 1]; 0 for two texts without words."""
    a, b = (set(re.findall(r"\w+", text.lower())) for text in (left, right))
    return 1 - len(a & b) / len(a | b) if a | b else 0.0


def deltas(anchor: Row, partner: Row) -> dict[str, float | None]:
    """How far the surface moved: length (words, relative) and lexical distance of the reasoning.

    Syntactic and semantic distance are not measured yet and are null.
    """
    before, after = len(_words(anchor)), len(_words(partner))
    return {
        "length": (after - before) / max(1, before),
        "lexical": jaccard_distance(anchor["reasoning"], partner["reasoning"]),
        "syntactic": None,
        "semantic": None,
    }


def _words(row: Row) -> list[str]:
    return str(row["reasoning"]).split()


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
