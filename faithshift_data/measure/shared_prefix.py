"""Many continuations of one prefix for the price of one pass over it.

A trace is read once; early answering, scrambled reasoning and the like then start from the
longest run of tokens they share with it. Tokens are compared after each text has been
tokenised whole, so a merge across a boundary shortens the shared run and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Any

import torch

from faithshift_data.measure import caches
from faithshift_data.measure.attention import unread
from faithshift_data.measure.decoding import Rows, decode, forward
from faithshift_data.measure.engines import Completion, Sampling
from faithshift_data.measure.engines.transformers import TransformersEngine

PASS = 24
# Of prompts that are remembered: some two hundred of a small model.
MOST_BYTES = 2**30


@dataclass(frozen=True)
class Reading:
    """One forward pass over a text.

    Attributes:
        ids: its T tokens.
        cache: keys and values of every layer.
        logits: (1, vocabulary), of the next token; None where they were not asked for.
    """

    ids: list[int]
    cache: Any
    logits: torch.Tensor | None = None

    @property
    def nbytes(self) -> int:
        """What its cache takes."""
        held = [each for layer in self.cache.layers for each in (layer.keys, layer.values)]
        return sum(each.nbytes for each in held if each is not None)

    def shared(self, ids: list[int]) -> int:
        """How many first tokens a text shares with it; the text's last one is always new."""
        limit = min(len(self.ids), len(ids) - 1)
        return next((place for place in range(limit) if self.ids[place] != ids[place]), limit)

    @property
    def slides(self) -> bool:
        """Whether some layer sees only so far back, counted in slots, masked ones among them."""
        return any(getattr(layer, "is_sliding", False) for layer in self.cache.layers)

    def upto(self, length: int) -> Any:
        """A cache of its first tokens that may grow: growing copies, so this one stays."""
        cache = copy(self.cache)
        cache.layers = [caches.cropped(layer, len(self.ids) - length) for layer in cache.layers]
        return cache

    def row(self) -> Rows:
        """A row that goes on from it; the reading stays as it is.

        Raises:
            ValueError: it has no logits.
        """
        if self.logits is None:
            raise ValueError("a reading without logits cannot be continued")
        length = len(self.ids)
        device = self.logits.device
        mask = torch.ones((1, length), dtype=torch.long, device=device)
        place = torch.tensor([[length - 1]], device=device)
        return Rows(self.upto(length), mask, place, self.logits)


@torch.inference_mode()
def read(engine: TransformersEngine, text: str, start: Reading | None = None) -> Reading:
    """Pass over ``text`` once, or over what a reading that it starts from does not hold."""
    ids = engine.ids(text)
    keep = start.shared(ids) if start else 0
    cache = caches.begun(engine.model, start, keep)
    new = torch.tensor([ids[keep:]], device=engine.device)
    base = engine.model.base_model
    with unread(engine.model):
        output = base(input_ids=new, use_cache=True, **caches.given(base, cache))
    return Reading(ids, caches.taken(output))


class Prompts:
    """Readings of prompts, from which traces start: what begins alike is read once."""

    def __init__(self, engine: TransformersEngine) -> None:
        """Nothing is read yet."""
        self._engine = engine
        self._known: list[Reading] = []

    def reading(self, prompt: str) -> Reading:
        """The prompt's, with logits, made from the remembered one that shares most with it."""
        ids = self._engine.ids(prompt)
        same = next((known for known in self._known if known.ids == ids), None)
        if same is None:
            same = self._read(ids)
        else:
            self._known.remove(same)
        self._known.append(same)
        while len(self._known) > 1 and sum(each.nbytes for each in self._known) > MOST_BYTES:
            del self._known[0]
        return same

    @torch.inference_mode()
    def _read(self, ids: list[int]) -> Reading:
        near = max(self._known, key=lambda known: known.shared(ids), default=None)
        keep = near.shared(ids) if near else 0
        cache = caches.begun(self._engine.model, near, keep)
        mask = torch.ones((1, len(ids)), dtype=torch.long)
        position = torch.arange(keep, len(ids))[None]
        with unread(self._engine.model):
            rows = forward(self._engine, cache, torch.tensor([ids[keep:]]), mask, position)
        return Reading(ids, rows.cache, rows.logits)


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
    return continue_all(engine, [(reading, texts)], sampling)[0]


