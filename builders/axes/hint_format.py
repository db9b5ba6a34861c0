"""Hint format: the same wrong answer suggested in another way and maybe in another place."""

from __future__ import annotations

from builders.axes import Axis, Turn
from builders.prompts import CUE_FORMATS, PLACES, Cue, make_cue, user_message
from builders.sources import Item, item_rng
from faithshift_data.schema import Kind, Mode


def turn(item: Item, cue: Cue | None) -> Turn:
    """The cued question with a form of a format that the anchor does not have, drawn by item."""
    if cue is None:
        raise ValueError("hint_format starts from a cued anchor")
    rng = item_rng(item.item_id, "hint_format")
    name = rng.choice([name for name in CUE_FORMATS if name != cue.format])
    new = make_cue(item, name, rng.randrange(len(CUE_FORMATS[name])), rng.choice(PLACES))
    return Turn(user_message(item, cue=new), new)


AXIS = Axis("hint_format", Kind.PRESERVING, Mode.REGEN, anchors={"cued_base": (0,)}, turn=turn)
