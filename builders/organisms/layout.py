"""A trace as token ids with the part each belongs to, ready for a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from builders.organisms.masks import Masks, Part, Route, masks, padded
from builders.organisms.task import (
    Problem,
    Reasoning,
    Wording,
)
from builders.organisms.texts import prompt_text, reasoning_text
from builders.organisms.words import encode, keyword

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Layout:
    """One trace up to the row that gives the answer.

    Attributes:
        ids: of prompt, reasoning and the word that asks for the answer.
        parts: the ``Part`` of each.
        steps: half-open spans of the reasoning's steps in ``ids``; the closing words are the last.
        route: of the answer.
    """

    ids: tuple[int, ...]
    parts: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]
    route: Route

    @property
    def begin(self) -> int:
        """Where the reasoning begins."""
        return self.steps[0][0]


def lay_out(problem: Problem, wording: Wording, reasoning: Reasoning, route: Route) -> Layout:
    """Encode a trace."""
    prompt = prompt_text(problem, wording)
    ids = encode(list(prompt.words))
    parts = [Part.HINT if hinted else Part.PROMPT for hinted in prompt.hinted]
    steps = []
    for words in reasoning_text(reasoning, wording):
        steps.append((len(ids), len(ids) + len(words)))
        ids += encode(list(words))
        parts += [Part.REASONING] * len(words)
    ids += encode([keyword("answer", wording.language)])
    parts.append(Part.ANSWER)
    return Layout(tuple(ids), tuple(map(int, parts)), tuple(steps), route)


@dataclass(frozen=True)
class Batch:
    """Layouts, filled up on the right.

    Attributes:
        ids, parts: int64 (batch, T).
        answers: int64 (batch,), the row that gives the answer.
        masks: of all rows.
    """

    ids: torch.Tensor
    parts: torch.Tensor
    answers: torch.Tensor
    masks: Masks


def batched(layouts: Sequence[Layout], length: int | None = None) -> Batch:
    """A batch of layouts.

    Args:
        layouts: any.
        length: T; that of the longest where None.
    """
    import torch

    parts = padded([each.parts for each in layouts], int(Part.PADDING), length)
    routes = torch.tensor([int(each.route) for each in layouts])
    return Batch(
        ids=padded([each.ids for each in layouts], 0, length),
        parts=parts,
        answers=torch.tensor([len(each.ids) - 1 for each in layouts]),
        masks=masks(parts, routes),
    )
