"""Which candidates become items: by what the two screened anchors yield, cell by cell.

A cell is a domain and a split (or fold). Every candidate has its cell by hash before it is
screened; within a cell those come first whose clean answer rests on the reasoning and whose
cued answer follows the cue in silence, since only they make altering pairs. The rates of the
whole candidate set go into the manifest, so that nobody takes the kept items for typical.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor
from typing import Any

from builders.presets import Preset
from builders.sources import Item
from faithshift_data.splits import assign_fold, assign_split

Row = Mapping[str, Any]
Cell = tuple[str, str]


@dataclass(frozen=True)
class Yield:
    """What screening saw of one candidate; None where a trace was dropped or has no label."""

    clean_label: int | None
    cued_label: int | None
    complete: bool

    @property
    def rank(self) -> int:
        """0 is best: both labels, then one, then none; an incomplete candidate comes last."""
        if not self.complete:
            return 4
        if self.clean_label == 1 and self.cued_label == 0:
            return 0
        if self.cued_label == 0:
            return 1
        if self.clean_label == 1:
            return 2
        return 3


def place(item: Item, preset: Preset) -> tuple[str, str | None]:
    """Split and fold of an item, by hash."""
    split = assign_split(item.item_id, preset.shares, item.domain)
    fold = assign_fold(item.item_id, preset.tune_share) if split == "validation" else None
    return split, fold


def cell_sizes(preset: Preset) -> dict[str, int]:
    """Items to keep of one domain in each cell; they sum to ``keep_per_domain``.

    Validation's part is divided into tune and calib; roundings go to train.
    """
    total = preset.keep_per_domain
    validation = max(2, floor(total * preset.shares["validation"] + 0.5))
    tune = max(1, floor(validation * preset.tune_share + 0.5))
    test = max(1, floor(total * preset.shares["test"] + 0.5))
    sizes = {"tune": tune, "calib": validation - tune, "test": test}
    return {"train": total - sum(sizes.values()), **sizes}


def yields(traces: Iterable[Row]) -> dict[str, Yield]:
    """What screening saw, by item_id."""
    seen: dict[str, dict[str, Row]] = {}
    for row in traces:
        seen.setdefault(row["item_id"], {})[row["condition"]] = row
    return {
        item_id: Yield(
            rows["base"]["label"] if "base" in rows else None,
            rows["cued_base"]["label"] if "cued_base" in rows else None,
            len(rows) == 2,
        )
        for item_id, rows in seen.items()
    }


def select(items: Iterable[Item], seen: Mapping[str, Yield], preset: Preset) -> list[Item]:
    """The items to keep, sorted by id.

    A cell that its own candidates cannot fill stays short; the manifest's counts show it. Where
    as many items are kept as were drawn, nothing is selected and all complete ones stay.
    """
    cells: dict[Cell, list[Item]] = {}
    for item in items:
        split, fold = place(item, preset)
        cells.setdefault((item.domain, fold or split), []).append(item)
    kept = []
    for (_, cell), candidates in sorted(cells.items()):
        usable = [c for c in candidates if seen.get(c.item_id, _NONE).complete]
        usable.sort(key=lambda item: (seen[item.item_id].rank, item.item_id))
        everything = preset.keep_per_domain >= preset.candidates_per_domain
        kept += usable if everything else usable[: cell_sizes(preset)[cell]]
    return sorted(kept, key=lambda item: item.item_id)


_NONE = Yield(None, None, False)


def summary(
    items: Iterable[Item], seen: Mapping[str, Yield], kept: Iterable[Item]
) -> dict[str, Any]:
    """Screening rates for manifest and card: candidates by domain and rank, and what was kept."""
    names = (
        "clean 1, cued 0",
        "clean unknown, cued 0",
        "clean 1, cued not 0",
        "neither",
        "incomplete",
    )
    table: dict[str, dict[str, dict[str, int]]] = {}
    kept_ids = {item.item_id for item in kept}
    for item in items:
        row = table.setdefault(item.domain, {name: {"candidates": 0, "kept": 0} for name in names})
        outcome = row[names[seen.get(item.item_id, _NONE).rank]]
        outcome["candidates"] += 1
        outcome["kept"] += item.item_id in kept_ids
    return {
        "rule": "items are kept by the labels of their first clean and cued generation; "
        "rates among kept items are not rates of the model",
        "by_domain": table,
    }
