"""Reasoning in other words, and reasoning with one step made wrong.

Rewording reads the closed table of ``phrases`` in one pass and may turn "If a, b." into "B if
a.". What carries the reasoning stays: numbers, bracketed letters, negations, steps, capitals,
and whatever stands in quotes or brackets. It is meant for English; other text hardly moves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from faithshift_data.measure.phrases import RULES
from faithshift_data.reasoning import split_steps

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LETTER = re.compile(r"[(\[]\s*[A-Za-z]\s*[)\]]")
_NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|none|nothing|nobody|cannot|without)\b|n['’]t\b", re.I
)
_LEAD = re.compile(r"\s*(?:(?:step\s+)?\d{1,3}[.):]\s+|step\s+\d+\s*[-:]\s*|[-*•]\s+)?", re.I)
_CLAUSES = re.compile(
    r"(If|Because|Since|When) ([^,.:;!?()\"\n]+), (?:then )?"
    r"((?:we|the|it|there|they|this|you|he|she|an?) [^,.:;!?\"\n]+)([.!]\s*)\Z"
)


def reword(text: str, rng: Random) -> str:
    """Say the same in other words; the same text where no rule fits.

    A step in which a number, a bracketed letter, a negation or the first capital would not stay
    keeps its words, and so does a text whose steps would no longer be the same ones.

    Args:
        text: English reasoning.
        rng: draws among the wordings that fit.
    """
    steps = split_steps(text)
    new = [_reworded(step, rng) for step in steps]
    new = [b if kept(a) == kept(b) else a for a, b in zip(steps, new, strict=True)]
    made = "".join(new)
    return made if split_steps(made) == new else text


def kept(step: str) -> tuple[Counter[str], Counter[str], int, bool]:
    """What rewording a step never changes.

    Returns:
        Its numbers, its bracketed letters, the count of its negations, and whether its first
        letter is a capital.
    """
    first = re.search(r"[^\W\d_]", step)
    return (
        Counter(_NUMBER.findall(step)),
        Counter(_LETTER.findall(step)),
        len(_NEGATION.findall(step)),
        first is not None and first[0].isupper(),
    )


def _reworded(step: str, rng: Random) -> str:
    lead = _LEAD.match(step)
    start = lead.end() if lead else 0
    body = step[start:]
    clauses = _CLAUSES.match(body)
    if clauses and rng.random() < 0.5:
        word, condition, result, end = clauses.groups()
        body = f"{result[0].upper()}{result[1:]} {word.lower()} {condition}{end}"
    pattern, targets = _table()

    def other(match: re.Match[str]) -> str:
        if match.lastindex is None or match[0][1:] != match[0][1:].lower():
            return match[0]
        new = rng.choice(targets[match.lastindex - 1])
        return new[0].upper() + new[1:] if match[0][0].isupper() else new

    return step[:start] + pattern.sub(other, body)


@dataclass(frozen=True)
class _Rule:
    source: str
    followers: str
    targets: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """One group that matches the phrase as whole words."""
        start, phrase = ("\\A", self.source[1:]) if self.source[0] == "^" else ("", self.source)
        words = re.escape(phrase).replace("'", "['’]")
        left = "(?<![\\w'’-])" if phrase[0].isalpha() else ""
        right = f"(?= (?:{self.followers})(?![^\\W\\d]))" if self.followers else "(?![\\w'’-])"
        return f"{start}{left}({words}){right}"


@cache
def _table() -> tuple[re.Pattern[str], tuple[tuple[str, ...], ...]]:
    """The phrases as one pattern, longest first, and what each may become."""
    rules = sorted(rules_of(RULES), key=lambda rule: -len(rule.source))
    spared = r"\"[^\"\n]*\"|“[^”\n]*”|`[^`\n]*`|\([^()\n]*\)|\[[^\[\]\n]*\]"
    pattern = "|".join([spared, *(rule.pattern for rule in rules)])
    return re.compile(pattern, re.I), tuple(rule.targets for rule in rules)


def rules_of(table: str) -> list[_Rule]:
    """The rules of a table in the notation of ``phrases``."""
    rules = []
    for line in filter(None, table.splitlines()):
        if ">" in line:
            left, right = line.split(" > ")
            source, _, followers = left.partition(" @")
            sides = [(source, followers, right.split(" | "))]
        else:
            same = line.split(" = ")
            sides = [(one, "", [other for other in same if other != one]) for one in same]
        for source, followers, targets in sides:
            rules.append(_Rule(source, followers, tuple(t.removeprefix("^") for t in targets)))
    return rules


# --- mistakes -------------------------------------------------------------------------------

_WRONG_NUMBER = re.compile(r"(?<![\w.,])(?<!step )\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|[.,]\d)", re.I)
_WRONG_LETTER = re.compile(r"(?<=[(\[])[A-H](?=[)\]])|(?<=ption )[A-H]\b")
_NEGATED = re.compile(
    r"\b(?:(can)(?:not|['’]t)|(is|are|was|were|does|do|did|can|could|will|would|should|has|have|had)"
    r"(?: not|n['’]t))\b"
)
_PLAIN = re.compile(r"\b(?:is|are|was|were|can|could|will|would|should|must|may|might)\b(?! not)")


def mistake(steps: Sequence[str], rng: Random) -> str | None:
    """Make one step wrong and keep all others, those after it too.

    A number of the step becomes a near one; in a step without numbers an option letter becomes
    another one; in a step without either a negation goes or comes. The number of a list entry is
    no candidate. Whether the step was right before is not known; a false equation can come out
    true, which 2 of 1,941 traces of a small model did.

    Args:
        steps: exact cover of the reasoning.
        rng: draws the step, the place in it and the change.

    Returns:
        The whole reasoning; None where no step has a candidate.
    """
    letters = sorted(set(_WRONG_LETTER.findall("".join(steps))) | {"A", "B"})
    order = list(range(len(steps)))
    rng.shuffle(order)
    for at in order:
        wrong = _wrong(steps[at], letters, rng)
        if wrong is not None:
            return "".join([*steps[:at], wrong, *steps[at + 1 :]])
    return None


def _wrong(step: str, letters: Sequence[str], rng: Random) -> str | None:
    lead = _LEAD.match(step)
    start = lead.end() if lead else 0
    for pattern, change in (
        (_WRONG_NUMBER, lambda match: _near(match[0], rng)),
        (_WRONG_LETTER, lambda match: rng.choice([x for x in letters if x != match[0]])),
        (_NEGATED, lambda match: match[1] or match[2]),
        (_PLAIN, lambda match: match[0] + " not"),
    ):
        places = list(pattern.finditer(step, start))
        if places:
            match = rng.choice(places)
            return step[: match.start()] + change(match) + step[match.end() :]
    return None


def _near(number: str, rng: Random) -> str:
    """Another number of the same form: the last digits moved by 1, 2 or, from 20 on, 10."""
    digits = re.sub(r"\D", "", number)
    moves = (-2, -1, 1, 2, -10, 10) if int(digits) >= 20 else (-2, -1, 1, 2)
    moved = rng.choice([int(digits) + move for move in moves if int(digits) + move >= 0])
    whole, point, decimals = number.partition(".")
    made = str(moved).zfill(len(digits) if point or digits[0] == "0" else 0)
    if point:
        made, decimals = made[: -len(decimals)], made[-len(decimals) :]
    return (f"{int(made):,}" if "," in whole else made) + point + decimals
