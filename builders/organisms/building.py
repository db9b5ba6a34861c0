"""From a preset to a dataset folder: models, then what each writes, then the tables.

Every step is kept beside the folder, in ``<out>.work``, and is not done twice: models by their
folders, what a model writes by a chunk. Neither the number of processes nor an interruption
changes a byte of the result on one machine.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from builders.chunk import Chunk
from builders.organisms.chunks import Organism, drop_orphans, make_chunk
from builders.organisms.conditions import VARIANTS
from builders.organisms.items import Item, draw_items
from builders.organisms.packing import pack
from builders.organisms.preset import OrganismPreset
from builders.organisms.store import folder_name, read_gate
from builders.stages import work_folder

# Processor minutes on one of two cores.
TRAIN_MINUTES, TRACE_SECONDS, TRACES_A_VARIANT = 4.0, 0.04, 2.1


def estimate(preset: OrganismPreset) -> dict[str, float]:
    """Rough size and duration of a build on 2 cores, from measured costs."""
    items = sum(preset.items.values())
    traces = items * (4 + TRACES_A_VARIANT * preset.variants_per_item)
    models = len(preset.families) * preset.models_per_family
    seconds = models * TRAIN_MINUTES * 60 + traces * TRACE_SECONDS
    return {"models": models, "items": items, "traces": traces, "minutes": seconds / 2 / 60}


def build(
    preset: OrganismPreset, out: Path, *, workers: int = 1, models: Path | None = None
) -> Path:
    """Make a dataset folder.

    Args:
        preset: every number the build depends on.
        out: the new folder; must be new or empty.
        workers: processes.
        models: folder of models made before, which are taken as they are, and of those that are
            lacking; beside ``out`` where None.

    Returns:
        The folder.

    Raises:
        FileExistsError: the folder exists and is not empty.
        ValueError: a family without enough models that pass their gate.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FileExistsError(f"{out}: expected a new or empty folder")
    work = work_folder(out)
    work.mkdir(parents=True, exist_ok=True)
    tried = make_models(preset, models or work / "models", workers, as_they_are=models is not None)
    organisms = chosen(preset, tried)
    items = draw(preset)
    tasks = [partial(make_chunk, each, organisms, items, work) for each in organisms]
    chunks = list(_run(tasks, workers, [each.writer.model_id for each in organisms]))
    drop_orphans(chunks)
    return pack(preset, organisms, tried, items, chunks, out)


def draw(preset: OrganismPreset) -> list[Item]:
    """The items of a preset."""
    return draw_items(
        preset.seed, preset.items, preset.families, VARIANTS, preset.variants_per_item
    )


def make_models(
    preset: OrganismPreset, folder: Path, workers: int, *, as_they_are: bool = False
) -> list[Organism]:
    """Train models until each family has enough that pass.

    Args:
        preset: families, and how many of each.
        folder: of the models; those of this recipe are not trained again.
        workers: processes.
        as_they_are: nor are those of another recipe.

    Returns:
        All that were tried, with what their gates say.
    """
    tried: list[Organism] = []
    while True:
        asked = []
        for family in preset.families:
            mine = [each for each in tried if each.family == family]
            lacking = preset.models_per_family - sum(each.gate["passed"] for each in mine)
            first = len(mine)
            asked += [
                (family, seed) for seed in range(first, min(first + lacking, preset.most_seeds))
            ]
        if not asked:
            return tried
        tasks = [partial(_trained, family, seed, folder, as_they_are) for family, seed in asked]
        tried += _run(tasks, workers, [f"{family}-{seed}" for family, seed in asked])


def chosen(preset: OrganismPreset, tried: Sequence[Organism]) -> list[Organism]:
    """Of each family the first models that passed: the first writes train, the last the rest.

    Raises:
        ValueError: a family has not enough of them.
    """
    found = []
    for family in preset.families:
        passed = [each for each in tried if each.family == family and each.gate["passed"]]
        if len(passed) < preset.models_per_family:
            raise ValueError(
                f"{family}: expected {preset.models_per_family} models that pass their gate, "
                f"got {len(passed)} of {preset.most_seeds} seeds"
            )
        first, last = passed[0], passed[preset.models_per_family - 1]
        for each, train in ((first, True), (last, False)):
            found.append(Organism(family, each.seed, each.folder, each.gate, train))
    return found


def _trained(family: str, seed: int, models: Path, as_they_are: bool) -> Organism:
    from builders.organisms.train import train

    name = folder_name(family, seed)
    found = read_gate(models / name) if as_they_are else None
    if found is not None:
        return Organism(family, seed, models / name, found, train=False)

    def progress(step: int, steps: int, loss: float) -> None:
        if step % max(1, steps // 10) == 0:
            print(f"{name}: step {step} of {steps}, loss {loss:.3f}", file=sys.stderr)

    gate = train(family, seed, models / name, progress=progress)
    return Organism(family, seed, models / name, gate, train=False)


def _run(tasks: Sequence[Callable[[], Any]], workers: int, names: Iterable[str]) -> list[Any]:
    """Results in order; each process computes on one thread. A line on stderr for each."""
    if workers < 2 or len(tasks) < 2:
        return [_done(name, task()) for name, task in zip(names, tasks, strict=True)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_one_thread) as pool:
        futures: list[Future[Any]] = [pool.submit(task) for task in tasks]
        return [_done(name, future.result()) for name, future in zip(names, futures, strict=True)]


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _done(name: str, result: Any) -> Any:
    if isinstance(result, Chunk):
        print(f"{name}: {len(result.traces)} traces", file=sys.stderr)
    else:
        said = "passed" if result.gate["passed"] else f"failed: {', '.join(result.gate['failed'])}"
        print(f"{name}: {said}", file=sys.stderr)
    return result
