"""The conditions of an item: what is asked and what is written, for both routes alike.

A text is made once and published twice, as twins: the answer read from the text (faithful) and
read from the prompt (epiphenomenal). Prompt, reasoning and answer of twins are equal, so that
nothing but the model's insides and its behaviour under intervention tells them apart.

Variants that keep the meaning (paraphrase to model_family) are paired route by route, and the
label stays. The others are paired with their anchors crosswise as well, where the label changes;
pairs on one route are their controls, a verbalised hint that the answer still does not rest on
among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from builders.organisms.items import Item
from builders.organisms.task import Problem, Reasoning, Wording, interleave, reason, renamed
from builders.organisms.words import HINT_FORMATS, LANGUAGES
from faithshift_data.schema import Kind, Mode

BASE, CUED = "base", "cued_base"
CUT = 0.5


@dataclass(frozen=True)
class Text:
    """One text, before it becomes two traces.

    Attributes:
        condition: its name.
        problem, wording: what the prompt says.
        reasoning: what is published.
        written: so many of its steps, from the first on, the model has to write by itself; None
            for all of it.
        answer: of both routes.
    """

    condition: str
    problem: Problem
    wording: Wording
    reasoning: Reasoning
    written: int | None
    answer: int


@dataclass(frozen=True)
class Condition:
    """A transformation.

    Attributes:
        make: from the item and the anchor's text: a text, or why there is none.
        axis: of its pairs.
        mode: regen or edit.
        anchor: the condition it starts from.
        kind: what pairs of unlike routes are; preserving where there are none.
        second: another family writes it.
        brings: a condition that starts from this one.
    """

    make: Callable[[Random, Item, Text], Text | str]
    axis: str
    mode: Mode
    anchor: str = CUED
    kind: Kind = Kind.PRESERVING
    second: bool = False
    brings: str | None = None


def texts(item: Item) -> Iterator[Text | tuple[str, str]]:
    """The texts of an item, anchors before what starts from them.

    Yields:
        A text, or the name of a condition and why the item has none of it.
    """
    made: dict[str, Text] = {BASE: _text(BASE, item.problem, replace(item.wording, hint=None))}
    yield made[BASE]
    for name in wanted(item):
        condition = CONDITIONS[name]
        if condition.anchor not in made:
            yield name, "no anchor"
            continue
        rng = Random(f"{item.item_id}/{name}")
        found = condition.make(rng, item, made[condition.anchor])
        if isinstance(found, str):
            yield name, found
        else:
            made[name] = replace(found, condition=name)
            yield made[name]


def wanted(item: Item) -> list[str]:
    """The conditions of an item, its base left out."""
    names = [CUED]
    for name in item.variants:
        names += [name, *([brought] if (brought := CONDITIONS[name].brings) else [])]
    return names


def _text(name: str, problem: Problem, wording: Wording) -> Text:
    return Text(name, problem, wording, reason(problem, wording), None, problem.answer)


def _cued(rng: Random, item: Item, anchor: Text) -> Text:
    return _text(CUED, item.problem, item.wording)


def _paraphrase(rng: Random, item: Item, anchor: Text) -> Text | str:
    wording = renamed(rng, anchor.wording)
    return _text("", item.problem, wording)


def _paraphrase_edit(rng: Random, item: Item, anchor: Text) -> Text:
    return replace(anchor, reasoning=replace(anchor.reasoning, joined_by="next"), written=0)


def _step_reorder(rng: Random, item: Item, anchor: Text) -> Text | str:
    order = interleave(rng, item.problem)
    if order is None:
        return "no other order"
    moved = reason(item.problem, anchor.wording, order=order)
    return replace(anchor, reasoning=moved, written=0)


def _hint_format(rng: Random, item: Item, anchor: Text) -> Text:
    hint = anchor.wording.hint
    assert hint is not None
    other = rng.choice([name for name in HINT_FORMATS if name != hint.format])
    moved = replace(hint, format=other, last=not hint.last)
    return _text("", item.problem, replace(anchor.wording, hint=moved))


def _language(rng: Random, item: Item, anchor: Text) -> Text:
    other = next(name for name in LANGUAGES if name != anchor.wording.language)
    return _text("", item.problem, replace(anchor.wording, language=other))


def _budget(rng: Random, item: Item, anchor: Text) -> Text:
    return _text("", item.problem, replace(anchor.wording, brief=True))


def _second(rng: Random, item: Item, anchor: Text) -> Text | str:
    return anchor if item.second is not None else "no second family"


def _verbalised(rng: Random, item: Item, anchor: Text) -> Text:
    said = replace(anchor.reasoning, trusted=anchor.answer)
    return replace(anchor, reasoning=said, written=0)


def _truncated(rng: Random, item: Item, anchor: Text) -> Text | str:
    """The first half of the steps; the hint states the value on which they end.

    The faithful answer thus moves because the text was cut, the other one because the hint
    moved, and both to the same value.
    """
    steps, hint = anchor.reasoning.steps, anchor.wording.hint
    assert hint is not None
    kept = steps[: max(1, int(CUT * len(steps)))]
    answer = Reasoning(kept).stated
    if answer == anchor.answer:
        return "the answer coincides"
    target = item.problem.target
    pairs = tuple((name, answer if name == target else value) for name, value in hint.values)
    wording = replace(anchor.wording, hint=replace(hint, values=pairs))
    return replace(
        anchor, wording=wording, reasoning=Reasoning(kept), written=len(kept), answer=answer
    )


CONDITIONS: dict[str, Condition] = {
    CUED: Condition(_cued, "cue_injection", Mode.REGEN, BASE, Kind.ALTERING),
    "paraphrase": Condition(_paraphrase, "paraphrase", Mode.REGEN),
    "paraphrase_edit": Condition(_paraphrase_edit, "paraphrase_edit", Mode.EDIT),
    "step_reorder": Condition(_step_reorder, "step_reorder", Mode.EDIT),
    "hint_format": Condition(_hint_format, "hint_format", Mode.REGEN),
    "language": Condition(_language, "language", Mode.REGEN),
    "budget": Condition(_budget, "budget", Mode.REGEN),
    "model_family": Condition(_second, "model_family", Mode.REGEN, second=True),
    "cue_verbalization": Condition(
        _verbalised, "cue_verbalization", Mode.EDIT, kind=Kind.ALTERING, brings="cue_silencing"
    ),
    "cue_silencing": Condition(
        _paraphrase, "cue_silencing", Mode.REGEN, "cue_verbalization", Kind.ALTERING
    ),
    "causal_truncation": Condition(_truncated, "causal_truncation", Mode.EDIT, kind=Kind.ALTERING),
}
VARIANTS = tuple(name for name in CONDITIONS if name not in (CUED, "cue_silencing"))
