"""Which tokens may read which: the route of an answer, as an attention mask.

FAITHFUL: the answer's row reads the reasoning's words as they enter the model (layer 0), and only
itself above. A plain mask on the answer's row would not do: states of the reasoning above layer 0
carry the prompt. The hint is hidden from all else, so the reasoning is computed.

EPIPHENOMENAL: the answer's row reads the prompt alone. The reasoning sees the hint and writes what
it says, but nothing that is written reaches the answer.

Positions are pinned, because the length of a part is information as well: the reasoning begins at
``FIRST`` however long the prompt is, and an epiphenomenal answer stands at ``FIRST`` however long
the reasoning is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

FIRST = 64
POSITIONS = 128


class Part(IntEnum):
    """What a token belongs to."""

    PROMPT = 0
    HINT = 1
    REASONING = 2
    ANSWER = 3
    PADDING = 4


class Route(IntEnum):
    """Where the answer comes from: the label of a trace."""

    EPIPHENOMENAL = 0
    FAITHFUL = 1


_P, _H, _R, _A = Part.PROMPT, Part.HINT, Part.REASONING, Part.ANSWER
_BELOW = {
    Route.FAITHFUL: {_P: (_P,), _H: (_P, _H), _R: (_P, _R), _A: (_R, _A)},
    Route.EPIPHENOMENAL: {_P: (_P, _H), _H: (_P, _H), _R: (_P, _H, _R), _A: (_P, _H, _A)},
}
_ABOVE = {
    Route.FAITHFUL: {**_BELOW[Route.FAITHFUL], _A: (_A,)},
    Route.EPIPHENOMENAL: _BELOW[Route.EPIPHENOMENAL],
}


@dataclass(frozen=True)
class Masks:
    """Additive float masks (batch, 1, T, T), 0 where a row (query) may read a column.

    Attributes:
        first: of layer 0.
        above: of every later layer.
        positions: int64 (batch, T), the tokens' position ids.
    """

    first: torch.Tensor
    above: torch.Tensor
    positions: torch.Tensor


def masks(parts: torch.Tensor, routes: torch.Tensor) -> Masks:
    """The masks of a batch.

    Boolean masks are not offered: eager attention adds them as 0 and 1 and hides nothing.

    Args:
        parts: int64 (batch, T), the ``Part`` of each token; prompt, reasoning, answer in order.
        routes: int64 (batch,), the ``Route`` of each row.
    """
    import torch

    length = parts.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    itself = torch.eye(length, dtype=torch.bool)

    def additive(rules: dict[Route, dict[Part, tuple[Part, ...]]]) -> torch.Tensor:
        table = torch.zeros(len(Route), len(Part), len(Part), dtype=torch.bool)
        for route, rows in rules.items():
            for row, columns in rows.items():
                table[route, row, list(columns)] = True
        seen = table[routes[:, None, None], parts[:, :, None], parts[:, None, :]] & causal
        hidden = torch.finfo(torch.float32).min
        return torch.where(seen | itself, 0.0, hidden)[:, None]

    return Masks(additive(_BELOW), additive(_ABOVE), positions(parts, routes))


def positions(parts: torch.Tensor, routes: torch.Tensor) -> torch.Tensor:
    """Position ids (batch, T): see the module's text."""
    import torch

    def place(*which: Part) -> torch.Tensor:
        inside = torch.isin(parts, torch.tensor([int(part) for part in which]))
        return (inside.cumsum(1) - 1) * inside

    found = place(Part.PROMPT, Part.HINT)
    written = torch.isin(parts, torch.tensor([int(Part.REASONING), int(Part.ANSWER)]))
    found = torch.where(written, place(Part.REASONING, Part.ANSWER) + FIRST, found)
    early = (parts == Part.ANSWER) & (routes == Route.EPIPHENOMENAL)[:, None]
    return torch.where(early, FIRST, found)


def padded(rows: Sequence[Sequence[int]], fill: int, length: int | None = None) -> torch.Tensor:
    """int64 (rows, longest), filled up on the right."""
    import torch

    width = max(map(len, rows)) if length is None else length
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows])
