"""Step reorder: two neighbouring steps change places where neither rests on the other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from builders.axes import Axis
from builders.sources import Item, item_rng
from faithshift_data.schema import Kind, Mode

_REFERS_BACK = re.compile(
    r"\b(so|thus|hence|therefore|then|next|finally|this|that|these|those|it|its|they|them|he|she"
    r"|result|because|also|now)\b|^\s*(step\s+)?(\d+|[A-D])\s*[.):]",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")


def independent(first: str, second: str) -> bool:
    """Whether two steps share no number and neither refers back to what stands before it."""
    if min(len(first.split()), len(second.split())) < 3:
        return False
    if set(_NUMBER.findall(first)) & set(_NUMBER.findall(second)):
        return False
    return not (_REFERS_BACK.search(first.strip()) or _REFERS_BACK.search(second.strip()))


def edit(item: Item, anchor: Mapping[str, Any]) -> str | None:
    """Swap one independent pair of neighbours; white space stays where it was."""
    steps = list(anchor["steps"])
    places = [k for k in range(len(steps) - 1) if independent(steps[k], steps[k + 1])]
    if not places:
        return None
    place = item_rng(item.item_id, f"reorder/{anchor['gen_index']}").choice(places)
    left, right = steps[place], steps[place + 1]
    steps[place] = left.replace(left.strip(), right.strip())
    steps[place + 1] = right.replace(right.strip(), left.strip())
    return "".join(steps)


AXIS = Axis(
    "step_reorder",
    Kind.PRESERVING,
    Mode.EDIT,
    anchors={"base": (0, 1), "cued_base": (0, 1)},
    edit=edit,
)
