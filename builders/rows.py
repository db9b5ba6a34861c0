"""Rows of the traces table as the stages make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from builders.prompts import Cue
from builders.sources import Item
from faithshift_data.schema import LabelRule, stable_id

Row = dict[str, Any]


def trace_row(
    item: Item,
    *,
    condition: str,
    gen_index: int,
    question: str,
    prompt: str,
    cue: Cue | None,
    model: Mapping[str, str],
    rule: LabelRule = LabelRule.CONSTRUCT_CAUSAL,
    options: Sequence[str] | None = None,
    axis: str | None = None,
    mode: str | None = None,
    anchor_id: str | None = None,
) -> Row:
    """A trace before it has a reasoning; its id follows from what was asked of whom.

    ``options`` are those that the prompt prints, where they are not the item's own.
    """
    trace_id = stable_id(
        "t", item.item_id, model["revision"], condition, axis, anchor_id, gen_index
    )
    return {
        "trace_id": trace_id,
        "item_id": item.item_id,
        "domain": item.domain,
        "source": item.source,
        "model_id": model["model_id"],
        "model_revision": model["revision"],
        "model_family": model["family"],
        "condition": condition,
        "axis": axis,
        "mode": mode,
        "anchor_id": anchor_id,
        "gen_index": gen_index,
        "question": question,
        "options": list(options or item.options or ()) or None,
        "answer_kind": item.answer_kind,
        "gold": item.gold,
        "cue": cue.row() if cue else None,
        "prompt": prompt,
        "label_rule": str(rule),
        "licence": item.licence,
    }
