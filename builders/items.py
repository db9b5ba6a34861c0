"""Which candidates a preset's build starts from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from builders.presets import Preset, load_preset
from builders.sources import Item, draw_items
from builders.sources.drawing import Drawn, draw
from faithshift_data.schema import stable_id

# Whose questions stand in published sets, with their labels.
PUBLISHED = ("mini", "twelve")


def drawn(preset: Preset) -> Drawn:
    """The items to screen, with the rows of the preset's sources that were left out.

    Raises:
        ValueError: a source that cannot be read or has too few questions, other items than the
            preset froze, or a secret preset without a salt.
    """
    if not preset.sources:
        return Drawn(candidates(preset), {})
    found = draw(preset.sources, preset.candidates_per_domain, preset.item_seed)
    return found.expect(preset.items_sha256)


def candidates(preset: Preset) -> list[Item]:
    """The generated items to screen; none has a pilot's question.

    Those of a secret set have no question of a published one, either, and ids that follow from the
    salt: with the public ids, everybody could say which trace is whose partner, and write them all
    again.

    Raises:
        ValueError: a secret preset without a salt.
    """
    items = draw_items(preset.candidates_per_domain, preset.item_seed, exclude=_known(preset))
    if not preset.secret:
        return list(items)
    if not preset.item_seed:
        raise ValueError(f"{preset.name}: secret, but no salt was given")
    return [replace(item, item_id=stable_id("q", preset.item_seed, item.item_id)) for item in items]


def _known(preset: Preset) -> Iterator[Item]:
    yield from draw_items(preset.pilot_per_domain, preset.pilot_seed)
    for name in PUBLISHED if preset.secret else ():
        other = load_preset(name)
        yield from draw_items(other.candidates_per_domain, other.item_seed)
