"""Keys and values: what transformers calls them, how they are stacked, and how they grow."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache, DynamicLayer, cache_utils
from transformers.cache_utils import DynamicSlidingWindowLayer

NAMES = ("cache", "past_key_values")
# Stands for a layer that uses the keys of another; new in transformers 5.24.
DUMMY: tuple[type, ...] = (cache_utils.DummyLayer,) if hasattr(cache_utils, "DummyLayer") else ()
READ = (DynamicLayer, DynamicSlidingWindowLayer, *DUMMY)
ROOM = 16


def given(model: Any, read: Any) -> dict[str, Any]:
    """The keyword by which a model takes what it has read before."""
    return {_name(type(model)): read}  # type: ignore[arg-type]


@cache
def _name(kind: Any) -> str:
    known = inspect.signature(kind.forward).parameters
    return next((name for name in NAMES if name in known), NAMES[0])


def taken(output: Any) -> Any:
    """Keys and values of a pass."""
    return next(getattr(output, name) for name in NAMES if hasattr(output, name))


def fresh(model: Any) -> DynamicCache:
    """An empty one that can be cropped, also where layers see only so far back."""
    made = DynamicCache(config=model.config)
    for layer in made.layers:
        if isinstance(layer, DynamicSlidingWindowLayer):
            layer.activate_past_recording()
    return made


def begun(model: Any, reading: Any, keep: int) -> Any:
    """The cache of the first ``keep`` tokens of a reading; a fresh one where none are kept."""
    return reading.upto(keep) if keep else fresh(model)


def is_movable(cache: Any) -> bool:
    """Whether rows of it can be cropped and stacked; a state that sums up all tokens cannot."""
    return all(type(layer) in (*READ, Roomy) for layer in cache.layers)


def copies(cache: Any) -> bool:
    """Whether a token more copies what could grow in place."""
    return is_movable(cache) and any(type(layer) is DynamicLayer for layer in cache.layers)


def cropped(layer: Any, n: int) -> Any:
    """A layer without the last n tokens of another, which stays; tokens that it gets are its own.

    Of a layer that sees only so far back every token before is kept, as it was recorded: a crop
    of its own would keep a window's, too few to crop once more.

    Raises:
        ValueError: a layer whose tokens cannot be told apart.
    """
    if type(layer) not in READ:
        raise ValueError(f"a model with a {type(layer).__name__} cannot be read in parts")
    made = copy(layer)
    if n and not isinstance(layer, DUMMY):
        end = layer.keys.shape[-2] - n
        made.keys, made.values = layer.keys[:, :, :end], layer.values[:, :, :end]
        if layer.is_sliding:
            made.cumulative_length -= n
    return made


def stacked(layers: Sequence[Any], length: int, room: int = ROOM) -> Any:
    """One layer of the rows of several, whose last tokens stand together.

    Args:
        layers: the same of several caches that can be moved; the first may be used up.
        length: tokens that each row has from now on; the shorter ones get zeros in front, which
            somebody must mask, and of longer ones the first tokens go.
        room: for tokens to come.
    """
    first = layers[0]
    if isinstance(first, DUMMY):
        return first

    def fitted(name: str) -> list[torch.Tensor]:
        blocks = [getattr(layer, name) for layer in layers]
        # A gap below 0 cuts.
        return [pad(block, (0, 0, length - block.shape[-2], 0)) for block in blocks]

    keys, values = fitted("keys"), fitted("values")
    if not first.is_sliding:
        return Roomy(keys, values, room)
    first.keys, first.values = torch.cat(keys), torch.cat(values)
    first.cumulative_length = length
    return first


class Roomy(DynamicLayer):
    """A layer with room behind its tokens, so that one more does not copy all before it.

    Attributes:
        keys: (n, heads, T, d), a part of a larger tensor that no other layer may grow into.
        values: the same.
    """

    def __init__(
        self, keys: Sequence[torch.Tensor], values: Sequence[torch.Tensor], room: int = ROOM
    ) -> None:
        """Hold copies of rows of one length, stacked, with room for so many tokens."""
        super().__init__()
        self.lazy_initialization(keys[0], values[0])
        self._room: dict[str, torch.Tensor] = {}
        for name, blocks in (("keys", keys), ("values", values)):
            n = sum(map(len, blocks))
            torch.cat(list(blocks), out=self._hold(name, (n, *blocks[0].shape[1:]), room))

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take the keys and values (n, heads, t, d) of t more tokens; all of them."""
        for name, new in (("keys", key_states), ("values", value_states)):
            held, room = getattr(self, name), self._room[name]
            before, after = held.shape[-2], held.shape[-2] + new.shape[-2]
            if after > room.shape[-2] or held.data_ptr() != room.data_ptr():
                self._hold(name, (*held.shape[:2], after, held.shape[3]))[:, :, :before] = held
            self._room[name][:, :, before:after] = new
            setattr(self, name, self._room[name][:, :, :after])
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep some rows."""
        for name in ("keys", "values"):
            held = getattr(self, name)
            kept = self._hold(name, (len(indices), *held.shape[1:]))
            torch.index_select(held, 0, indices.to(held.device), out=kept)

    def _hold(self, name: str, shape: Sequence[int], room: int = ROOM) -> torch.Tensor:
        """A new place for keys or values of some shape, which they still have to be put into."""
        n, heads, length, d = shape
        like: torch.Tensor = getattr(self, name)
        self._room[name] = like.new_empty((n, heads, length + room, d))
        place = self._room[name][:, :, :length]
        setattr(self, name, place)
        return place
