"""The chunks of a stage, made by a pool's processes, which each hold the models."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from builders.chunk import save
from builders.pool import BuildError, Pool
from builders.presets import Preset
from builders.provenance import machine
from builders.ray_pool import RayPool
from builders.weights import Weights
from builders.worker import Worker

_SETTINGS: list[tuple[Preset, tuple[Weights, ...]]] = []
_WORKER: list[Worker] = []


@dataclass(frozen=True)
class Job:
    """A chunk to make: a method of ``Worker``, its arguments, and the chunk's path and inputs."""

    method: str
    path: Path
    inputs: str
    arguments: tuple[Any, ...]


class Progress(Protocol):
    """Told of every chunk that is done."""

    def update(self) -> object:
        """One more chunk."""


def pool_of(
    preset: Preset, models: tuple[Weights, ...], workers: int, ray: str | None = None
) -> Pool | RayPool:
    """A pool whose processes hold the models, the writer first, once they are needed.

    Args:
        preset: the settings.
        models: the writer first.
        workers: processes.
        ray: ``local`` or the address of a cluster of Ray; None: processes of this machine.
    """
    prepare = partial(_set, preset, models)
    return Pool(workers, prepare) if ray is None else RayPool(ray, workers, prepare)


def run(pool: Pool | RayPool, jobs: Sequence[Job]) -> None:
    """Do the jobs of one stage; one that fails does not stop the others.

    Args:
        pool: from ``pool_of``.
        jobs: all of one method.

    Raises:
        BuildError: some chunks failed; their number and the first reason in one line.
    """
    if not jobs:
        return
    stage, failed = jobs[0].method, {}
    with progress(stage, len(jobs)) as bar:
        for place, reason in pool.results([partial(_make, job) for job in jobs]):
            if reason is not None:
                failed[jobs[place].path.stem] = reason
            bar.update()
    if failed:
        first = min(failed)
        raise BuildError(
            f"{len(failed)} of {len(jobs)} {stage} chunks failed, the others are kept; "
            f"{first}: {failed[first]}"
        )


def _set(preset: Preset, models: tuple[Weights, ...]) -> None:
    if [(preset, models)] != _SETTINGS:
        _SETTINGS[:], _WORKER[:] = [(preset, models)], []


def _make(job: Job) -> str | None:
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
