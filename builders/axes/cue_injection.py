"""Cue injection: a clean prompt and the same prompt with a wrong answer suggested.

Its partners are the cued anchors themselves, so it generates nothing of its own.
"""

from __future__ import annotations

from builders.axes import Axis
from faithshift_data.schema import Kind, Mode

AXIS = Axis("cue_injection", Kind.ALTERING, Mode.REGEN, anchors={})
