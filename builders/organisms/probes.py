"""Interventions on an organism's trace: what stands where its reasoning or its hint stood.

Kinds, fractions, seeds and roles are those of ``faithshift_data.measure.interventions``. Words that
an organism does not know give way to such as it does: dots to the word that opens a step, other
wordings to the other opening word. A mistake is followed up to the end of the text, so that
an answer that rests on the text has to move. Twins get the same texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from builders.organisms.tracing import Row, language_of
from builders.organisms.words import MODULUS, NAMES, apply, keyword, operation_of
from faithshift_data.measure.interventions import (
    FEATURE_PROBES,
    FEATURE_SUBSET,
    LABEL_PROBES,
    MOST_FILLER,
    Probe,
    keep_words,
)
from faithshift_data.schema import Role

CUE_FLIPPED = Probe("cue_flipped", None, 101, Role.LABEL)
ANCHORS = ("base", "cued_base")


@dataclass(frozen=True)
class Injected:
    """A probe, and prompt and reasoning with it."""

    probe: Probe
    prompt: str
    reasoning: str


def planned(row: Row) -> tuple[Probe, ...]:
    """The probes of a trace: those of the label, and the full feature set for anchors."""
    features = FEATURE_PROBES if row["condition"] in ANCHORS else FEATURE_SUBSET
    return (*LABEL_PROBES, CUE_FLIPPED, *features)


def inject(row: Row, probes: tuple[Probe, ...]) -> Iterator[Injected]:
    """The probes that apply to a trace; a feature one that shows a label probe's text does not."""
    shown = {row["reasoning"]}
    for probe in probes:
        prompt, reasoning = _texts(row, probe)
        if (prompt, reasoning) == (row["prompt"], row["reasoning"]):
            continue
        same = prompt == row["prompt"] and " ".join(reasoning.split()) in shown
        if probe.role == Role.FEATURE and same:
            continue
        if probe.role == Role.LABEL and prompt == row["prompt"]:
            shown.add(" ".join(reasoning.split()))
        yield Injected(probe, prompt, reasoning)


def _texts(row: Row, probe: Probe) -> tuple[str, str]:
    prompt, reasoning = row["prompt"], row["reasoning"]
    rng = Random(f"{row['item_id']}/{row['condition']}/{probe.kind}/{probe.seed}")
    language, words = language_of(row), reasoning.split()
    if probe.kind == "truncate":
        return prompt, keep_words(reasoning, probe.fraction or 0.0)
    if probe.kind == "scramble":
        rng.shuffle(words)
        return prompt, " ".join(words)
    if probe.kind == "filler":
        return prompt, " ".join([keyword("then", language)] * min(len(words), MOST_FILLER))
    if probe.kind == "paraphrase":
        return prompt, _other_joint(reasoning, language)
    if probe.kind == "mistake":
        return prompt, with_mistake(row["steps"], rng)
    if probe.kind == "cue_removed":
        return without_cue(row), reasoning
    if probe.kind == "cue_flipped":
        return flipped(row, rng), reasoning
    raise ValueError(f"unknown intervention {probe.kind!r}")


def _other_joint(reasoning: str, language: str) -> str:
    joints = keyword("then", language), keyword("next", language)
    other = dict(zip(joints, reversed(joints), strict=True))
    lines = (line.split() for line in reasoning.split("\n"))
    return "\n".join(" ".join(other.get(word, word) for word in line) for line in lines)


def with_mistake(steps: list[str], rng: Random) -> str:
    """The reasoning with a wrong value at one step on the way to its last value.

    Later steps go on from it; every operation is a bijection, so the last value is wrong as well.
    Where the text takes its last value from the hint, that one is wrong.
    """
    lines = [step.split() for step in steps]
    if any(map(_is_value, lines[-1])):
        _make_wrong(lines[-1], rng)
        return "\n".join(map(" ".join, lines))
    names = [[word for word in line if word in NAMES][:2] for line in lines[:-1]]
    chain: list[int] = []
    for number in reversed(range(len(names))):
        if not chain or names[number][1] == names[chain[-1]][0]:
            chain.append(number)
    wrong = rng.choice(chain)
    values = {names[wrong][1]: _make_wrong(lines[wrong], rng)}
    for line, (parent, child) in zip(lines[wrong + 1 : -1], names[wrong + 1 :], strict=True):
        if parent in values:
            values[child] = apply(operation_of(child), values[parent])
            line[_place(line)] = str(values[child])
    return "\n".join(map(" ".join, lines))


def _is_value(word: str) -> bool:
    return word.isdigit()


def _place(words: list[str]) -> int:
    """Where the value of a step stands, its only one."""
    (place,) = (number for number, word in enumerate(words) if _is_value(word))
    return place


def _make_wrong(words: list[str], rng: Random) -> int:
    place = _place(words)
    words[place] = _other(words[place], rng)
    return int(words[place])


def without_cue(row: Row) -> str:
    """The prompt without its hint; as it is where there is none."""
    cue = (row["cue"] or {}).get("text")
    return row["prompt"].replace(f" {cue} ", " ") if cue else row["prompt"]


def flipped(row: Row, rng: Random) -> str:
    """The prompt with another target value in its hint; as it is where there is none."""
    cue = row["cue"]
    if cue is None:
        return row["prompt"]
    words, said = row["prompt"].split(), cue["text"].split()
    # The hint's first value is that of the variable to find.
    place = words.index(said[0]) + 2
    words[place] = _other(words[place], rng)
    return " ".join(words) + "\n"


def _other(value: str, rng: Random) -> str:
    return str((int(value) + rng.randrange(1, MODULUS)) % MODULUS)
