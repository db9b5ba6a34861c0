"""A chunk: the rows of some items, and its file, which is whole or redone.

The name of the file carries a digest of everything the rows follow from, and the file a sha256
of its rows and of its arrays. A stale, foreign, torn or altered chunk is thus never taken.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from builders.presets import Preset
from builders.provenance import engine_versions, version_of
from builders.rows import Row
from builders.sources import Item
from builders.weights import Weights
from faithshift_data.atomic import canonical_json, json_sha256, write_bytes, write_text

# Raise it with every change to what Worker does or a chunk holds: older chunks are redone.
CODE_VERSION = 4
_UNREADABLE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
    OSError,
    zipfile.BadZipFile,
)
_BODY = ("traces", "interventions", "dropped", "errors", "tokens")


@dataclass
class Chunk:
    """Rows of a chunk, as they come back from a worker.

    Attributes:
        traces, interventions, descriptors: by trace_id.
        dropped: traces that never became one, counted by condition and reason.
        errors: trace_id of a row that failed -> the reason in one line; the row is left out.
        tokens: generated.
    """

    traces: dict[str, Row] = field(default_factory=dict)
    interventions: dict[str, list[Row]] = field(default_factory=dict)
    descriptors: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    tokens: int = 0

    def drop(self, row: Mapping[str, Any], reason: str) -> None:
        """Count a trace that never became one."""
        reasons = self.dropped.setdefault(row["condition"], {})
        reasons[reason] = reasons.get(reason, 0) + 1

    def fail(self, row: Mapping[str, Any], error: Exception) -> None:
        """Leave out a row that failed, with its reason."""
        said = " ".join(str(error).split())[:200]
        self.errors[row["trace_id"]] = f"{row['condition']}: {type(error).__name__}: {said}"
        self.remove(row["trace_id"])

    def remove(self, trace_id: str) -> None:
        """Take a trace out, with all that was measured of it."""
        for table in (self.traces, self.interventions, self.descriptors):
            table.pop(trace_id, None)  # type: ignore[attr-defined]

    def of_item(self, item_id: str) -> Chunk:
        """A copy of the traces of one item with their intervention rows."""
        traces = {key: row for key, row in self.traces.items() if row["item_id"] == item_id}
        return deepcopy(Chunk(traces, {key: self.interventions.get(key, []) for key in traces}))


def drop_orphans(chunks: Sequence[Chunk]) -> None:
    """Take out traces whose anchor is in none of the chunks, until none is left."""
    while True:
        there = {None, *(key for chunk in chunks for key in chunk.traces)}
        orphans = [
            (chunk, row)
            for chunk in chunks
            for row in chunk.traces.values()
            if row["anchor_id"] not in there
        ]
        if not orphans:
            return
        for chunk, row in orphans:
            chunk.drop(row, "its anchor was dropped")
            chunk.remove(row["trace_id"])


class BrokenChunk(ValueError):
    """A chunk file that is torn, altered, or not the one its name says."""


def inputs_digest(
    method: str,
    preset: Preset,
    models: Sequence[Weights],
    items: Sequence[Item],
    taken: Mapping[str, Chunk],
) -> str:
    """Hex sha256 of everything the rows of a chunk follow from.

    Args:
        method: of ``Worker``.
        preset: only its ``generation()`` counts.
        models: by their revisions.
        items: with their contents.
        taken: item_id -> the screened chunk it is taken over from; the rows of the item count.
    """
    screened = {key: _body(chunk.of_item(key)) for key, chunk in taken.items()}
    facts = {
        "code": CODE_VERSION,
        "engine": engine_versions(),
        "items": [asdict(item) for item in items],
        "method": method,
        "models": [weights.revision for weights in models],
        "preset": preset.generation(),
        "screened": json_sha256(screened),
    }
    if preset.engine != "transformers":
        facts["writer"] = version_of(preset.engine)
    return json_sha256(facts)


def chunk_path(work: Path, method: str, number: int, inputs: str) -> Path:
    """Where a chunk lies."""
    return work / f"{method}-{number:04d}-{inputs[:16]}.json"


def save(path: Path, chunk: Chunk, inputs: str, made_by: Mapping[str, Any]) -> None:
    """Write a chunk as ``path`` (JSON) and, where it has descriptors, an ``.npz`` beside it.

    The JSON comes last: its presence says that the chunk was complete.

    Args:
        path: from ``chunk_path``.
        chunk: what to write.
        inputs: the digest in the name, in full.
        made_by: the machine, for the manifest.
    """
    arrays = _npz(chunk.descriptors) if chunk.descriptors else None
    if arrays is not None:
        write_bytes(path.with_suffix(".npz"), arrays)
    body = _body(chunk)
    head = {
        "inputs": inputs,
        "rows_sha256": json_sha256(body),
        "arrays_sha256": None if arrays is None else _sha256(arrays),
        "made_by": dict(made_by),
    }
    write_text(path, canonical_json({**head, **body}))


def load(path: Path) -> tuple[Chunk, dict[str, Any]]:
    """Read a chunk back and verify it.

    Returns:
        The chunk and the machine that made it.

    Raises:
        BrokenChunk: the file is missing, torn, altered, or belongs to other inputs.
    """
    try:
        stored = json.loads(path.read_text("utf-8"))
        chunk = Chunk(**{key: stored[key] for key in _BODY})
        inputs, made_by = stored["inputs"], stored["made_by"]
        rows, arrays = stored["rows_sha256"], stored["arrays_sha256"]
        if rows != json_sha256(_body(chunk)):
            raise BrokenChunk(f"{path}: rows altered")
        if not path.stem.endswith(f"-{inputs[:16]}"):
            raise BrokenChunk(f"{path}: belongs to other inputs")
        if arrays is not None:
            data = path.with_suffix(".npz").read_bytes()
            if arrays != _sha256(data):
                raise BrokenChunk(f"{path}: arrays altered")
            chunk.descriptors = _arrays(data)
    except BrokenChunk:
        raise
    except _UNREADABLE as error:
        raise BrokenChunk(f"{path}: {type(error).__name__}: {error}") from None
    return chunk, made_by


def _body(chunk: Chunk) -> dict[str, Any]:
    return {key: getattr(chunk, key) for key in _BODY}


def _sha256(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def _npz(descriptors: Mapping[str, Mapping[str, np.ndarray]]) -> bytes:
    buffer = BytesIO()
    flat = {f"{key}/{name}": a for key, row in descriptors.items() for name, a in row.items()}
    np.savez(buffer, **flat)  # type: ignore[arg-type]
    return buffer.getvalue()


def _arrays(data: bytes) -> dict[str, dict[str, np.ndarray]]:
    found: dict[str, dict[str, np.ndarray]] = {}
    with np.load(BytesIO(data), allow_pickle=False) as stored:
        for key in stored.files:
            trace_id, name = key.split("/")
            found.setdefault(trace_id, {})[name] = stored[key]
    return found
