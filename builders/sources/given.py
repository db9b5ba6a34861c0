"""Questions as others state them: what a source has to give, and the item that follows from it.

A question becomes an item where its right answer is a lettered option or a number. Options keep
their order and the id is a hash of the content, so that neither the order of a source's rows nor
its other rows change an item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from builders.deltas import jaccard_distance
from builders.pair_checks import QUESTION_MOVED
from builders.sources import LETTERS, Item, item_rng, near_numbers
from faithshift_data.answers import extract_answer
from faithshift_data.answers.numbers import value_of
from faithshift_data.markup import clean
from faithshift_data.measure.rewording import reword
from faithshift_data.schema import AnswerKind, stable_id

if TYPE_CHECKING:
    from builders.presets.uses import SourceUse


SHAPE = "a value of another kind"


class Unusable(ValueError):
    """A row that makes no item; the message is the reason under which it is counted."""


@dataclass(frozen=True)
class Given:
    """A question with its right answer.

    Attributes:
        task: the part of the source it is of.
        question: its text; white space is made single spaces, as a question is one line.
        gold: a letter where there are options, else a number.
        options: texts in the source's order.
        target: the wrong answer to plant; None to draw one.
        domain: None for the name of the source.
    """

    task: str
    question: str
    gold: str
    options: tuple[str, ...] | None = None
    target: str | None = None
    domain: str | None = None


class Source(Protocol):
    """Where questions come from.

    Attributes:
        name: as presets name it.
        revision: the commit it is pinned to; empty for what has none.
    """

    name: str
    revision: str

    def questions(self, use: SourceUse, wanted: int, seed: int) -> Iterator[Given | Unusable]:
        """Every row as a question, or why it is none; more than ``wanted`` where it can."""
        ...

    def stated(self, use: SourceUse) -> tuple[str, str, str]:
        """The source's name in rows, its licence, and where it comes from."""
        ...


def given_item(given: Given, source: str, name: str, licence: str) -> Item:
    """The item of a question.

    Args:
        given: the question.
        source: as in the rows; part of the id.
        name: the domain where the question names none.
        licence: of the question.

    Raises:
        Unusable: no question, options that cannot be told apart, no usable right answer, or what
            is no text.
    """
    texts = (given.question, given.gold, *(given.options or ()))
    if not all(isinstance(text, str) for text in texts):
        raise Unusable(SHAPE)
    question = _line(given.question)
    if not question:
        raise Unusable("no question")
    options = None if given.options is None else tuple(map(_line, given.options))
    gold = _gold(given.gold, options)
    item_id = stable_id("q", source, given.task, question, *sorted(options or ()))
    return Item(
        item_id=item_id,
        domain=given.domain or name,
        source=source,
        task=given.task,
        wordings=(question,),
        options=options,
        gold=gold,
        cue_target=given.target or _wrong(item_id, gold, options),
        licence=licence,
    )


def reworded(item: Item) -> Item:
    """The question with a second wording, by rule; as it is where the rules move too little."""
    question = item.wordings[0]
    other = _line(reword(question, item_rng(item.item_id, "wording")))
    moved = jaccard_distance(question, other) > QUESTION_MOVED
    return replace(item, wordings=(question, other)) if moved else item


def plain_number(text: str) -> str | None:
    """The number that a text is and nothing else, as the answer extractor writes it.

    A unit, an interval, or a number within an expression makes it no number.
    """
    if value_of(clean(text)) is None:
        return None
    return extract_answer(f"#### {clean(text)}", kind=AnswerKind.NUMBER).value


def _line(text: str) -> str:
    return " ".join(text.split())


def _gold(gold: str, options: tuple[str, ...] | None) -> str:
    if not gold.strip():
        raise Unusable("no right answer")
    if options is None:
        number = plain_number(gold)
        if number is None:
            raise Unusable("the right answer is no number")
        return number
    if not 2 <= len(options) <= len(LETTERS):
        raise Unusable(f"not 2 to {len(LETTERS)} options")
    if len({option.casefold() for option in options} - {""}) < len(options):
        raise Unusable("options that read the same")
    if gold not in LETTERS[: len(options)]:
        raise Unusable("the right answer is no option")
    return gold


def _wrong(item_id: str, gold: str, options: tuple[str, ...] | None) -> str:
    """A wrong option, or a number near the right one; drawn by the item alone."""
    if options is None:
        wrong = list(near(gold))
    else:
        wrong = [letter for letter in LETTERS[: len(options)] if letter != gold]
    return item_rng(item_id, "cue").choice(wrong)


def near(gold: str) -> tuple[str, ...]:
    """Wrong numbers near a right one, in its form: whole, a fraction, or with its decimals."""
    if "/" in gold:
        value = Fraction(gold)
        return tuple(
            str(Fraction(int(number), value.denominator))
            for number in near_numbers(value.numerator)
        )
    decimals = len(gold.partition(".")[2])
    whole = int(Fraction(gold) * 10**decimals)
    return tuple(_decimal(int(number), decimals) for number in near_numbers(whole))


def _decimal(number: int, decimals: int) -> str:
    digits = str(abs(number)).rjust(decimals + 1, "0")
    sign = "-" if number < 0 else ""
    cut = len(digits) - decimals
    return sign + digits[:cut] + (f".{digits[cut:]}" if decimals else "")


def after(text: str, mark: str) -> str:
    """What follows the last mark in a text; empty where it has none."""
    found = list(re.finditer(re.escape(mark), text))
    return text[found[-1].end() :].strip() if found else ""
