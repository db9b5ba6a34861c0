"""Transformations of a trace, one file each.

An axis either asks a model anew (``turn``, mode regen) or edits the anchor's text (``edit``,
mode edit). What kind a pair is follows from the labels of its two traces; the ``kind`` here is
what the axis is meant to be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from builders.prompts import Cue
from builders.sources import Item, item_rng
from faithshift_data.schema import Kind, Mode

WRITER, SECOND = "writer", "second"


@dataclass(frozen=True)
class Turn:
    """A user message to generate from, and what belongs to it.

    Attributes:
        message: the user's turn; its first line is the question.
        cue: the cue it holds.
        opener: the first words of the assistant's turn; None for the usual ones.
        share: of the tokens that anchors may write.
        language: of the message and of the reasoning asked for.
        options: as the message prints them; None for the item's own.
    """

    message: str
    cue: Cue | None
    opener: str | None = None
    share: float = 1.0
    language: str = "en"
    options: tuple[str, ...] | None = None

    def tokens(self, most: int) -> int:
        """The most new tokens, where anchors may write ``most``."""
        return max(1, int(self.share * most))


@dataclass(frozen=True)
class Axis:
    """One transformation, or one condition of it.

    Attributes:
        name: of the axis.
        kind: what its pairs are meant to be.
        mode: regen or edit.
        anchors: conditions it starts from, with the generations (gen_index) it uses.
        turn: regen: item and cue of the anchor -> the new user turn, or None where there is none.
        edit: edit: item and anchor's row -> the new reasoning, or None where there is none.
        needs_label: the anchor label without which a partner is pointless; None for any.
        keeps_answer: the partner carries the anchor's answer instead of a forced one.
        condition: of its partners; the name where it is not given.
        one_of: it starts from one of ``anchors``, drawn by item id.
        mixed: the kind of a pair follows from its labels alone.
        model: who writes the partner: the writer or the second model.
        language: of the partner's reasoning.
    """

    name: str
    kind: Kind
    mode: Mode
    anchors: Mapping[str, tuple[int, ...]]
    turn: Callable[[Item, Cue | None], Turn | None] | None = None
    edit: Callable[[Item, Mapping[str, Any]], str | None] | None = None
    needs_label: int | None = None
    keeps_answer: bool = False
    condition: str = ""
    one_of: bool = False
    mixed: bool = False
    model: str = WRITER
    language: str = "en"

    def __post_init__(self) -> None:
        """The condition is named like the axis unless it is given."""
        object.__setattr__(self, "condition", self.condition or self.name)

    def starts(self, item_id: str) -> Mapping[str, tuple[int, ...]]:
        """The anchors of one item: all, or the drawn one.

        Conditions of one axis share the draw, so that two that name the same anchors in
        opposite order start from different ones.
        """
        if not self.one_of:
            return self.anchors
        names = list(self.anchors)
        drawn = names[item_rng(item_id, f"{self.name}/anchor").randrange(len(names))]
        return {drawn: self.anchors[drawn]}


@cache
def registry() -> dict[str, Axis]:
    """Every axis by the condition of its partners; an edit of edited traces comes after them."""
    from builders.axes import (
        budget,
        causal_truncation,
        cue_injection,
        cue_silencing,
        cue_verbalization,
        hint_format,
        language,
        model_family,
        paraphrase,
        paraphrase_edit,
        step_reorder,
    )

    axes = (
        paraphrase.AXIS,
        paraphrase_edit.AXIS,
        step_reorder.AXIS,
        hint_format.AXIS,
        language.AXIS,
        budget.CAP,
        budget.BRIEF,
        model_family.AXIS,
        cue_injection.AXIS,
        cue_verbalization.AXIS,
        causal_truncation.AXIS,
        cue_silencing.AXIS,
    )
    return {axis.condition: axis for axis in axes}


def used(without: Collection[str], *, second: bool, language: str = "es") -> dict[str, Axis]:
    """The axes of one build.

    Args:
        without: names of axes left out.
        second: whether there is a second model.
        language: that the language axis goes into.
    """
    from builders.axes.language import axis as into

    return {
        condition: into(language) if axis.name == "language" else axis
        for condition, axis in registry().items()
        if axis.name not in without and (second or axis.model != SECOND)
    }


def language_asked(axis: str | None) -> str:
    """The language that partners on an axis reason in; English for anchors and repeats."""
    return next((made.language for made in registry().values() if made.name == axis), "en")


def language_in(row: Mapping[str, Any]) -> str:
    """The language that a trace was asked to reason in, by its axis and its prompt."""
    usual = language_asked(row["axis"])
    if usual == "en":
        return usual
    from builders.axes.language import asked_in

    return asked_in(row["prompt"]) or usual
