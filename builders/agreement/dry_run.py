"""What a run will ask, write and cost, and what it still lacks; nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterator

from builders.agreement.asking import shown_prompts
from builders.agreement.preset import ALL, AgreementPreset
from builders.dry_run.costs import BYTES_A_PARAMETER, TOKENS_A_SECOND, parameters
from builders.dry_run.missing import model_faults, place_faults
from builders.sources import Item, item_rng, make_item
from builders.sources import Question as Drawn
from builders.sources.drawing import draw, said
from faithshift_data.errors import InputError


def dry_run(preset: AgreementPreset) -> Iterator[str]:
    """The report, line by line."""
    faults: list[str] = []
    items: list[Item] = []
    yield f"preset: {preset.name} {preset.version}"
    yield f"items: {preset.items:,} ({', '.join(use.name for use in preset.sources)})"
    try:
        found = draw(preset.sources, preset.items, preset.item_seed)
    except InputError as error:
        faults.append(f"sources: {error}")
    else:
        items = found.items
        faults += found.faults(preset.items_sha256)
        for name, entry in found.ledger.items():
            left = said(entry["left_out"])
            yield f"  {name}: {entry['drawn']:,} of {entry['rows']:,} rows; left out: {left}"
        if not found.short:
            yield f"  {found.told(preset.items_sha256)}"
    yield f"models: {preset.designed} wanted, {len(preset.models)} named"
    for name in preset.models:
        yield f"  {name}{'' if name in preset.runnable else ': not pinned, not run'}"
    named = len(preset.models if preset.elicitation == ALL else preset.elicitation)
    yield f"run twice: {preset.designed_repeats} models"
    yield f"elicitation: {preset.elicited} models wanted, {named} named"
    yield from _costs(preset)
    item = items[0] if items else _stand_in()
    source = item.source if items else "this project: no source could be read"
    yield f"prompts of one item, {item.item_id} of {source}:"
    for condition, text in shown_prompts(preset, item).items():
        yield f"  [{condition}]"
        yield from (f"    {line}" for line in text.splitlines())
    faults += [*_model_faults(preset), *place_faults(preset.engine)]
    yield "missing:" if faults else "missing: nothing"
    yield from (f"  {line}" for line in faults)


def _costs(preset: AgreementPreset) -> Iterator[str]:
    each, models = preset.items, preset.designed + preset.designed_repeats
    free, cued = 2 * each * models, (preset.generations - 2) * each * models
    cued, uncued = cued + each * preset.elicited, 2 * each * preset.elicited
    most = (free + uncued) * preset.max_tokens + cued * preset.answer_tokens
    yield (
        f"generations: {free + cued + uncued:,} = {free:,} free, {cued:,} behind injected text "
        f"with the cue, {uncued:,} without it (counted)"
    )
    yield f"tokens written: at most {most:,} ({preset.max_tokens:,} a generation without the cue)"
    sizes = [size for name in preset.models if (size := parameters(name)) is not None]
    if not sizes:
        yield "GPU hours: not known, as no name says a size"
        return
    mean = sum(sizes) / len(sizes)
    hours = most * mean / TOKENS_A_SECOND / 3600
    weights = mean * BYTES_A_PARAMETER * preset.designed
    yield (
        f"GPU hours: at most about {hours:,.0f} (assumed: {TOKENS_A_SECOND:,.0f} tokens a second "
        f"and 10^9 parameters, {mean:,.0f} x 10^9 a model as the named ones); not measured here"
    )
    yield f"disk, weights: about {weights:,.0f} GB ({BYTES_A_PARAMETER} bytes a parameter)"


def _model_faults(preset: AgreementPreset) -> Iterator[str]:
    yield from model_faults(preset.runnable)
    for name in preset.models:
        if name not in preset.runnable:
            yield f"models: {name}: expected ORG/NAME@COMMIT or a folder"
    unnamed = preset.designed - len(preset.models)
    if unnamed > 0:
        yield f"models: {unnamed} of {preset.designed} are not named"
    unnamed = preset.wanted_elicitation - len(preset.elicitation)
    if unnamed > 0 and preset.elicitation != ALL:
        yield f"elicitation: {unnamed} of {preset.wanted_elicitation} are not named"


def _stand_in() -> Item:
    options = [f"the {name} river" for name in ("first", "second", "third", "fourth", "fifth")]
    options += [f"the {name} lake" for name in ("north", "south", "east", "west", "middle")]
    item_rng("stand-in", "options").shuffle(options)
    question = Drawn(("Which water is meant?",), options[0], tuple(options[1:]))
    return make_item("stand-in", "this project", "stand-in", question, "CC0-1.0")
