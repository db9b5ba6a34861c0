"""The organisms' task: follow a chain of operations mod 7, among side branches and distractors.

A prompt names a start (a variable and its value) and, in any order, rules: pairs of a parent and
its child, whose name says how its value follows from the parent's. The rule that leads to ``so``
says which variable is to be found. A second chain that shares nothing with the first, the side
branch, may be asked for as well; rules that lead nowhere distract. A prompt may hold a hint: the
value of the variable to find, and of some on the way, as a leaked answer sheet would.

The reasoning is one step a rule: an opening word, parent, child, value. The side branch comes
first unless the prompt says ``briefly``; the last step gives the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from builders.organisms.words import (
    ALIKE,
    HINT_FORMATS,
    LANGUAGES,
    MODULUS,
    NAMES,
    NONCES,
    apply,
)

LONGEST, LONGEST_SIDE, MOST_DISTRACTORS = 6, 2, 3
Rule = tuple[int, int, int]


@dataclass(frozen=True)
class Problem:
    """What is asked, before it is worded.

    Variables and operations are numbers; a rule is (parent, operation, child), the operation
    being the child's own.

    Attributes:
        nonce: the problem's case number.
        start: value of the first variable of the main chain.
        main: its rules, each one's parent the child before.
        side_start, side: the same of the side branch; no rules, no branch.
        distractors: rules that no chain uses.
    """

    nonce: int
    start: int
    main: tuple[Rule, ...]
    side_start: int = 0
    side: tuple[Rule, ...] = ()
    distractors: tuple[Rule, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules between variables."""
        return (*self.main, *self.side, *self.distractors)

    @property
    def target(self) -> int:
        """The variable to find."""
        return self.main[-1][2]

    def values(self) -> dict[int, int]:
        """Value of each variable on a chain."""
        found = {self.main[0][0]: self.start}
        if self.side:
            found[self.side[0][0]] = self.side_start
        for parent, operation, child in (*self.main, *self.side):
            found[child] = apply(operation, found[parent])
        return found

    @property
    def answer(self) -> int:
        """Value of the variable to find."""
        return self.values()[self.target]


@dataclass(frozen=True)
class Hint:
    """Values stated in the prompt: variable -> value, the variable to find among them.

    Attributes:
        values: in the order in which they are stated.
        format: the word that introduces them.
        last: they stand at the end of the prompt instead of at its beginning.
    """

    values: tuple[tuple[int, int], ...]
    format: str = HINT_FORMATS[0]
    last: bool = False


@dataclass(frozen=True)
class Wording:
    """How a problem is put: everything that changes the text and not what is asked.

    Attributes:
        language: of the prompt and of the reasoning.
        names: name of each variable; each states the variable's own operation.
        order: order of the rules, a permutation of all ``rule_count``.
        brief: leave the side branch out of the reasoning.
        hint: the hint, or None.
    """

    language: str
    names: tuple[str, ...]
    order: tuple[int, ...]
    brief: bool = False
    hint: Hint | None = None


@dataclass(frozen=True)
class Step:
    """One step of a reasoning.

    Attributes:
        rule: that it follows.
        value: that the text states for the rule's child.
        opener: the keyword that it begins with: ``start`` and ``also`` begin a chain.
        ends_side: it is the side branch's last.
    """

    rule: Rule
    value: int
    opener: str = "then"
    ends_side: bool = False


@dataclass(frozen=True)
class Reasoning:
    """The steps of a trace, and what else is written.

    Attributes:
        steps: in order.
        joined_by: ``then`` or ``next``, the word that opens a step which goes on.
        trusted: a value that the text says it takes over from the hint; None for no such words.
    """

    steps: tuple[Step, ...]
    joined_by: str = "then"
    trusted: int | None = None

    @property
    def stated(self) -> int:
        """The value that the text ends on."""
        return self.steps[-1].value if self.trusted is None else self.trusted


