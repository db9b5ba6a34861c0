"""Free texts and option texts, read from a statement or from a whole reply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from faithshift_data.answers.found import ExtractedAnswer, ambiguous, explicit, outside
from faithshift_data.answers.numbers import value_of
from faithshift_data.answers.places import denies, last_sentence
from faithshift_data.markup import clean

_ARTICLE = re.compile(r"(?:the|an?)\s+(?=\w)", re.I)
_EDGES = " \t\n\"'.,:;!"
_PAIRS = {"(": ")", "[": "]"}
_NEGATION = re.compile(
    r"\b(?:not|cannot|never|neither|nor|except|unlike|wrong|incorrect|rules?\s+out|ruled\s+out"
    r"|eliminate[sd]?|instead\s+of|rather\s+than)\b|n't\b",
    re.I,
)
_TURN = re.compile(r"\b(?:but|however|so|therefore|hence|thus|pero)\b", re.I)
_AFTER_OPENING = r"(?=\s*(?:[,.;:!?)(–—-]|$|(?:because|since|as|but|and|although|porque)\b))"
_APART = r"(?:(?=\s*(?:[,.;:!?)\"]|$|(?:or|and|nor|o)\b))|(?<=\bor no)|(?<=/no))"


def read_text(window: str, options: Sequence[str] | None, mark: str) -> ExtractedAnswer | None:
    """The text that a window states; None where it states none.

    Args:
        window: a piece of cleaned text.
        options: the texts allowed, or None; the answer is then one of them as given.
        mark: what marks the window, ``reply`` for a whole text.
    """
    if mark == "reply":
        return _of_reply(window, options)
    value = plain(window) or window.strip(" .")
    if not value:
        return None
    if options is None:
        return explicit(value, mark)
    found = _exactly(value, options) or _opening(value, options) or _mentioned(value, options)
    if len(found) == 1:
        return explicit(found[0], mark)
    if found:
        return ambiguous(sorted(found))
    # A sentence much longer than any option explains something; it names no other answer.
    longest = max((len(option.split()) for option in options), default=0)
    return outside(value) if len(value.split()) <= max(3, longest) + 2 else None


def _of_reply(text: str, options: Sequence[str] | None) -> ExtractedAnswer | None:
    if options is None:
        whole = "\n" not in text and last_sentence(text) == text and not text.endswith(":")
        value = "" if denies(text) else plain(text)
        return explicit(value, "whole reply") if whole and value else None
    lines = text.splitlines()
    alone = {option for line in lines for option in _exactly(plain(line), options)}
    around = [o for line in (lines[0], lines[-1]) for o in _opening(line, options)]
    around += _mentioned(last_sentence(text), options)
    for found, where in (
        (alone, "a line of its own"),
        (set(around), "opening or closing words"),
    ):
        if len(found) == 1:
            return explicit(found.pop(), where)
        if found:
            return ambiguous(sorted(found))
    return None


def _exactly(value: str, options: Sequence[str]) -> list[str]:
    return [option for option in options if same(value, option)]


def _opening(text: str, options: Sequence[str]) -> list[str]:
    found = [o for o in options if o.strip() and re.match(rf"(?i){_word(o)}{_AFTER_OPENING}", text)]
    return sorted(found, key=len, reverse=True)[:1]


def _mentioned(text: str, options: Sequence[str]) -> list[str]:
    """Options that occur as words and are not denied; the longest takes its place first."""
    places = []
    for option in sorted(options, key=lambda option: len(option), reverse=True):
        # "no" is an answer only where it stands apart: "there is no proof" is none.
        no = option.strip().casefold() == "no"
        pattern = rf"(?i)(?<!\w){_word(option)}(?!\w){_APART if no else ''}"
        for match in re.finditer(pattern, text) if option.strip() else ():
            places.append((match.start(), option))
            text = text[: match.start()] + "\0" * len(match[0]) + text[match.end() :]
    found, at = [], 0
    for start, option in sorted(places):
        if not negated(text[at:start]):
            found.append(option)
        at = start
    return list(dict.fromkeys(found))


def _word(option: str) -> str:
    return re.escape(option.strip())


def negated(text: str) -> bool:
    """Whether the words before an answer deny it; a "but" or "so" ends the denial."""
    return bool(_NEGATION.search(_TURN.split(text)[-1]))


# One window is held against every option in turn.
@lru_cache(maxsize=16)
def plain(text: str) -> str:
    """One line without a leading article, outer quotes, punctuation or one pair of brackets."""
    text = text.strip(_EDGES)
    inner = text[1:-1]
    if len(text) > 1 and _PAIRS.get(text[0]) == text[-1] and not re.search(r"[()\[\],]", inner):
        text = inner.strip(_EDGES)
    article = _ARTICLE.match(text)
    return " ".join(text[article.end() if article else 0 :].split())


def same(value: str, option: str) -> bool:
    """Whether a cleaned answer is the option: as numbers if both are, else as plain texts."""
    text, number = _option(option)
    if number is not None and (found := value_of(value)) is not None:
        return found == number
    return plain(value).casefold() == text


@lru_cache(maxsize=4096)
def _option(option: str) -> tuple[str, Fraction | None]:
    cleaned = clean(option)
    return plain(cleaned).casefold(), value_of(cleaned)
