"""Paraphrase: the same facts in another wording and under another instruction."""

from __future__ import annotations

from builders.axes import Axis, Turn
from builders.prompts import INSTRUCTIONS, Cue, instruction_of, user_message
from builders.sources import Item, item_rng
from faithshift_data.schema import Kind, Mode


def turn(item: Item, cue: Cue | None) -> Turn | None:
    """The item's second wording; the instruction is drawn among those the anchor lacks.

    None where the item has one wording, as a stated question may.
    """
    if len(item.wordings) < 2:
        return None
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