def continue_all(
    engine: TransformersEngine,
    asked: Sequence[tuple[Reading, Sequence[str]]],
    sampling: Sampling,
) -> list[list[Completion]]:
    """``continue_from`` for several readings with their texts, read and continued together."""
    if sampling.temperature > 0:
        raise ValueError("continue_from is greedy: temperature must be 0")
    rows = [row for reading, texts in asked for row in _rows(engine, reading, texts)]
    groups = _groups(rows, engine.batch_size)
    with unread(engine.model):
        parts = (_prefill(engine, [rows[place] for place in group]) for group in groups)
        said = decode(engine, parts, sampling)
    done = dict(zip(chain.from_iterable(groups), said, strict=True))
    bounds = accumulate((len(texts) for _, texts in asked), initial=0)
    return [[done[place] for place in range(*span)] for span in pairwise(bounds)]


def tokens_read(
    engine: TransformersEngine, reading: Reading, texts: Sequence[str]
) -> tuple[int, int]:
    """Tokens that ``continue_from`` passes over before it decodes, and that the texts have.

    The first figure counts padding, but not the reading itself; the second is what completing
    each text alone would pass over.
    """
    rows = _rows(engine, reading, texts)
    groups = _groups(rows, engine.batch_size)
    computed = sum(len(group) * max(len(rows[place].new) for place in group) for group in groups)
    return computed, sum(row.keep + len(row.new) for row in rows)


@dataclass(frozen=True)
class _Row:
    """A text: what it keeps of a reading, in tokens, and the tokens that it goes on with."""

    reading: Reading
    keep: int
    new: list[int]


def _rows(engine: TransformersEngine, reading: Reading, texts: Sequence[str]) -> list[_Row]:
    encoded = [engine.ids(text) for text in texts]
    kept = [reading.shared(ids) for ids in encoded]
    return [_Row(reading, keep, ids[keep:]) for keep, ids in zip(kept, encoded, strict=True)]


def _groups(rows: Sequence[_Row], most: int) -> list[list[int]]:
    """Rows of like length, so that little is padded; the cheapest way to part them by length.

    A group has ``most`` rows at most. It costs its rows times the longest of them, and a pass of
    its own ``PASS`` tokens. Where layers count slots to see so far back, nothing is padded.
    """
    new = [len(row.new) for row in rows]
    level = any(row.reading.slides for row in rows)
    order = sorted(range(len(new)), key=lambda row: (new[row], row))
    best: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(order) + 1):
        width = new[order[end - 1]]
        ways = (
            (best[start][0] + (end - start) * width + PASS, start)
            for start in range(max(0, end - most), end)
            if not level or new[order[start]] == width
        )
        best.append(min(ways))
    groups, end = [], len(order)
    while end:
        start = best[end][1]
        groups.append(order[start:end])
        end = start
    return groups[::-1]


@torch.inference_mode()
def _prefill(engine: TransformersEngine, rows: Sequence[_Row]) -> Rows:
    """Read the new tokens of rows; padding stands on the left of what is kept and what is new."""
    n, past = len(rows), max(row.keep for row in rows)
    width = max(len(row.new) for row in rows)
    input_ids = torch.full((n, width), engine.tokenizer.pad_token_id)
    mask = torch.zeros((n, past + width), dtype=torch.long)
    position = torch.zeros((n, width), dtype=torch.long)
    for number, row in enumerate(rows):
        start = width - len(row.new)
        input_ids[number, start:] = torch.tensor(row.new)
        mask[number, past - row.keep : past] = 1
        mask[number, past + start :] = 1
        position[number, start:] = torch.arange(row.keep, row.keep + len(row.new))
    # Where nothing is kept there is nothing to stack.
    cache = _kept(rows, past, width) if past else caches.fresh(engine.model)
    return forward(engine, cache, input_ids, mask, position)


def _kept(rows: Sequence[_Row], past: int, room: int) -> Any:
    """A cache of what rows keep, masked slots before the shorter, with room for tokens to come."""
    parts = [row.reading.upto(row.keep) for row in rows]
    cache = parts[0]
    layers = zip(*(part.layers for part in parts), strict=True)
    cache.layers = [caches.stacked(several, past, room) for several in layers]
    return cache
