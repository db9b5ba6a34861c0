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

from faithshift_data.measure.engines import Completion, Sampling
from faithshift_data.measure.engines.transformers import TransformersEngine

SHORT = 24


@dataclass(frozen=True)
class Reading:
    """One forward pass over a text.

    Attributes:
        ids: its T tokens.
        cache: keys and values of every layer.
        hidden_states: L + 1 tensors of shape (1, T, d): embedding, the blocks, the last after
            the final norm; None unless asked for.
        attentions: L tensors of shape (1, heads, T, T); None unless asked for.
    """

    ids: list[int]
    cache: Any
    hidden_states: tuple[torch.Tensor, ...] | None
    attentions: tuple[torch.Tensor, ...] | None


@torch.inference_mode()
def read(engine: TransformersEngine, text: str, *, states: bool = False) -> Reading:
    """Pass over ``text`` once; with ``states`` the engine must run eager attention."""
    ids = engine.ids(text)
    output = engine.model.model(
        input_ids=torch.tensor([ids]),
        use_cache=True,
        output_hidden_states=states,
        output_attentions=states,
    )
    if states and len(output.attentions or ()) != engine.model.config.num_hidden_layers:
        raise RuntimeError("attentions need an engine with attention='eager'")
    return Reading(
        ids,
        output.cache,
        output.hidden_states if states else None,
        output.attentions if states else None,
    )


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
    results: dict[int, Completion] = {}
    groups: tuple[list[int], list[int]] = ([], [])
    for row, (ids, keep) in enumerate(zip(encoded, shared, strict=True)):
        groups[len(ids) - keep > SHORT].append(row)
    for rows in groups:
        if rows:
            fresh = [encoded[row][shared[row] :] for row in rows]
            done = _rows(engine, reading, [shared[row] for row in rows], fresh, sampling)
            results |= dict(zip(rows, done, strict=True))
    return [results[row] for row in range(len(texts))]


def _common(left: list[int], right: list[int]) -> int:
    limit = min(len(left), len(right) - 1)
    for place in range(limit):
        if left[place] != right[place]:
            return place
    return limit


@torch.inference_mode()
def _rows(
    engine: TransformersEngine,
    reading: Reading,
    shared: list[int],
    fresh: list[list[int]],
    sampling: Sampling,
) -> list[Completion]:
    n, past, width = len(fresh), max(shared), max(map(len, fresh))
    cache = deepcopy(reading.cache)
    if past < len(reading.ids):
        cache.crop(past - len(reading.ids))
    cache.batch_repeat_interleave(n)
    input_ids = torch.full((n, width), engine.tokenizer.pad_token_id)
    mask = torch.zeros((n, past + width), dtype=torch.long)
    position = torch.zeros((n, width), dtype=torch.long)
    for row, (keep, ids) in enumerate(zip(shared, fresh, strict=True)):
        pad = width - len(ids)
        input_ids[row, pad:] = torch.tensor(ids)
        mask[row, :keep] = 1
        mask[row, past + pad :] = 1
        position[row, pad:] = torch.arange(keep, keep + len(ids))
    new: list[list[int]] = [[] for _ in range(n)]
    open_rows = set(range(n))
    for _ in range(sampling.max_tokens):
        output = engine.model(
            input_ids=input_ids,
            attention_mask=mask,
            position_ids=position,
            cache=cache,
            logits_to_keep=1,
        )
        drawn = output.logits[:, -1].argmax(dim=-1)
        for row in sorted(open_rows):
            new[row].append(int(drawn[row]))
            text = engine.tokenizer.decode(new[row])
            ended = new[row][-1] == engine.tokenizer.eos_token_id
            if ended or any(stop in text for stop in sampling.stop):
                open_rows.discard(row)
        if not open_rows:
            break
        input_ids = drawn[:, None]
        mask = torch.cat([mask, mask.new_ones((n, 1))], dim=1)
        position = position[:, -1:] + 1
    return [engine.completion(ids, sampling) for ids in new]
