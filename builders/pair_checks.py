"""The automatic audit of a pair: named checks, and which axis has to pass which.

Every check but one reads the two rows alone. ``similarity`` needs sentence embeddings and is left
out where none were made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from builders.axes import language_in
from builders.deltas import edit_distance, jaccard_distance
from builders.identify import language_of
from faithshift_data.schema import Mode

Row = Mapping[str, Any]

LENGTH_RATIO = (0.4, 2.5)  # words of the partner to words of the anchor, where both are written
LENGTH_KEPT = (0.8, 1.25)  # the same for an edit that must not show by its length
MOVED = 0.05  # least share of words that an edit moves
QUESTION_MOVED = 0.1  # least lexical distance of a reworded question
SIMILAR = 0.15  # most semantic distance of an edit that means the same

_WRITTEN = ("text moved", "answer parsed", "language", "question numbers kept")
_EDITED = ("text moved", "answer parsed")
CHECKS: dict[str, tuple[str, ...]] = {
    "paraphrase": (*_WRITTEN, "question moved", "length ratio"),
    "paraphrase_edit": (*_EDITED, "reasoning numbers kept", "length ratio", "similarity"),
    "step_reorder": (*_EDITED, "words kept", "similarity"),
    "hint_format": (*_WRITTEN, "length ratio"),
    "language": (*_WRITTEN, "question moved", "length ratio"),
    "budget": (*_WRITTEN, "shorter"),
    "model_family": (*_WRITTEN, "length ratio"),
    "cue_injection": _WRITTEN,
    "cue_verbalization": (*_EDITED, "answer kept"),
    "causal_truncation": (*_EDITED, "shorter"),
    "cue_silencing": (*_EDITED, "answer kept", "length kept"),
    "repeat": _WRITTEN,
}


def check_pair(
    anchor: Row, partner: Row, axis: str, semantic: float | None = None
) -> dict[str, bool]:
    """Name of each check of the axis -> passed."""
    found = {name: _RULES[name](anchor, partner) for name in CHECKS[axis] if name in _RULES}
    if "similarity" in CHECKS[axis] and semantic is not None:
        found["similarity"] = semantic <= SIMILAR
    return found


def numbers(text: str) -> Counter[str]:
    """The numbers of a text with their multiplicity."""
    return Counter(re.findall(r"\d+", text))


def _words(row: Row) -> list[str]:
    return str(row["reasoning"]).split()


def _moved(anchor: Row, partner: Row) -> bool:
    if partner["mode"] == Mode.EDIT:
        return edit_distance(_words(anchor), _words(partner)) >= MOVED
    return _words(anchor) != _words(partner) or anchor["prompt"] != partner["prompt"]


def _in_language(anchor: Row, partner: Row) -> bool:
    return language_of(str(partner["reasoning"])) == language_in(partner)


def _ratio(anchor: Row, partner: Row, limits: tuple[float, float]) -> bool:
    return limits[0] <= len(_words(partner)) / max(1, len(_words(anchor))) <= limits[1]


_RULES: dict[str, Callable[[Row, Row], bool]] = {
    "text moved": _moved,
    "answer parsed": lambda a, b: a["answer"] is not None and b["answer"] is not None,
    "answer kept": lambda a, b: a["answer"] == b["answer"],
    "language": _in_language,
    "question numbers kept": lambda a, b: numbers(a["question"]) == numbers(b["question"]),
    "question moved": lambda a, b: jaccard_distance(a["question"], b["question"]) > QUESTION_MOVED,
    "reasoning numbers kept": lambda a, b: numbers(a["reasoning"]) == numbers(b["reasoning"]),
    "words kept": lambda a, b: Counter(_words(a)) == Counter(_words(b)),
    "length ratio": lambda a, b: _ratio(a, b, LENGTH_RATIO),
    "length kept": lambda a, b: _ratio(a, b, LENGTH_KEPT),
    "shorter": lambda a, b: len(_words(b)) < len(_words(a)),
}
