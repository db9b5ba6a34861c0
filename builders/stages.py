"""The stages of a build: items -> screen -> select -> build -> package.

Screening and building run in chunks whose make-up is fixed by the preset, so that neither the
number of processes nor an interruption changes a byte of the result.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builders import pool
from builders.axes import registry
from builders.card import card_text
from builders.chunk import Chunk, load
from builders.pairs import REPEAT, make_pairs
from builders.presets import Preset
from builders.screening import place, select, summary, yields
from builders.sources import Item, draw_items
from builders.weights import Weights
from faithshift_data.dataset import write_folder
from faithshift_data.measure.extract import CHANNELS
from faithshift_data.schema import SPLITS, LabelRule

LICENCE = "CC-BY-4.0"


def build(preset: Preset, weights: Weights, out: Path, *, workers: int) -> Path:
    """Make a dataset folder.

    Args:
        preset: every number the build depends on.
        weights: the model that writes the traces.
        out: the new folder; chunks are kept in ``<out>.work`` until it stands.
        workers: processes.

    Returns:
        The folder.

    Raises:
        FileExistsError: the folder exists and is not empty.
    """
    if out.exists() and any(out.iterdir()):
        raise FileExistsError(f"{out}: exists and is not empty")
    work = out.with_name(out.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    pilot = draw_items(preset.pilot_per_domain, preset.pilot_seed)
    items = list(draw_items(preset.candidates_per_domain, preset.item_seed, exclude=pilot))
    screened = _screen(items, preset, weights, work, workers)
    first = {trace_id: row for chunk in screened for trace_id, row in chunk.traces.items()}
    seen = yields(first.values())
    kept = select(items, seen, preset)
    built = _build(kept, screened, preset, weights, work, workers)
    screening = summary(items, seen, kept)
    screening["dropped_traces"] = _dropped(screened)
    return _package(kept, built, screening, preset, weights, out)


def _screen(
    items: Sequence[Item], preset: Preset, weights: Weights, work: Path, workers: int
) -> list[Chunk]:
    groups = _groups(items, preset.screen_chunk)
    paths = [work / f"screen-{number:04d}.json" for number in range(len(groups))]
    jobs = [("screen", path, (group,)) for path, group in zip(paths, groups, strict=True)]
    pool.run(jobs, preset, weights, workers, "screen")
    return [load(path) for path in paths]


def _build(
    kept: Sequence[Item],
    screened: Sequence[Chunk],
    preset: Preset,
    weights: Weights,
    work: Path,
    workers: int,
) -> list[Chunk]:
    by_item = {row["item_id"]: chunk for chunk in screened for row in chunk.traces.values()}
    groups = _groups(kept, preset.build_chunk)
    paths = [work / f"build-{number:04d}.json" for number in range(len(groups))]
    jobs = [
        ("build", path, (group, {item.item_id: by_item[item.item_id] for item in group}))
        for path, group in zip(paths, groups, strict=True)
    ]
    pool.run(jobs, preset, weights, workers, "build")
    return [load(path) for path in paths]


def _groups(items: Sequence[Item], size: int) -> list[list[Item]]:
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def _dropped(parts: Sequence[Chunk]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part.dropped)
    return dict(sorted(total.items()))


def _package(
    kept: Sequence[Item],
    built: Sequence[Chunk],
    screening: dict[str, Any],
    preset: Preset,
    weights: Weights,
    out: Path,
) -> Path:
    where = {item.item_id: place(item, preset) for item in kept}
    traces = {trace_id: row for chunk in built for trace_id, row in chunk.traces.items()}
    for row in traces.values():
        row["split"], row["fold"] = where[row["item_id"]]
    interventions = {key: rows for chunk in built for key, rows in chunk.interventions.items()}
    descriptors = {key: arrays for chunk in built for key, arrays in chunk.descriptors.items()}
    pairs = make_pairs(traces, interventions)
    tables: dict[str, dict[str, list[Mapping[str, Any]]]] = {
        "traces": {split: [] for split in SPLITS},
        "pairs": {split: [] for split in SPLITS},
        "interventions": {split: [] for split in SPLITS},
    }
    for row in traces.values():
        tables["traces"][row["split"]].append(row)
        tables["interventions"][row["split"]] += interventions[row["trace_id"]]
    for pair in pairs:
        tables["pairs"][pair["split"]].append(pair)
    screening["dropped_traces_of_kept_items"] = _dropped(built)
    manifest = _manifest(kept, screening, preset, weights, built)
    text = card_text(manifest, tables)
    return write_folder(out, manifest, tables, descriptors, card=text)


def _manifest(
    kept: Sequence[Item],
    screening: dict[str, Any],
    preset: Preset,
    weights: Weights,
    built: Sequence[Chunk],
) -> dict[str, Any]:
    import torch
    import transformers

    width = next(len(row["state"]) for chunk in built for row in chunk.descriptors.values())
    axes = [
        {
            "name": axis.name,
            "kind": str(axis.kind),
            "mode": str(axis.mode),
            "file": f"builders/axes/{axis.name}.py",
        }
        for axis in registry().values()
    ]
    axes.append({"name": REPEAT, "kind": "repeat", "mode": "regen", "file": "builders/pairs.py"})
    return {
        "name": preset.name,
        "version": preset.version,
        "preset": preset.name,
        "draw_seed": preset.draw_seed,
        "licence": LICENCE,
        "label_rule": str(LabelRule.CONSTRUCT_CAUSAL),
        "models": [
            {
                "model_id": weights.model_id,
                "revision": weights.revision,
                "family": weights.family,
                "licence": weights.licence,
                "origin": weights.origin,
            }
        ],
        "sources": _sources(kept),
        "axes": axes,
        "screening": screening,
        "seeds": {
            "items": preset.item_seed,
            "generation": "first 31 bits of sha256(trace_id/generate)",
        },
        "environment": {
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "answer_dtype": preset.answer_dtype,
            "descriptor_dtype": preset.descriptor_dtype,
            "threads_per_process": 1,
        },
        "descriptors": {
            "psi": {
                "resolution": "step",
                "dtype": "float16",
                "shape": [len(CHANNELS)],
                "channels": list(CHANNELS),
            },
            "state": {"resolution": "trace", "dtype": "float16", "shape": [width], "channels": []},
        },
    }


def _sources(kept: Sequence[Item]) -> list[dict[str, str]]:
    found = sorted({(item.source, item.licence) for item in kept})
    origin = {"reasoning-gym": "PyPI package reasoning-gym, procedural tasks"}
    return [
        {"name": name, "licence": licence, "origin": origin.get(name, "generators of this project")}
        for name, licence in found
    ]
