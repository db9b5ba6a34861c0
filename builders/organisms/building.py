"""From a preset to a dataset folder: models, then what each writes, then the tables.

Every step is kept beside the folder, in ``<out>.work``, and is not done twice: models by their
folders, what a model writes by a chunk. Neither the number of processes nor an interruption
changes a byte of the result on one machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from builders.chunk import Chunk, drop_orphans
from builders.organisms.chunks import Organism, make_chunk
from builders.organisms.conditions import VARIANTS
from builders.organisms.items import Item, draw_items
from builders.organisms.packing import pack
from builders.organisms.preset import OrganismPreset
from builders.organisms.store import folder_name, read_gate
from builders.pool import Pool
from builders.stages import work_folder
from faithshift_data.atomic import is_free

# Processor minutes on one of two cores.
TRAIN_MINUTES, TRACE_SECONDS, TRACES_A_VARIANT = 3.8, 0.04, 2.1

MOST_SEEDS = 100


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
        models: a folder of models to use as they are, none is trained then; where None they are
            trained, beside ``out``.

    Returns:
        The folder.

    Raises:
        FileExistsError: the folder exists and is not empty.
        ValueError: too few models passed their gate.
    """
    if not is_free(out):
        raise FileExistsError(f"{out}: expected a new or empty folder")
    work = work_folder(out)
    work.mkdir(parents=True, exist_ok=True)
    tried = found(preset, models) if models else train_models(preset, work / "models", workers)
    organisms = chosen(preset, tried)
    items = draw(preset, organisms)
    tasks = [partial(make_chunk, each, organisms, items, work) for each in organisms]
    chunks = _run(tasks, workers, [each.writer.model_id for each in organisms])
    drop_orphans(chunks)
    return pack(preset, organisms, tried, items, chunks, out)


def draw(preset: OrganismPreset, organisms: Sequence[Organism]) -> list[Item]:
    """The items of a preset, for the models that write them."""
    families = {
        part: tuple(each.family for each in organisms if each.train == (part == "train"))
        for part in preset.items
    }
    return draw_items(preset.seed, preset.items, families, VARIANTS, preset.variants_per_item)


def found(preset: OrganismPreset, folder: Path) -> list[Organism]:
    """The models of a folder that are of the preset's families, whether they passed or not.

    Raises:
        ValueError: there is none.
    """
    places = [
        (family, seed, folder / folder_name(family, seed))
        for family in preset.families
        for seed in range(MOST_SEEDS)
    ]
    gates = [(*place, read_gate(place[-1])) for place in places]
    there = [Organism(*place, gate, train=False) for *place, gate in gates if gate is not None]
    if not there:
        raise ValueError(f"{folder}: expected folders such as {places[0][-1].name}, got none")
    return there


def train_models(preset: OrganismPreset, folder: Path, workers: int) -> list[Organism]:
    """Train models until each family has enough that pass, or its seeds are used up.

    Args:
        preset: families, how many of each, and how many seeds.
        folder: of the models; those of this recipe are not trained again.
        workers: processes.

    Returns:
        All that were tried, with what their gates say.
    """
    tried: list[Organism] = []
    while True:
        asked = []
        for family in preset.families:
            mine = [each for each in tried if each.family == family]
            lacking = preset.models_per_family - sum(each.gate["passed"] for each in mine)
            last = min(len(mine) + lacking, preset.most_seeds)
            asked += [(family, seed) for seed in range(len(mine), last)]
        if not asked:
            return tried
        tasks = [partial(_trained, family, seed, folder) for family, seed in asked]
        tried += _run(tasks, workers, [folder_name(*each) for each in asked])


def chosen(preset: OrganismPreset, tried: Sequence[Organism]) -> list[Organism]:
    """Of each family the first model that passed writes train, the last one asked for the rest.

    A family with a single model that passed writes no train; one without any writes nothing.

    Raises:
        ValueError: no model for train, or fewer than two families for the rest.
    """
    picked = []
    for family in preset.families:
        passed = [each for each in tried if each.family == family and each.gate["passed"]]
        passed = passed[: preset.models_per_family]
        picked += [replace(each, train=True) for each in passed[:1] if len(passed) > 1]
        picked += [replace(each, train=False) for each in passed[-1:]]
    held_out = sum(not each.train for each in picked)
    if held_out == len(picked) or held_out < 2:
        raise ValueError(
            "models that pass their gate: expected two of one family and one of another, got "
            f"{', '.join(each.name for each in tried if each.gate['passed']) or 0}"
        )
    return picked


def _trained(family: str, seed: int, models: Path) -> Organism:
    from builders.organisms.train import train

    name = folder_name(family, seed)

    def progress(step: int, steps: int, loss: float) -> None:
        if step % max(1, steps // 10) == 0:
            print(f"{name}: step {step} of {steps}, loss {loss:.3f}", file=sys.stderr)

    gate = train(family, seed, models / name, progress=progress)
    return Organism(family, seed, models / name, gate, train=False)


def _run(tasks: Sequence[Callable[[], Any]], workers: int, names: Sequence[str]) -> list[Any]:
    """Results in order; each process computes on one thread. A line on stderr for each."""
    done: dict[int, Any] = {}
    with Pool(min(workers, len(tasks)), _one_thread) as pool:
        for place, result in pool.results(tasks):
            done[place] = _said(names[place], result)
    return [done[place] for place in range(len(tasks))]


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _said(name: str, result: Any) -> Any:
    if isinstance(result, Chunk):
        print(f"{name}: {len(result.traces)} traces", file=sys.stderr)
    else:
        said = "passed" if result.gate["passed"] else f"failed: {', '.join(result.gate['failed'])}"
        print(f"{name}: {said}", file=sys.stderr)
    return result
