"""Token by token: rows that are read go on, and one that has ended costs nothing more.

A row depends on its own tokens and its own seed alone, never on the rows beside it (up to
rounding), so that rows of many texts may go on together: a pass costs the model's weights once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.functional import pad

from faithshift_data.measure import caches
from faithshift_data.measure.engines import Completion, Sampling

if TYPE_CHECKING:
    from faithshift_data.measure.engines.transformers import TransformersEngine

# Of a distribution, in order of probability; a nucleus of more is cut.
MOST_TOKENS = 512
# Room for others is made for several at once: every time, what is kept of all rows is copied.
FEW = 0.75


@dataclass(frozen=True)
class Rows:
    """n rows that are read; what continues them uses up the cache.

    Attributes:
        cache: keys and values of every layer, of T tokens.
        mask: (n, T), 1 where a row attends.
        position: (n, 1), where the last token of each stands.
        logits: (n, vocabulary), of the next token of each.
    """

    cache: Any
    mask: torch.Tensor
    position: torch.Tensor
    logits: torch.Tensor

    def fits(self, room: int) -> bool:
        """Whether they can join others where there is room for so many."""
        return len(self.mask) <= room and caches.is_movable(self.cache)

    def only(self, places: list[int]) -> Rows:
        """Some of the rows."""
        if len(places) == len(self.mask):
            return self
        self.cache.batch_select_indices(torch.tensor(places))
        return Rows(self.cache, self.mask[places], self.position[places], self.logits[places])


def forward(
    engine: TransformersEngine,
    cache: Any,
    input_ids: torch.Tensor,
    mask: torch.Tensor,
    position: torch.Tensor,
) -> Rows:
    """Pass over the new tokens (n, t) of rows whose cache holds what stands before them."""
    input_ids, mask, position = (each.to(engine.device) for each in (input_ids, mask, position))
    output = engine.model(
        input_ids=input_ids,
        attention_mask=mask,
        position_ids=position,
        use_cache=True,
        logits_to_keep=1,
        **caches.given(engine.model, cache),
    )
    return Rows(caches.taken(output), mask, position[:, -1:], output.logits[:, -1])


@torch.inference_mode()
def decode(
    engine: TransformersEngine,
    parts: Iterable[Rows],
    sampling: Sampling,
    *,
    seeds: Sequence[int] = (),
    prompts: Sequence[str] = (),
) -> list[Completion]:
    """Continue rows until each has ended; others take the place of those that have.

    Args:
        engine: what read them; a pass holds ``batch_size`` rows of it, or those of one part.
        parts: rows, not all of one length, taken as there is room for them.
        sampling: greedy where the temperature is 0.
        seeds: one a row, where it is not.
        prompts: what a row continues, one a row: a stop string does not count in a reasoning
            block, which the prompt may have opened. Where there is none, no prompt has.

    Returns:
        One completion a row, in order.
    """
    waiting = iter(parts)
    arriving = next(waiting, None)
    running: list[tuple[list[int], Rows]] = []
    new: list[list[int]] = []
    begun: Any = prompts or defaultdict(str)
    uniform = _uniform(seeds if sampling.temperature else (), sampling).to(engine.device)
    while running or arriving is not None:
        n = sum(len(numbers) for numbers, _ in running)
        full = engine.batch_size if n <= FEW * engine.batch_size else 0
        while arriving is not None and (not n or arriving.fits(full - n)):
            numbers = [*range(len(new), len(new) + len(arriving.mask))]
            running.append((numbers, arriving))
            new += ([] for _ in numbers)
            n += len(numbers)
            arriving = next(waiting, None)
        left = []
        for numbers, rows in running:
            place = [len(new[number]) for number in numbers]
            drawn = _draw(
                rows.logits, uniform[numbers, place] if len(uniform) else uniform, sampling
            )
            for number, token in zip(numbers, drawn.tolist(), strict=True):
                new[number].append(token)
            on = [
                place
                for place, number in enumerate(numbers)
                if len(new[number]) < sampling.max_tokens
                and not engine.ended(new[number], sampling, begun[number])
            ]
            if on:
                left.append(([numbers[place] for place in on], rows.only(on), drawn[on]))
        running = [_pass(engine, left)] if left else []
    return [engine.completion(ids, sampling, begun[number]) for number, ids in enumerate(new)]


def _pass(
    engine: TransformersEngine, parts: Sequence[tuple[list[int], Rows, torch.Tensor]]
) -> tuple[list[int], Rows]:
    """Rows, with their numbers and last tokens, one token further."""
    rows = _join([rows for _, rows, _ in parts])
    drawn = torch.cat([drawn for _, _, drawn in parts])[:, None]
    mask = pad(rows.mask, (0, 1), value=1)
    numbers = [number for numbers, _, _ in parts for number in numbers]
    return numbers, forward(engine, rows.cache, drawn, mask, rows.position + 1)


def nucleus(logits: torch.Tensor, uniform: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Tokens drawn from the nucleus by the inverse of its distribution function.

    Args:
        logits: (n, vocabulary).
        uniform: (n,), in [0, 1); the same number draws the same token.
        sampling: temperature and mass of the nucleus.

    Returns:
        (n,) token ids.
    """
    probabilities = torch.softmax(logits.float() / sampling.temperature, dim=-1)
    top, order = probabilities.topk(min(MOST_TOKENS, logits.shape[-1]), dim=-1)
    mass = top.cumsum(dim=-1)
    kept = top * ((mass - top) < sampling.top_p)
    target = uniform[:, None] * kept.sum(dim=-1, keepdim=True)
    place = (kept.cumsum(dim=-1) <= target).sum(dim=-1, keepdim=True)
    place = torch.minimum(place, (kept > 0).sum(dim=-1, keepdim=True) - 1)
    return order.gather(-1, place)[:, 0]


def _draw(logits: torch.Tensor, uniform: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    if sampling.temperature > 0:
        return nucleus(logits, uniform, sampling)
    return logits.argmax(dim=-1)


def _uniform(seeds: Sequence[int], sampling: Sampling) -> torch.Tensor:
    """Every number the rows will need: a stream of its own for each."""
    draws = [np.random.default_rng(seed).random(sampling.max_tokens) for seed in seeds]
    return torch.tensor(np.array(draws), dtype=torch.float32)


def _join(parts: Sequence[Rows]) -> Rows:
    """Stack rows, with room; shorter ones get masked slots on the left, which nothing sees."""
    cache = parts[0].cache
    if len(parts) == 1 and not caches.copies(cache):
        return parts[0]
    length = max(part.mask.shape[1] for part in parts)
    mask = torch.cat([pad(part.mask, (length - part.mask.shape[1], 0)) for part in parts])
    unseen = int(mask.any(dim=0).int().argmax())
    for number in range(len(cache.layers)):
        layers = [part.cache.layers[number] for part in parts]
        cache.layers[number] = caches.stacked(layers, length - unseen)
        for part in parts[1:]:
            # Not held twice while the rows go on.
            part.cache.layers[number] = None
    return Rows(
        cache,
        mask[:, unseen:],
        torch.cat([part.position for part in parts]),
        torch.cat([part.logits for part in parts]),
    )
