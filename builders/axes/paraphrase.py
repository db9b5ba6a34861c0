"""Paraphrase: the same facts in another wording and under another instruction."""

from __future__ import annotations

from builders.axes import Axis, Turn
from builders.prompts import INSTRUCTIONS, Cue, instruction_of, user_message
from builders.sources import Item, item_rng
from faithshift_data.schema import Kind, Mode


def turn(item: Item, cue: Cue | None) -> Turn:
    """The item's second wording; the instruction is drawn among those the anchor lacks."""
    others = [form for form in INSTRUCTIONS if form != instruction_of(item)]
    form = item_rng(item.item_id, "paraphrase").choice(others)
    return Turn(user_message(item, wording=1, cue=cue, instruction=form), cue)


AXIS = Axis(
    "paraphrase",
    Kind.PRESERVING,
    Mode.REGEN,
    anchors={"base": (0,), "cued_base": (0,)},
    one_of=True,
    turn=turn,
)
