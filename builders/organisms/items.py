"""Items of the organisms' data: a problem, its nonce, its wording, and who writes it.

A part of the data (train, tune, calib, test) has its own problems, nonces and models. A problem
belongs to the part that the hash of its chains falls into, so that a larger draw only adds items.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from builders.organisms.examples import recalled
from builders.organisms.task import LONGEST, Problem, Wording, draw_hint, draw_problem, draw_wording
from builders.organisms.words import MODULUS, NONCES

# Chance that the hint states a value on the way, beside the one to find.
ON_THE_WAY = 0.6
PARTS: Mapping[str, tuple[str, str | None]] = {
    "train": ("train", None),
    "tune": ("validation", "tune"),
    "calib": ("validation", "calib"),
    "test": ("test", None),
}
# Blocks of nonces, each of which has one nonce an answer.
_BLOCKS = {"train": range(0, 5), "tune": range(5, 8), "calib": range(8, 11), "test": range(11, 14)}


@dataclass(frozen=True)
class Item:
    """A problem and how its anchors word it.

    Attributes:
        item_id: its id.
        part: ``train``, ``tune``, ``calib`` or ``test``.
        problem: with a nonce whose remembered answer is the problem's: without a hint, too, both
            routes then give one answer.
        wording: of the anchor with a hint, which states true values.
        writer: family of the model that writes it.
        second: another family, for the axis ``model_family``; None where there is no other.
        variants: the conditions beside the anchors, in an order drawn for the item.
    """

    item_id: str
    part: str
    problem: Problem
    wording: Wording
    writer: str
    second: str | None
    variants: tuple[str, ...]

    @property
    def place(self) -> tuple[str, str | None]:
        """Split and fold."""
        return PARTS[self.part]


def draw_items(
    seed: int,
    counts: Mapping[str, int],
    families: Mapping[str, Sequence[str]],
    variants: Sequence[str],
    variants_per_item: int,
) -> list[Item]:
    """The items of all parts; fewer items or variants are always a part of more.

    Args:
        seed: of the draw.
        counts: items of each part.
        families: of each part's models, at least one.
        variants: names of the conditions beside the anchors.
        variants_per_item: how many of them an item has.
    """
    return [
        item
        for part, count in counts.items()
        for item, _ in zip(
            _items_of(seed, part, families[part], variants, variants_per_item),
            range(count),
            strict=False,
        )
    ]


def _items_of(
    seed: int, part: str, families: Sequence[str], variants: Sequence[str], variants_per_item: int
) -> Iterator[Item]:
    seen: set[str] = set()
    number = 0
    for attempt in range(10**9):
        rng = Random(f"{seed}/{part}/{attempt}")
        problem = draw_problem(rng, lengths=range(2, LONGEST + 1))
        mark = chains(problem)
        if not problem.side or mark in seen or part_of(mark) != part:
            continue
        seen.add(mark)
        blocks = [block for block in _BLOCKS[part] if (block + 1) * MODULUS <= NONCES]
        block = rng.choice(blocks) * MODULUS
        nonce = next(n for n in range(block, block + MODULUS) if recalled(n) == problem.answer)
        problem = replace(problem, nonce=nonce)
        hint = draw_hint(rng, problem, problem.values(), ON_THE_WAY)
        wording = replace(draw_wording(rng, problem, hint), brief=False)
        writer = families[number % len(families)]
        order = rng.sample(list(variants), len(variants))
        others = [family for family in families if family != writer]
        yield Item(
            item_id=f"chain-{part}-{number:05d}",
            part=part,
            problem=problem,
            wording=wording,
            writer=writer,
            second=rng.choice(others) if others else None,
            variants=tuple(order[:variants_per_item]),
        )
        number += 1


def chains(problem: Problem) -> str:
    """What a problem computes, whatever its variables are called and whatever distracts."""
    main, side = ([rule[1] for rule in rules] for rules in (problem.main, problem.side))
    return f"{problem.start} {main} {problem.side_start} {side}"


def part_of(mark: str) -> str:
    """The part that a problem belongs to, by the hash of its chains."""
    return list(PARTS)[hashlib.sha256(mark.encode()).digest()[0] % len(PARTS)]


def nonces_of(part: str) -> set[int]:
    """The nonces that items of a part may have."""
    return {block * MODULUS + place for block in _BLOCKS[part] for place in range(MODULUS)}
