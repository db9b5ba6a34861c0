"""What a build from stated questions will ask, write and cost, and what it still lacks.

Nothing is generated and no model is loaded. A figure says what it rests on: counted, measured on
the embedded ``mini``, published elsewhere, or assumed.
"""

from __future__ import annotations

from collections.abc import Iterator

from builders.dry_run.costs import costs
from builders.dry_run.counts import conditions
from builders.dry_run.missing import lacking
from builders.dry_run.prompts import prompts
from builders.presets import Preset
from builders.sources import Item, draw_items
from builders.sources.drawing import Drawn, draw, said
from faithshift_data.errors import InputError


def dry_run(preset: Preset) -> Iterator[str]:
    """The report, line by line."""
    found, unread = _drawn(preset)
    items = found.items if found else []
    yield f"preset: {preset.name} {preset.version}"
    yield from _items(preset, found)
    yield from _models(preset)
    plan = conditions(preset)
    yield "conditions (generations and traces of an item and model):"
    for each in plan:
        yield f"  {each}"
    yield from costs(preset, plan, items)
    yield from _prompts(preset, items)
    faults = [*unread, *(found.faults(preset.items_sha256) if found else ()), *lacking(preset)]
    yield "missing:" if faults else "missing: nothing"
    for line in faults:
        yield f"  {line}"


def _drawn(preset: Preset) -> tuple[Drawn | None, list[str]]:
    try:
        return draw(preset.sources, preset.candidates_per_domain, preset.item_seed), []
    except InputError as error:
        return None, [f"sources: {error}"]


def _items(preset: Preset, found: Drawn | None) -> Iterator[str]:
    asked = [(use.name, use.items or preset.candidates_per_domain) for use in preset.sources]
    listed = ", ".join(f"{name} {count:,}" for name, count in asked)
    yield f"items: {sum(count for _, count in asked):,} ({listed})"
    if found is None:
        return
    for name, entry in found.ledger.items():
        left = said(entry["left_out"])
        yield f"  {name}: {entry['drawn']:,} of {entry['rows']:,} rows; left out: {left}"
    if not found.short:
        yield f"  {found.told(preset.items_sha256)}"


def _models(preset: Preset) -> Iterator[str]:
    doing = "each writes all conditions" if preset.all_write else "the first writes"
    yield f"models: {len(preset.models)}, {doing}; engine {preset.engine}, read by transformers"
    for name in preset.models:
        yield f"  {name}"
    for name in preset.api_models:
        yield f"  {name}: hosted, behaviour only, not built here"


def _prompts(preset: Preset, items: list[Item]) -> Iterator[str]:
    if items:
        item = items[0]
        yield f"prompts of one item, {item.item_id} of {item.source}:"
    else:
        item = next(draw_items(1, preset.item_seed))
        yield "prompts of one item (no source could be read: this question is a generated one):"
    for line in prompts(preset, item):
        yield f"  {line}"
