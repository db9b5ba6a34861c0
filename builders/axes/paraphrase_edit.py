"""Paraphrase, as an edit: the anchor's reasoning in other words, read by the same model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builders.axes import Axis
from builders.sources import Item, item_rng
from faithshift_data.measure.rewording import reword
from faithshift_data.schema import Kind, Mode


def edit(item: Item, anchor: Mapping[str, Any]) -> str | None:
    """The reasoning reworded by rule; None where no rule applies."""
    reasoning = str(anchor["reasoning"])
    new = reword(reasoning, item_rng(item.item_id, "paraphrase_edit"))
    return None if new.split() == reasoning.split() else new


AXIS = Axis(
    "paraphrase_edit",
    Kind.PRESERVING,
    Mode.EDIT,
    anchors={"base": (0,), "cued_base": (0,)},
    edit=edit,
    one_of=True,
)
