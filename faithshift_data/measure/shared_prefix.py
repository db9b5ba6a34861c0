"""Many continuations of one prefix for the price of one pass over it.

A trace is read once; early answering, scrambled reasoning and the like then start from the
longest run of tokens they share with it. Tokens are compared after each text has been
tokenised whole, so a merge across a boundary shortens the shared run and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache

from faithshift_data.measure.engines import Completion, Sampling
from faithshift_data.measure.engines.transformers import TransformersEngine

PASS = 24


@dataclass(frozen=True)
class Reading:
    """One forward pass over a text.

    Attributes:
        ids: its T tokens.
        cache: keys and values of every layer.
    """

    ids: list[int]
    cache: Any


@torch.inference_mode()
def read(engine: TransformersEngine, text: str) -> Reading:
    """Pass over ``text`` once."""
    ids = engine.ids(text)
    output = engine.model.base_model(input_ids=torch.tensor([ids]), use_cache=True)
    return Reading(ids, output.cache)


def continue_from(
    engine: TransformersEngine, reading: Reading, texts: Sequence[str], sampling: Sampling
) -> list[Completion]:
    """Greedy continuations of ``texts``, reusing what each shares with the reading.

    Args:
        engine: the engine that made the reading.
        reading: a pass over a text that the others mostly share.
        texts: whole raw prompts; a text may share nothing.
        sampling: greedy only; ``stop`` and ``max_tokens`` apply.

    Returns:
        One completion a text, in order, equal to completing each text alone (up to rounding).
    """
    if sampling.temperature > 0:
        raise ValueError("continue_from is greedy: temperature must be 0")
    encoded = [engine.ids(text) for text in texts]
    shared = [_common(reading.ids, ids) for ids in encoded]
    groups = _groups(encoded, shared)
    parts = [
        _prefill(engine, reading, [(shared[row], encoded[row][shared[row] :]) for row in rows])
        for rows in groups
    ]
    done = _decode(engine, _join(parts), sampling)
    order = [row for rows in groups for row in rows]
    results = dict(zip(order, done, strict=True))
    return [results[row] for row in range(len(texts))]


def tokens_read(
    engine: TransformersEngine, reading: Reading, texts: Sequence[str]
) -> tuple[int, int]:
    """Tokens that ``continue_from`` passes over before it decodes, and that the texts have.

    The first figure counts padding, but not the reading itself; the second is what completing
    each text alone would pass over.
    """
    encoded = [engine.ids(text) for text in texts]
    new = [len(ids) - _common(reading.ids, ids) for ids in encoded]
    groups = _groups(encoded, [len(ids) - n for ids, n in zip(encoded, new, strict=True)])
    return sum(len(rows) * max(new[row] for row in rows) for rows in groups), sum(map(len, encoded))


def _groups(encoded: Sequence[list[int]], shared: Sequence[int]) -> list[list[int]]:
    """Rows of like length, so that little is padded; the cheapest way to part them by length.

    A group costs its rows times the longest of them, and a pass of its own ``PASS`` tokens.
    """
    new = [len(ids) - keep for ids, keep in zip(encoded, shared, strict=True)]
    order = sorted(range(len(new)), key=lambda row: (new[row], row))
    best: list[tuple[int, list[list[int]]]] = [(0, [])]
    for end in range(1, len(order) + 1):
        width = new[order[end - 1]]
        ways = ((best[start][0] + (end - start) * width + PASS, start) for start in range(end))
        cost, start = min(ways)
        best.append((cost, [*best[start][1], order[start:end]]))
    return best[-1][1]


def _common(left: list[int], right: list[int]) -> int:
    limit = min(len(left), len(right) - 1)
    for place in range(limit):
        if left[place] != right[place]:
            return place
    return limit


@dataclass(frozen=True)
class _Rows:
    """Rows ready to decode: what they attend to, where they stand, the next token of each."""

    cache: Any
    mask: torch.Tensor
    position: torch.Tensor
    drawn: torch.Tensor


@torch.inference_mode()
def _prefill(
    engine: TransformersEngine, reading: Reading, rows: Sequence[tuple[int, list[int]]]
) -> _Rows:
    """Read the new tokens of rows that keep (shared, new) tokens; padding stands on the left."""
    n, past, width = len(rows), max(keep for keep, _ in rows), max(len(ids) for _, ids in rows)
    # An empty cache does not repeat its rows: texts that share nothing start from a new one.
    cache = deepcopy(reading.cache) if past else DynamicCache(config=engine.model.config)
    if 0 < past < len(reading.ids):
        cache.crop(past - len(reading.ids))
    cache.batch_repeat_interleave(n)
    input_ids = torch.full((n, width), engine.tokenizer.pad_token_id)
    mask = torch.zeros((n, past + width), dtype=torch.long)
    position = torch.zeros((n, width), dtype=torch.long)
    for row, (keep, ids) in enumerate(rows):
        start = width - len(ids)
        input_ids[row, start:] = torch.tensor(ids)
        mask[row, :keep] = 1
        mask[row, past + start :] = 1
        position[row, start:] = torch.arange(keep, keep + len(ids))
    drawn = _next(engine, cache, input_ids, mask, position)
    return _Rows(cache, mask, position[:, -1:], drawn)


def _join(parts: Sequence[_Rows]) -> _Rows:
    """Stack groups of rows; shorter ones get masked slots on the left, which nothing sees."""
    if len(parts) == 1:
        return parts[0]
    length = max(part.mask.shape[1] for part in parts)
    gaps = [length - part.mask.shape[1] for part in parts]
    cache = parts[0].cache
    for number, layer in enumerate(cache.layers):
        for name in ("keys", "values"):
            blocks = [getattr(part.cache.layers[number], name) for part in parts]
            padded = [pad(block, (0, 0, gap, 0)) for block, gap in zip(blocks, gaps, strict=True)]
            setattr(layer, name, torch.cat(padded))
    masks = [pad(part.mask, (gap, 0)) for part, gap in zip(parts, gaps, strict=True)]
    return _Rows(
        cache,
        torch.cat(masks),
        torch.cat([part.position for part in parts]),
        torch.cat([part.drawn for part in parts]),
    )


@torch.inference_mode()
def _decode(engine: TransformersEngine, rows: _Rows, sampling: Sampling) -> list[Completion]:
    mask, position, drawn = rows.mask, rows.position, rows.drawn
    new: list[list[int]] = [[] for _ in drawn]
    running = set(range(len(new)))
    for step in range(sampling.max_tokens):
        for row in sorted(running):
            new[row].append(int(drawn[row]))
            text = engine.tokenizer.decode(new[row])
            ended = new[row][-1] == engine.tokenizer.eos_token_id
            if ended or any(stop in text for stop in sampling.stop):
                running.discard(row)
        if not running or step + 1 == sampling.max_tokens:
            break
        mask = torch.cat([mask, mask.new_ones((len(new), 1))], dim=1)
        position = position + 1
        drawn = _next(engine, rows.cache, drawn[:, None], mask, position)
    return [engine.completion(ids, sampling) for ids in new]


def _next(
    engine: TransformersEngine,
    cache: Any,
    input_ids: torch.Tensor,
    mask: torch.Tensor,
    position: torch.Tensor,
) -> torch.Tensor:
    output = engine.model(
        input_ids=input_ids,
        attention_mask=mask,
        position_ids=position,
        cache=cache,
        logits_to_keep=1,
    )
    return output.logits[:, -1].argmax(dim=-1)