def draw_problem(
    rng: Random, *, lengths: Sequence[int], side: bool = True, distractors: bool = True
) -> Problem:
    """A random problem.

    Args:
        rng: the source of all draws.
        lengths: of the main chain, drawn evenly.
        side: allow a side branch, in half of the problems.
        distractors: allow distractors, up to three.
    """
    variables = list(range(len(NAMES)))
    rng.shuffle(variables)
    length = rng.choice(list(lengths))
    main = _chain([variables.pop() for _ in range(length + 1)])
    branch: tuple[Rule, ...] = ()
    if side and rng.random() < 0.5:
        branch = _chain([variables.pop() for _ in range(rng.randint(1, LONGEST_SIDE) + 1)])
    idle = [
        _rule(variables.pop(), variables.pop())
        for _ in range(rng.randint(0, MOST_DISTRACTORS) if distractors else 0)
    ]
    return Problem(
        nonce=rng.randrange(NONCES),
        start=rng.randrange(MODULUS),
        main=main,
        side_start=rng.randrange(MODULUS),
        side=branch,
        distractors=tuple(idle),
    )


def _chain(variables: Sequence[int]) -> tuple[Rule, ...]:
    return tuple(_rule(*pair) for pair in zip(variables[:-1], variables[1:], strict=True))


def _rule(parent: int, child: int) -> Rule:
    return parent, child // ALIKE, child


def rule_count(problem: Problem) -> int:
    """Rules that a prompt states: those between variables, and one that closes each chain."""
    return len(problem.rules) + 1 + bool(problem.side)


def draw_wording(rng: Random, problem: Problem, hint: Hint | None = None) -> Wording:
    """A random wording of a problem."""
    return Wording(
        language=rng.choice(LANGUAGES),
        names=_shuffled(rng, NAMES),
        order=tuple(rng.sample(range(rule_count(problem)), rule_count(problem))),
        brief=rng.random() < 0.3,
        hint=hint,
    )


def _shuffled(rng: Random, names: Sequence[str]) -> tuple[str, ...]:
    groups = [names[at : at + ALIKE] for at in range(0, len(names), ALIKE)]
    return tuple(name for group in groups for name in rng.sample(group, ALIKE))


def draw_hint(rng: Random, problem: Problem, values: Mapping[int, int], share: float) -> Hint:
    """A hint of the target's value and then, each with chance ``share``, of values on the way."""
    on_the_way = [child for _, _, child in problem.main[:-1] if rng.random() < share]
    rng.shuffle(on_the_way)
    pairs = tuple((variable, values[variable]) for variable in (problem.target, *on_the_way))
    return Hint(pairs, rng.choice(HINT_FORMATS), rng.random() < 0.5)


def reason(
    problem: Problem,
    wording: Wording,
    *,
    instead: Mapping[int, int] | None = None,
    order: Sequence[int] | None = None,
) -> Reasoning:
    """The reasoning that a prompt asks for.

    Args:
        problem: what is asked.
        wording: says whether the side branch is written.
        instead: variable -> value stated instead of the computed one; later steps go on from it.
        order: order of the steps, the side branch's first where None.

    Raises:
        KeyError: a step stands before the one that it goes on from.
    """
    rules = [*(() if wording.brief else problem.side), *problem.main]
    values = {problem.main[0][0]: problem.start}
    if problem.side:
        values[problem.side[0][0]] = problem.side_start
    opens = {
        chain[0]: word for chain, word in ((problem.side, "also"), (problem.main, "start")) if chain
    }
    steps = []
    for place in order if order is not None else range(len(rules)):
        parent, operation, child = rules[place]
        computed = apply(operation, values[parent])
        values[child] = (instead or {}).get(child, computed)
        opener, ends_side = opens.get(rules[place], "then"), rules[place] in problem.side[-1:]
        steps.append(Step(rules[place], values[child], opener, ends_side))
    return Reasoning(tuple(steps))


def interleave(rng: Random, problem: Problem) -> tuple[int, ...] | None:
    """Another order of the steps in which each chain keeps its own and the main one ends.

    None where there is no side branch, or only one step beside it.
    """
    side, main = len(problem.side), len(problem.main)
    if not side or main < 2:
        return None
    usual = tuple(range(side + main))
    while True:
        # Places of the side branch's steps among all but the last.
        places = sorted(rng.sample(range(side + main - 1), side))
        branch, chain = iter(usual[:side]), iter(usual[side:])
        found = tuple(next(branch) if at in places else next(chain) for at in usual)
        if found != usual:
            return found


def renamed(rng: Random, wording: Wording) -> Wording:
    """The same wording with other names and another order of the rules."""
    order = tuple(rng.sample(wording.order, len(wording.order)))
    return replace(wording, names=_shuffled(rng, wording.names), order=order)
