"""How many generations and traces an item and model have, condition by condition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import faithshift_data as fd
from builders.axes import Axis, used
from builders.presets import Preset

ANCHORS, GENERATIONS = ("base", "cued_base"), 2


@dataclass(frozen=True)
class Condition:
    """One condition of an item and model.

    Attributes:
        name: of the condition.
        generations: texts that a model writes for it, one attempt each.
        most: traces.
        expected: traces, by what became of the condition in ``mini``; ``most`` where ``mini`` has
            no such condition.
        measured: whether ``mini`` has it.
    """

    name: str
    generations: int
    most: int
    expected: float
    measured: bool

    def __str__(self) -> str:
        """One line of the report."""
        rest = f"{self.expected:.2f} expected" if self.measured else "not in mini"
        return f"{self.name}: generations {self.generations}, traces at most {self.most} ({rest})"


def conditions(preset: Preset) -> list[Condition]:
    """The anchors, then the partners of every axis of a preset."""
    axes = used(
        preset.without,
        second=len(preset.models) > 1 and not preset.all_write,
        language=preset.language,
    )
    partners = [axis for axis in axes.values() if axis.turn or axis.edit]
    return [
        *(_condition(name, GENERATIONS, regenerated=True) for name in ANCHORS),
        *(
            _condition(
                axis.condition, _starts(axis, {*ANCHORS, *axes}), regenerated=bool(axis.turn)
            )
            for axis in partners
        ),
    ]


def _starts(axis: Axis, there: Iterable[str]) -> int:
    counts = [len(gens) for name, gens in axis.anchors.items() if name in set(there)]
    return max(counts, default=0) if axis.one_of else sum(counts)


def _condition(name: str, starts: int, *, regenerated: bool) -> Condition:
    seen = rates().get(name)
    return Condition(
        name,
        generations=starts if regenerated else 0,
        most=starts,
        expected=starts if seen is None else min(seen, starts),
        measured=seen is not None,
    )


@cache
def rates() -> dict[str, float]:
    """Traces an item has in ``mini``, by condition."""
    counts = fd.open("mini").manifest.counts
    items = sum(counts["items"].values())
    total: dict[str, int] = {}
    for split in counts["traces_by_condition"].values():
        for name, count in split.items():
            total[name] = total.get(name, 0) + count
    return {name: count / items for name, count in total.items()}
