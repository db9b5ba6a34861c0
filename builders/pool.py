"""Processes that each hold the models and do a stage's chunks; what is done stays done."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Protocol

from builders.chunk import save
from builders.presets import Preset
from builders.provenance import machine
from builders.weights import Weights
from builders.worker import Worker

# Forking a process that already runs torch's threads may hang.
START_METHOD = "spawn"
_SETTINGS: list[tuple[Preset, tuple[Weights, ...]]] = []
_WORKER: list[Worker] = []


@dataclass(frozen=True)
class Job:
    """A chunk to make: a method of ``Worker``, its arguments, and the chunk's path and inputs."""

    method: str
    path: Path
    inputs: str
    arguments: tuple[Any, ...]


class BuildError(ValueError):
    """Chunks that could not be made; what was made is kept."""


class Progress(Protocol):
    """Told of every chunk that is done."""

    def update(self) -> object:
        """One more chunk."""


class Pool:
    """Processes for the stages of one build; started when there is work, ended on leaving.

    Args:
        preset: the settings.
        models: the writer first.
        workers: processes; the results do not depend on it.
    """

    def __init__(self, preset: Preset, models: tuple[Weights, ...], workers: int) -> None:
        """Remember the settings; nothing is started yet."""
        self._settings, self._workers = (preset, models), workers
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> Pool:
        """The pool itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes; what is queued is not begun."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def run(self, jobs: Sequence[Job]) -> None:
        """Do the jobs of one stage; one that fails does not stop the others.

        Raises:
            BuildError: some chunks failed; their number and the first reason in one line.
        """
        if not jobs:
            return
        stage, failed = jobs[0].method, {}
        with progress(stage, len(jobs)) as bar:
            for job, reason in self._results(jobs):
                if reason is not None:
                    failed[job.path.stem] = reason
                bar.update()
        if failed:
            first = min(failed)
            raise BuildError(
                f"{len(failed)} of {len(jobs)} {stage} chunks failed, the others are kept; "
                f"{first}: {failed[first]}"
            )

    def _results(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        if self._workers <= 1:
            _set(*self._settings)
            for job in jobs:
                yield job, _work(job)
            return
        if self._executor is None:
            context = multiprocessing.get_context(START_METHOD)
            self._executor = ProcessPoolExecutor(
                self._workers, context, initializer=_start, initargs=self._settings
            )
        try:
            futures = {self._executor.submit(_work, job): job for job in jobs}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise BuildError(
                "a worker process was ended, for want of memory perhaps; "
                "what is done is kept: run again, with fewer --workers"
            ) from None


def _start(preset: Preset, models: tuple[Weights, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _set(preset, models)


def _set(preset: Preset, models: tuple[Weights, ...]) -> None:
    if [(preset, models)] != _SETTINGS:
        _SETTINGS[:], _WORKER[:] = [(preset, models)], []


def _end_with_parent() -> None:
    """A pool's process would wait for work for ever once its parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _work(job: Job) -> str | None:
    """Make a chunk; None, or the one-line reason why there is none."""
    try:
        if not _WORKER:
            _WORKER[:] = [Worker(*_SETTINGS[0])]
        chunk = getattr(_WORKER[0], job.method)(*job.arguments)
    except Exception as error:  # noqa: BLE001 - a chunk's failure is reported, not the others' end
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    if chunk.errors and not chunk.traces:
        return f"all {len(chunk.errors)} rows failed; {min(chunk.errors.values())}"
    save(job.path, chunk, job.inputs, machine())
    return None


@contextmanager
def progress(label: str, total: int) -> Iterator[Progress]:
    """A bar on a terminal's stderr, elsewhere one line a chunk with the estimated rest."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, desc=label, unit="chunk", file=sys.stderr, mininterval=0) as bar:
            yield bar
    else:
        yield _Lines(label, total)


class _Lines:
    def __init__(self, label: str, total: int) -> None:
        self.label, self.total, self.done, self.start = label, total, 0, time.monotonic()

    def update(self) -> None:
        self.done += 1
        rest = (time.monotonic() - self.start) / self.done * (self.total - self.done)
        print(
            f"{self.label}: {self.done}/{self.total} chunks, about {rest / 60:.1f} min left",
            file=sys.stderr,
            flush=True,
        )
