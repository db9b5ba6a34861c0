"""A chunk: the rows of some items, and its file, which is there whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from builders.rows import Row
from faithshift_data.atomic import canonical_json, write_bytes, write_text


@dataclass
class Chunk:
    """Rows of a chunk, as they come back from a worker."""

    traces: dict[str, Row] = field(default_factory=dict)
    interventions: dict[str, list[Row]] = field(default_factory=dict)
    descriptors: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    tokens: int = 0

    def drop(self, row: Mapping[str, Any], reason: str) -> None:
        """Count a trace that never became one."""
        key = f"{row['condition']}: {reason}"
        self.dropped[key] = self.dropped.get(key, 0) + 1


def save(path: Path, chunk: Chunk) -> None:
    """Write a chunk as ``path`` (JSON) and, where it has descriptors, an ``.npz`` beside it.

    The JSON comes last: its presence says that the chunk is complete.
    """
    if chunk.descriptors:
        buffer = BytesIO()
        arrays = {
            f"{trace_id}/{name}": array
            for trace_id, row in chunk.descriptors.items()
            for name, array in row.items()
        }
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        write_bytes(path.with_suffix(".npz"), buffer.getvalue())
    fields = {key: getattr(chunk, key) for key in ("traces", "interventions", "dropped", "tokens")}
    write_text(path, canonical_json(fields))


def load(path: Path) -> Chunk:
    """Read a chunk back."""
    chunk = Chunk(**json.loads(path.read_text("utf-8")))
    arrays = path.with_suffix(".npz")
    if arrays.exists():
        with np.load(arrays, allow_pickle=False) as stored:
            for key in stored.files:
                trace_id, name = key.split("/")
                chunk.descriptors.setdefault(trace_id, {})[name] = stored[key]
    return chunk
