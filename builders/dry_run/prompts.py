"""The user's turn of one item in every condition, as the model's chat template receives it."""

from __future__ import annotations

from collections.abc import Iterator

from builders.axes import Axis, Turn, used
from builders.presets import Preset
from builders.prompts import OPENER, make_cue, user_message
from builders.sources import Item


def prompts(preset: Preset, item: Item) -> Iterator[str]:
    """The conditions of a preset with their turns, line by line."""
    cue = make_cue(item, preset.cue_format)
    yield from _turn("base", Turn(user_message(item), None))
    yield from _turn("cued_base", Turn(user_message(item, cue=cue), cue))
    axes = used(preset.without, second=len(preset.models) > 1, language=preset.language)
    for axis in axes.values():
        if axis.condition == "model_family" and preset.all_write:
            yield "[model_family] the clean anchors of two models: nothing of its own"
        elif axis.turn:
            yield from _regenerated(axis, item, preset)
        elif axis.edit:
            yield f"[{axis.condition}] an edit of the reasoning of {' or '.join(axis.anchors)}"


def _regenerated(axis: Axis, item: Item, preset: Preset) -> Iterator[str]:
    anchor = next(iter(axis.starts(item.item_id)))
    cue = None if anchor == "base" else make_cue(item, preset.cue_format)
    assert axis.turn is not None
    try:
        turn = axis.turn(item, cue)
    except (ValueError, OSError) as error:
        yield f"[{axis.condition}] from {anchor}: {error}"
        return
    if turn is None:
        yield f"[{axis.condition}] from {anchor}: this item has none"
    else:
        yield from _turn(axis.condition, turn, f" from {anchor}")


def _turn(name: str, turn: Turn, start: str = "") -> Iterator[str]:
    yield f"[{name}]{start}"
    yield from (f"  {line}" for line in turn.message.splitlines())
    share = f" ({turn.share:.0%} of the tokens)" if turn.share < 1 else ""
    yield f"  -> {turn.opener or OPENER}{share}"
