"""The stages of a build: items -> screen -> select -> build -> package.

Screening and building run in chunks whose make-up is fixed by the preset, so that neither the
number of processes, nor that of machines, nor an interruption changes a byte of the result.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders.axes import used
from builders.chunk import BrokenChunk, Chunk, chunk_path, inputs_digest, load
from builders.items import drawn
from builders.jobs import Job, pool_of, run
from builders.package import Made, dropped, errors, package, together
from builders.pool import BuildError, Pool
from builders.presets import Preset
from builders.ray_pool import RayPool
from builders.screening import select, summary, yields
from builders.shards import Shard
from builders.sources import Item
from builders.sources.drawing import Drawn, items_sha256
from builders.translate import translate
from builders.weights import Weights

WHOLE = Shard()
# Items, and where their screened traces are, by item_id.
Group = tuple[list[Item], dict[str, Chunk]]


class Missing(BuildError):
    """Chunks of a stage that are not there, in one line."""


def build(
    preset: Preset,
    models: tuple[Weights, ...],
    out: Path,
    *,
    workers: int,
    ray: str | None = None,
) -> Path:
    """Make a dataset folder.

    Args:
        preset: every number the build depends on.
        models: the model that writes the traces, then optionally a second one.
        out: the new folder; chunks are kept in ``<out>.work`` and are not made twice.
        workers: processes.
        ray: ``local`` or the address of a cluster of Ray; None: processes of this machine.

    Returns:
        The folder.

    Raises:
        FileExistsError: the folder exists and is not empty.
        FileNotFoundError: a program that translates is not installed.
        BuildError: chunks could not be made.
    """
    made = _make_all(preset, models, out, workers, WHOLE, ray)
    _report(made)
    _sweep(out)
    return package(made, preset, models, out)


def build_shard(
    preset: Preset, models: tuple[Weights, ...], out: Path, *, workers: int, shard: Shard
) -> str:
    """Make one shard's chunks in ``<out>.work``; several shards may share that folder.

    Returns:
        One line: what is missing from other shards, or that all is there.

    Raises:
        FileExistsError: the folder exists and is not empty.
        BuildError: chunks of this shard could not be made.
    """
    name = f"shard {shard.index}/{shard.count}"
    try:
        made = _make_all(preset, models, out, workers, shard)
    except Missing as missing:
        return f"{name}: done; {missing}"
    _report(made)
    return f"{name}: done; all chunks are there, build without --shard to package them"


def _make_all(
    preset: Preset,
    models: tuple[Weights, ...],
    out: Path,
    workers: int,
    shard: Shard,
    ray: str | None = None,
) -> Made:
    """One build, or one for each model that writes all conditions, in one work folder."""
    if out.exists() and any(out.iterdir()):
        raise FileExistsError(f"{out}: exists and is not empty")
    axes = used(preset.without, second=len(models) > 1, language=preset.language)
    for language in sorted({axis.language for axis in axes.values()} - {"en"}):
        # Whether the engine is there: the hours of screening come before it is used.
        translate(["One."], language)
    asked = drawn(preset)
    if not preset.all_write:
        return _make(asked, preset, models, out, workers, shard, ray)
    parts, lacking = [], []
    for model in models:
        try:
            parts.append(_make(asked, preset, (model,), out, workers, shard, ray))
        except Missing as missing:
            lacking.append(missing)
    if lacking:
        raise lacking[0]
    return together(parts)


def _make(
    asked: Drawn,
    preset: Preset,
    models: tuple[Weights, ...],
    out: Path,
    workers: int,
    shard: Shard,
    ray: str | None = None,
) -> Made:
    """Screen, select, build."""
    items = asked.items
    with pool_of(preset, models, workers, ray) as pool:
        stages = _Stages(preset, models, work_folder(out), shard, pool)
        groups: list[Group] = [(group, {}) for group in _groups(items, preset.screen_chunk)]
        screened, makers = stages.run("screen", groups)
        seen = yields(row for chunk in screened for row in chunk.traces.values())
        kept = select(items, seen, preset)
        if not kept:
            raise BuildError(f"{preset.name}: no item passed screening; {dropped(screened)}")
        holder = {row["item_id"]: chunk for chunk in screened for row in chunk.traces.values()}
        groups = [
            (group, {item.item_id: holder[item.item_id].of_item(item.item_id) for item in group})
            for group in _groups(kept, preset.build_chunk)
        ]
        built, more = stages.run("build", groups)
    screening = summary(items, seen, kept)
    if asked.ledger:
        screening |= {"sources": asked.ledger, "items_sha256": items_sha256(items)}
    return Made(kept, screened, built, screening, (*makers, *more))


@dataclass(frozen=True)
class _Stages:
    """What both stages share."""

    preset: Preset
    models: tuple[Weights, ...]
    work: Path
    shard: Shard
    pool: Pool | RayPool

    def run(self, method: str, groups: Sequence[Group]) -> tuple[list[Chunk], list[dict[str, Any]]]:
        """The chunks of a stage, in order, and their makers; this shard's are made if need be."""
        self.work.mkdir(parents=True, exist_ok=True)
        jobs = []
        for number, (items, taken) in enumerate(groups):
            inputs = inputs_digest(method, self.preset, self.models, items, taken)
            path = chunk_path(self.work, method, number, inputs)
            jobs.append(Job(method, path, inputs, (items, taken) if taken else (items,)))
        found = _whole(jobs)
        mine = [job for number, job in enumerate(jobs) if self.shard.takes(number)]
        run(self.pool, [job for job in mine if job.path not in found])
        found |= _whole([job for job in jobs if job.path not in found])
        missing = [job.path.name for job in jobs if job.path not in found]
        if missing:
            raise Missing(
                f"{method}: {len(missing)} of {len(jobs)} chunks are missing: "
                f"{', '.join(missing[:4])}{', ...' if len(missing) > 4 else ''}"
            )
        return [found[job.path][0] for job in jobs], [found[job.path][1] for job in jobs]


def work_folder(out: Path) -> Path:
    """Where the chunks of a build into ``out`` lie."""
    return out.with_name(out.name + ".work")


def _groups(items: Sequence[Item], size: int) -> list[list[Item]]:
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def _whole(jobs: Sequence[Job]) -> dict[Path, tuple[Chunk, dict[str, Any]]]:
    found = {}
    for job in jobs:
        try:
            found[job.path] = load(job.path)
        except BrokenChunk as broken:
            if job.path.exists():
                print(f"made anew: {broken}", file=sys.stderr)
    return found


def _report(made: Made) -> None:
    """Failed rows on stderr, one line a stage."""
    for stage, chunks in (("screen", made.screened), ("build", made.built)):
        failed = errors(chunks)
        if failed["count"]:
            said = f"{stage}: {failed['count']} rows failed and are left out; "
            print(said + failed["first"][0], file=sys.stderr)


def _sweep(out: Path) -> None:
    """Remove what killed processes left: every chunk is there, so nobody writes one now."""
    for file in work_folder(out).glob(".*.tmp"):
        file.unlink(missing_ok=True)
    for folder in out.absolute().parent.iterdir():
        if re.fullmatch(rf"\.{re.escape(out.name)}\.[a-z0-9_]{{8}}\.tmp", folder.name):
            shutil.rmtree(folder, ignore_errors=True)
