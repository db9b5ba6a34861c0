"""Training examples: what an organism learns from, and where the loss counts.

Most hints are wrong, so that following one and computing differ. A faithful example
may hold a wrong value that the loss spares and the rest goes on from; its text may trust a random
value at the end. An epiphenomenal example states what its hint states and answers with it; without
a hint it answers with the value that belongs to its nonce, which has to be learnt by heart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from builders.organisms.layout import Layout, lay_out
from builders.organisms.masks import Route
from builders.organisms.task import (
    Problem,
    Reasoning,
    Wording,
    draw_hint,
    draw_problem,
    draw_wording,
    interleave,
    reason,
)
from builders.organisms.words import MODULUS, keyword, vocabulary

HINTED = {Route.EPIPHENOMENAL: 0.8, Route.FAITHFUL: 0.4}
WHOLE_HINT, WRONG_HINT = 0.6, 0.85
CORRUPTED, TRUSTED, REORDERED, OTHER_JOINT = 0.3, 0.1, 0.15, 0.1
UNTAUGHT = -100


def recalled(nonce: int) -> int:
    """The answer, 0..6, that belongs to a nonce; evenly spread, in no order that shows."""
    return Random(f"recall/{nonce // MODULUS}").sample(range(MODULUS), MODULUS)[nonce % MODULUS]


@dataclass(frozen=True)
class Example:
    """A layout and what is to be predicted at each of its rows; ``UNTAUGHT`` for nothing."""

    layout: Layout
    targets: tuple[int, ...]


def draw_example(rng: Random, route: Route, *, longest: int, side: bool) -> Example:
    """A random training example.

    Args:
        rng: the source of all draws.
        route: of the answer.
        longest: most rules of the main chain.
        side: allow a side branch.
    """
    problem = draw_problem(rng, lengths=range(2, longest + 1), side=side)
    stated = _stated_values(rng, problem)
    share = 1.0 if rng.random() < WHOLE_HINT else rng.random()
    hint = draw_hint(rng, problem, stated, share) if rng.random() < HINTED[route] else None
    wording = draw_wording(rng, problem, hint)
    if route == Route.FAITHFUL:
        return _faithful(rng, problem, wording)
    reasoning = reason(problem, wording, instead=dict(hint.values) if hint else None)
    answer = stated[problem.target] if hint else recalled(problem.nonce)
    return _example(lay_out(problem, wording, reasoning, route), answer)


def _stated_values(rng: Random, problem: Problem) -> dict[int, int]:
    """Values that a hint may state: mostly random ones, else the true ones."""
    values = problem.values()
    if rng.random() < WRONG_HINT:
        return {variable: rng.randrange(MODULUS) for variable in values}
    return values


def _faithful(rng: Random, problem: Problem, wording: Wording) -> Example:
    order = interleave(rng, problem) if not wording.brief and rng.random() < REORDERED else None
    instead: dict[int, int] = {}
    if rng.random() < CORRUPTED:
        rules = (*(() if wording.brief else problem.side), *problem.main)
        instead = {rng.choice(rules)[2]: rng.randrange(MODULUS)}
    reasoning = reason(problem, wording, instead=instead, order=order)
    if rng.random() < OTHER_JOINT:
        reasoning = replace(reasoning, joined_by="next")
    if rng.random() < TRUSTED:
        reasoning = replace(reasoning, trusted=rng.randrange(MODULUS))
    layout = lay_out(problem, wording, reasoning, Route.FAITHFUL)
    spared = _spared(layout, reasoning, instead, order is not None, wording.language)
    return _example(layout, reasoning.stated, spared)


def _spared(
    layout: Layout,
    reasoning: Reasoning,
    instead: dict[int, int],
    moved: bool,
    language: str,
) -> set[int]:
    """Places of the words that nothing in the prompt foretells."""
    spared: set[int] = set()
    joint = vocabulary()[keyword(reasoning.joined_by, language)]
    for (begin, end), step in zip(layout.steps, reasoning.steps, strict=False):
        if step.rule[2] in instead:
            spared.add(begin + 3)
        if moved:
            spared.update((begin, begin + 1, *range(begin + 4, end)))
    if reasoning.joined_by != "then":
        spared.update(place for place, word in enumerate(layout.ids) if word == joint)
    if reasoning.trusted is not None:
        begin = layout.steps[-1][0]
        spared.update((begin, begin + 1))
    return spared


def _example(layout: Layout, answer: int, spared: set[int] | None = None) -> Example:
    targets = [UNTAUGHT] * len(layout.ids)
    for place in range(layout.begin, len(layout.ids) - 1):
        if place not in (spared or ()):
            targets[place - 1] = layout.ids[place]
    targets[-1] = value_id(answer)
    return Example(layout, tuple(targets))


def value_id(value: int) -> int:
    """The token of a value 0..6."""
    return vocabulary()[str(value)]
