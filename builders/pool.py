"""Processes that each hold the model and do a stage's chunks; what is done stays done."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from builders.chunk import save
from builders.presets import Preset
from builders.weights import Weights
from builders.worker import Worker

Job = tuple[str, Path, tuple[Any, ...]]
_WORKER: list[Worker] = []


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


def _work(job: Job) -> None:
    method, path, arguments = job
    save(path, getattr(_WORKER[0], method)(*arguments))


def _progress(label: str, total: int, done: int) -> Callable[[], None]:
    count = [done]

    def report() -> None:
        count[0] += 1
        print(f"{label}: {count[0]}/{total} chunks", file=sys.stderr, flush=True)

    return report
