"""Chunks of organisms -> tables, manifest with gates and text baselines, card, dataset folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from builders.chunk import Chunk
from builders.content import content_baselines, draft
from builders.organisms.chunks import Organism
from builders.organisms.conditions import CONDITIONS
from builders.organisms.items import Item
from builders.organisms.pairing import make_pairs
from builders.organisms.preset import OrganismPreset
from builders.organisms.probing import probe_table
from builders.organisms.tracing import LICENCE, SOURCE
from builders.organisms.words import LANGUAGES
from builders.package import by_split, dropped, errors
from builders.provenance import machine
from cards import dataset_card
from faithshift_data.atomic import sha256_file
from faithshift_data.folder import write_folder
from faithshift_data.measure.descriptors import manifest_entries
from faithshift_data.schema import LabelRule
from faithshift_data.tables import ID

ORIGIN = "trained by builders/organisms of this project from random weights"
SPLIT_RULE = (
    "Split by problem, nonce and model: a problem belongs to the part that a hash of its chains "
    "falls into, each part has nonces of its own, and of each architecture one model writes train "
    "and another one validation and test. Twins, which are one text under both routes, have one "
    "item and so one part."
)
NOTES = (
    "Made by tiny transformers that an attention mask lets answer from their written reasoning "
    "alone (label 1) or from their prompt alone (label 0). The label is that mask, no judgement.",
    SPLIT_RULE,
    "Llama and GPT-2 models of this size were tried first and did not pass the gate, nor did two "
    "of three seeds of GPT-NeoX with 1200 steps instead of 1600; `builders/organisms/README.md` "
    "says how far they came. Results on three architectures do not speak for others.",
    "What such toys do not show: that a detector which is right here is right about language "
    "models. The route is imposed from outside and not learnt, the task is arithmetic mod 7 in a "
    "language of some hundred words, the models have four layers, and no text is like a person's. "
    "A detector that fails here has failed where the truth is known; one that succeeds has only "
    "passed the first test.",
    "Prompt, reasoning and answer of twins are equal, so no text tells the label. Without a hint "
    "the states at the reasoning are equal as well: only interventions tell such twins apart. "
    "Features of the place of the answer are not stored, since the mask shows there.",
    "The hint states the truth in all published traces (after a cut: the value that the shown text "
    "ends on), for otherwise the texts of the two routes would differ. Without it the nonce still "
    "recalls the same answer, so `cue_removed` moves none; `cue_flipped` puts another value there.",
)


def pack(
    preset: OrganismPreset,
    organisms: Sequence[Organism],
    tried: Sequence[Organism],
    items: Sequence[Item],
    chunks: Sequence[Chunk],
    out: Path,
) -> Path:
    """Write the dataset folder, the weights of the models among its files.

    Args:
        preset: of the build.
        organisms: that wrote.
        tried: all that were trained.
        items: all that were drawn.
        chunks: one an organism, without orphans.
        out: a new folder.

    Raises:
        ValueError: no trace was made.
    """
    traces = {key: row for chunk in chunks for key, row in chunk.traces.items()}
    if not traces:
        raise ValueError(f"{preset.preset}: no trace was made; dropped: {dropped(chunks)}")
    interventions = {key: rows for chunk in chunks for key, rows in chunk.interventions.items()}
    tables = by_split(traces, interventions, make_pairs(traces))
    for config, table in tables.items():
        for rows in table.values():
            rows.sort(key=itemgetter(ID[config]))
    arrays = {key: each for chunk in chunks for key, each in chunk.descriptors.items()}
    manifest: dict[str, Any] = {
        "name": preset.name,
        "version": preset.version,
        "preset": preset.preset,
        "draw_seed": preset.seed,
        "licence": LICENCE,
        "label_rule": str(LabelRule.MECHANISM),
        "languages": sorted(LANGUAGES),
        "notes": [*NOTES, *_shortfall(preset, organisms)],
        "models": [_model(each) for each in organisms],
        "sources": [{"name": SOURCE, "licence": LICENCE, "origin": "generators of this project"}],
        "axes": _axes(),
        "screening": {
            "seeds": _seeds(tried),
            "items": dict(Counter(item.part for item in items)),
            "dropped_traces_of_kept_items": dropped(chunks),
            "errors": {"build": errors(chunks)},
        },
        "audit": {"gates": [_gate(each) for each in organisms]},
        "seeds": {"items": preset.seed, "splits": SPLIT_RULE},
        "environment": {
            "machines": [machine()],
            "weights": {each.writer.model_id: _files(each) for each in organisms},
        },
        "descriptors": manifest_entries(next(iter(arrays.values()))),
    }
    files = {
        f"models/{each.name}/{path.name}": path
        for each in organisms
        for path in sorted(each.folder.iterdir())
    }
    with draft(manifest, tables, arrays) as first:
        manifest["audit"]["text"] = content_baselines(first, ("calib", "test"))
        manifest["audit"]["probes"] = probe_table(first)
    return write_folder(out, manifest, tables, arrays, card=dataset_card, files=files)


def _shortfall(preset: OrganismPreset, organisms: Sequence[Organism]) -> list[str]:
    """What the card says of families without enough models that passed."""
    wrote = Counter(each.family for each in organisms)
    few = [family for family in preset.families if wrote[family] < 2]
    said = [
        f"{family} ({'one model, which writes no train' if wrote[family] else 'none'})"
        for family in few
    ]
    return [f"Families with fewer than two models that passed: {', '.join(said)}."] if few else []


def _model(organism: Organism) -> dict[str, str]:
    writer = organism.writer
    return {
        "model_id": writer.model_id,
        "revision": writer.revision,
        "family": writer.family,
        "licence": LICENCE,
        "origin": ORIGIN,
    }


def _gate(organism: Organism) -> dict[str, Any]:
    found = {"model_id": organism.writer.model_id, "train": organism.train, **organism.gate}
    return {key: value for key, value in found.items() if key != "failed"}


def _seeds(tried: Sequence[Organism]) -> dict[str, dict[str, list[int]]]:
    found: dict[str, dict[str, list[int]]] = {}
    for each in tried:
        said = found.setdefault(each.family, {"passed": [], "failed": []})
        said["passed" if each.gate["passed"] else "failed"].append(each.seed)
    return found


def _files(organism: Organism) -> dict[str, str]:
    return {path.name: sha256_file(path) for path in sorted(organism.folder.iterdir())}


def _axes() -> list[dict[str, str]]:
    return [
        {
            "name": condition.axis,
            "kind": str(condition.kind),
            "mode": str(condition.mode),
            "file": "builders/organisms/conditions.py",
        }
        for condition in CONDITIONS.values()
    ]
