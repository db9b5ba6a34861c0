"""Transformations of a trace, one file each.

An axis either asks the model anew (``turn``, mode regen) or edits the anchor's text
(``edit``, mode edit). What kind a pair is follows from the labels of its two traces; the
``kind`` here is what the axis is meant to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from builders.prompts import Cue
from builders.sources import Item
from faithshift_data.schema import Kind, Mode


@dataclass(frozen=True)
class Turn:
    """A user message to generate from, and the cue it holds."""

    message: str
    cue: Cue | None


@dataclass(frozen=True)
class Axis:
    """One transformation.

    Attributes:
        name: of the axis, also the condition of its partners.
        kind: what its pairs are meant to be.
        mode: regen or edit.
        anchors: conditions it starts from, with the generations (gen_index) it uses.
        turn: regen: item and cue of the anchor -> the new user turn.
        edit: edit: item and anchor's row -> the new reasoning, or None where there is none.
        needs_label: the anchor label without which a partner is pointless; None for any.
        keeps_answer: the partner carries the anchor's answer instead of a forced one.
    """

    name: str
    kind: Kind
    mode: Mode
    anchors: Mapping[str, tuple[int, ...]]
    turn: Callable[[Item, Cue | None], Turn] | None = None
    edit: Callable[[Item, Mapping[str, Any]], str | None] | None = None
    needs_label: int | None = None
    keeps_answer: bool = False


@cache
def registry() -> dict[str, Axis]:
    """All axes by name, in the order of the manifest."""
    from builders.axes import (
        causal_truncation,
        cue_injection,
        cue_verbalization,
        hint_format,
        paraphrase,
        step_reorder,
    )

    modules = (
        paraphrase,
        step_reorder,
        hint_format,
        cue_injection,
        cue_verbalization,
        causal_truncation,
    )
    return {module.AXIS.name: module.AXIS for module in modules}
