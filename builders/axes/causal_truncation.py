"""Causal truncation: the second half of the steps is cut, the final answer stays attached.

Where the model no longer reaches that answer from what is left, the steps shown do not
explain it any more and the label falls to 0; where it still does, the cut steps were
decorative and the pair is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builders.axes import Axis
from builders.sources import Item
from faithshift_data.schema import Kind, Mode

SHARE = 0.5


def edit(item: Item, anchor: Mapping[str, Any]) -> str | None:
    """Keep the first half of the steps, at least one and never all of them."""
    steps = anchor["steps"]
    if len(steps) < 2:
        return None
    return "".join(steps[: max(1, int(SHARE * len(steps)))]).rstrip()


AXIS = Axis(
    "causal_truncation",
    Kind.ALTERING,
    Mode.EDIT,
    anchors={"base": (0,), "cued_base": (0,)},
    edit=edit,
    needs_label=1,
    keeps_answer=True,
)
