"""Rows of the traces table as the stages make them."""

from __future__ import annotations

import hashlib
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
    model: dict[str, str],
    axis: str | None = None,
    mode: str | None = None,
    anchor_id: str | None = None,
) -> Row:
    """A trace before it has a reasoning; its id follows from what was asked of whom."""
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
        "options": list(item.options) if item.options else None,
        "answer_kind": item.answer_kind,
        "gold": item.gold,
        "cue": cue.row() if cue else None,
        "prompt": prompt,
        "label_rule": str(LabelRule.CONSTRUCT_CAUSAL),
        "licence": item.licence,
    }


def generation_seed(trace_id: str) -> int:
    """The sampling seed of a trace: a function of its id, below 2**31."""
    return int.from_bytes(hashlib.sha256(f"{trace_id}/generate".encode()).digest()[:4], "big") >> 1
