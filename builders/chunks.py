"""Chunks on disk: a stage's unit of work, written whole or not at all, so a build resumes."""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from builders.presets import Preset
from builders.weights import Weights
from builders.worker import Chunk, Worker
from faithshift_data.atomic import canonical_json, write_bytes, write_text

Job = tuple[str, Path, tuple[Any, ...]]
_WORKER: list[Worker] = []


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


def run(jobs: Sequence[Job], preset: Preset, weights: Weights, workers: int, label: str) -> None:
    """Do the jobs whose chunk is not there yet, in processes that each hold the model.

    Args:
        jobs: (method of ``Worker``, path of the chunk, arguments).
        preset: the settings.
        weights: the model.
        workers: processes; the results do not depend on it.
        label: for the progress line on stderr.
    """
    todo = [job for job in jobs if not job[1].exists()]
    report = _progress(label, len(jobs), len(jobs) - len(todo))
    if not todo:
        return
    if workers <= 1:
        _start(preset, weights)
        for job in todo:
            _work(job)
            report()
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(workers, len(todo)), _start, (preset, weights)) as pool:
        for _ in pool.imap_unordered(_work, todo, chunksize=1):
            report()


def _start(preset: Preset, weights: Weights) -> None:
    _WORKER[:] = [Worker(preset, weights)]


def _work(job: Job) -> str:
    method, path, arguments = job
    save(path, getattr(_WORKER[0], method)(*arguments))
    return path.name


def _progress(label: str, total: int, done: int) -> Callable[[], None]:
    count = [done]

    def report() -> None:
        count[0] += 1
        print(f"{label}: {count[0]}/{total} chunks", file=sys.stderr, flush=True)

    return report
