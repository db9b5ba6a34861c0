"""Model family: the clean question, answered by the second model of a preset."""

from __future__ import annotations

from builders.axes import SECOND, Axis, Turn
from builders.prompts import Cue, user_message
from builders.sources import Item
from faithshift_data.schema import Kind, Mode

LICENCE_NOTE = """\
This set holds traces of one model family only. The one other small model that could be had
without a model hub was Gemma 3 270M. Its terms of use (version of 1 April 2026) claim no rights
in the text it writes and do not count that text as a derivative of the model, so that its traces
alone could ship here. They also make a derivative of every model that is trained on its outputs
to perform like it, by synthetic data or by intermediate representations, and ask for the terms to
be passed on with it. The hidden-state descriptors stored here are such representations, and
users train on what they find here: neither goes with CC-BY-4.0. The `model_family` axis is built
for presets that name a second model of their own.
"""


def turn(item: Item, cue: Cue | None) -> Turn:
    """The clean anchor's own turn."""
    return Turn(user_message(item, cue=cue), cue)


AXIS = Axis(
    "model_family",
    Kind.PRESERVING,
    Mode.REGEN,
    anchors={"base": (0,)},
    turn=turn,
    model=SECOND,
)
