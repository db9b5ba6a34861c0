"""What passes through a model: the shape (rows, tokens) of every pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from faithshift_data.measure.engines.transformers import TransformersEngine


@contextmanager
def passes(engine: TransformersEngine) -> Iterator[list[tuple[int, int]]]:
    """Collect them while it is open."""
    seen: list[tuple[int, int]] = []
    handle = engine.model.get_input_embeddings().register_forward_hook(
        lambda _, args, __: seen.append(tuple(args[0].shape))
    )
    try:
        yield seen
    finally:
        handle.remove()
