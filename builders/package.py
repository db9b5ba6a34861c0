"""Rows of the built chunks -> tables, manifest, card, dataset folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from builders.audit import audit_counts
from builders.axes import language_in, used
from builders.axes.model_family import LICENCE_NOTE
from builders.chunk import Chunk
from builders.content import text_audit
from builders.deltas import semantic_distances
from builders.labels import both_rules
from builders.pairs import REPEAT, make_pairs, related
from builders.presets import Preset
from builders.provenance import environment
from builders.screening import place
from builders.sources import Item
from builders.sources.drawing import origins
from builders.translate import MODELS
from builders.weights import Weights
from cards import dataset_card
from faithshift_data.dataset import write_folder
from faithshift_data.measure.descriptors import manifest_entries
from faithshift_data.schema import CONFIGS, SPLITS

LICENCE = "CC-BY-4.0"
MIXED = "mixed"
CONTENT_NOTE = (
    "Items are written by generators and hold no personal data. What models made of them was not\n"
    "filtered, and may be wrong or repeat what they were trained on."
)
STATED_NOTE = (
    "Questions are those of the sources, under their licences. What models made of them was not\n"
    "filtered, and may be wrong or repeat what they were trained on. A source is public, and so\n"
    "models may have seen its questions with their answers."
)
Table = dict[str, list[Mapping[str, Any]]]


@dataclass(frozen=True)
class Made:
    """What the stages hand over.

    Attributes:
        kept: the items.
        screened, built: their chunks.
        screening: rates of the candidates.
        makers: the machine of every chunk.
    """

    kept: Sequence[Item]
    screened: Sequence[Chunk]
    built: Sequence[Chunk]
    screening: Mapping[str, Any]
    makers: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


def together(parts: Sequence[Made]) -> Made:
    """What several models made of the same items, as one; counts of screening are added up."""
    kept = {item.item_id: item for part in parts for item in part.kept}
    screening = dict(parts[0].screening)
    for part in parts[1:]:
        screening["by_domain"] = _added(screening["by_domain"], part.screening["by_domain"])
    return Made(
        kept=[kept[name] for name in sorted(kept)],
        screened=[chunk for part in parts for chunk in part.screened],
        built=[chunk for part in parts for chunk in part.built],
        screening=screening,
        makers=[maker for part in parts for maker in part.makers],
    )


def _added(left: Any, right: Any) -> Any:
    """Two nested tables of counts, added up."""
    if not isinstance(left, Mapping):
        return left + right
    return {key: _added(left[key], right[key]) for key in left}


def package(made: Made, preset: Preset, models: Sequence[Weights], out: Path) -> Path:
    """Write the dataset folder.

    Raises:
        ValueError: no trace was made.
    """
    where = {item.item_id: place(item, preset) for item in made.kept}
    traces = {trace_id: row for chunk in made.built for trace_id, row in chunk.traces.items()}
    if not traces:
        raise ValueError(f"{preset.name}: no trace was made; {_said(made)}")
    for row in traces.values():
        row["split"], row["fold"] = where[row["item_id"]]
    interventions: dict[str, list[Mapping[str, Any]]] = {
        key: list(rows) for chunk in made.built for key, rows in chunk.interventions.items()
    }
    pairs = make_pairs(
        traces, interventions, semantic_distances([each.ids for each in related(traces)], traces)
    )
    tables = by_split(traces, interventions, pairs)
    descriptors = _descriptors(made.built)
    manifest = {
        "name": preset.name,
        "version": preset.version,
        "preset": preset.name,
        "draw_seed": preset.draw_seed,
        "licence": MIXED if preset.sources else LICENCE,
        "label_rule": preset.label_rule,
        "languages": sorted({language_in(row) for row in traces.values()}),
        "notes": [
            *notes(models, STATED_NOTE if preset.sources else CONTENT_NOTE),
            *_translated(preset),
        ],
        "models": [_model(weights) for weights in models],
        "sources": _sources(made.kept, preset),
        "axes": _axes(preset, models),
        "counts": {"labels_by_rule": both_rules(traces, interventions)},
        "screening": {**made.screening, **_ledger(made)},
        "audit": {"rules": audit_counts(pairs)},
        "seeds": {
            "items": None if preset.secret else preset.item_seed,
            "pilot": preset.pilot_seed,
            "attempts": preset.attempts,
            "generation": "first 31 bits of sha256(trace_id/generate), of a later attempt k of "
            "sha256(trace_id/generate/k)",
        },
        "environment": environment(preset, models, made.makers),
        "descriptors": manifest_entries(next(iter(descriptors.values()), {})),
    }
    manifest["audit"]["text"] = text_audit(manifest, tables, descriptors)
    return write_folder(out, manifest, tables, descriptors, card=dataset_card)


def by_split(
    traces: Mapping[str, Mapping[str, Any]],
    interventions: Mapping[str, Iterable[Mapping[str, Any]]],
    pairs: Iterable[Mapping[str, Any]],
) -> dict[str, Table]:
    """Rows as ``write_folder`` takes them: config -> split -> rows."""
    tables: dict[str, Table] = {config: {split: [] for split in SPLITS} for config in CONFIGS}
    for trace_id, row in traces.items():
        tables["traces"][row["split"]].append(row)
        tables["interventions"][row["split"]] += interventions[trace_id]
    for pair in pairs:
        tables["pairs"][pair["split"]].append(pair)
    return tables


def notes(models: Sequence[Weights], content: str = CONTENT_NOTE) -> list[str]:
    """What the card says beside its counts; ``content`` is said of the questions."""
    alone = {weights.family for weights in models} == {"smollm2"}
    said = [*(weights.remark for weights in models), content, LICENCE_NOTE if alone else ""]
    return [note for note in said if note]


def _translated(preset: Preset) -> list[str]:
    name = None if "language" in preset.without else MODELS.get(preset.language)
    return [] if name is None else [f"Questions in another language are translated by `{name}`."]


def _ledger(made: Made) -> dict[str, Any]:
    """Traces that are not there, by condition and reason, and rows that failed."""
    return {
        "dropped_traces": dropped(made.screened),
        "dropped_traces_of_kept_items": dropped(made.built),
        "errors": {"screen": errors(made.screened), "build": errors(made.built)},
    }


def dropped(chunks: Iterable[Chunk]) -> dict[str, dict[str, int]]:
    """Traces that never became one: condition -> reason -> count."""
    total: dict[str, Counter[str]] = {}
    for chunk in chunks:
        for condition, reasons in chunk.dropped.items():
            total.setdefault(condition, Counter()).update(reasons)
    return {condition: dict(sorted(total[condition].items())) for condition in sorted(total)}


def errors(chunks: Iterable[Chunk]) -> dict[str, Any]:
    """Rows that failed: how many, by condition, and the first three in the order of their ids."""
    found = {key: reason for chunk in chunks for key, reason in chunk.errors.items()}
    conditions = Counter(reason.split(":", 1)[0] for reason in found.values())
    return {
        "count": len(found),
        "by_condition": dict(sorted(conditions.items())),
        "first": [f"{key}: {found[key]}" for key in sorted(found)[:3]],
    }


def _said(made: Made) -> str:
    failed = errors(made.built)
    return failed["first"][0] if failed["count"] else f"dropped: {dropped(made.built)}"


def _descriptors(built: Sequence[Chunk]) -> dict[str, dict[str, np.ndarray]]:
    """All descriptors; the states of a narrower model are filled up with zeros on the right."""
    found = {key: dict(arrays) for chunk in built for key, arrays in chunk.descriptors.items()}
    width = max((len(arrays["state"]) for arrays in found.values()), default=0)
    for arrays in found.values():
        arrays["state"] = np.pad(arrays["state"], (0, width - len(arrays["state"])))
    return found


def _model(weights: Weights) -> dict[str, str]:
    return {
        "model_id": weights.model_id,
        "revision": weights.revision,
        "family": weights.family,
        "licence": weights.licence,
        "origin": weights.origin,
    }


def _axes(preset: Preset, models: Sequence[Weights]) -> list[dict[str, str]]:
    """The axes table."""
    axes = {
        axis.name: {
            "name": axis.name,
            "kind": str(axis.kind),
            "mode": str(axis.mode),
            "file": f"builders/axes/{axis.name}.py",
        }
        for axis in used(preset.without, second=len(models) > 1).values()
    }
    axes[REPEAT] = {"name": REPEAT, "kind": "repeat", "mode": "regen", "file": "builders/pairs.py"}
    return list(axes.values())


def _sources(kept: Sequence[Item], preset: Preset) -> list[dict[str, str]]:
    found = sorted({(item.source, item.licence) for item in kept})
    origin = {"reasoning-gym": "PyPI package reasoning-gym, procedural tasks"}
    origin |= origins(preset.sources)
    return [
        {"name": name, "licence": licence, "origin": origin.get(name, "generators of this project")}
        for name, licence in found
    ]
