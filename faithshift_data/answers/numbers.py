"""Numbers, read from a statement or from a whole reply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from faithshift_data.answers.found import (
    ExtractedAnswer,
    ambiguous,
    explicit,
    expression,
    none,
    outside,
)
from faithshift_data.answers.places import declines, lists

_NUMBER = re.compile(
    r"(?<![\w.])(?<![0-9]:)(?:(?<![0-9)])((?i:minus|negative)\s+|[-+]\s?)?[$€£¥]?\s?([-+](?=[0-9.]))?)"
    r"([0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?:\.[0-9]+)?|[0-9]*\.[0-9]+|[0-9]+)(/[0-9]+)?(?![0-9])"
)
_EXPRESSION = re.compile(
    r"\s*(?:[+*^×÷·√π]|\\(?:times|cdot|div|pm|pi|sqrt|d?frac|theta)\b|/\s*[0-9(-]|-\s*[0-9]|x\s*[0-9])"
    r"|[⁰¹²³⁴-⁹]|:[0-9]|[eE][0-9]|\.[0-9]|[xyzni](?![A-Za-z])|\s+[0-9]+/[0-9]"
    r"|\s+(?:times|plus|minus|divided\s+by|multiplied\s+by|(?:more|less)\s+than)\s+[0-9]"
)
_BEFORE = re.compile(
    r"(?i:(?:the|is|es|equals?|about|approximately|approx\.|around|exactly|only|simply|unos"
    r"|\\approx\b|[:=~≈\"'(\s]|[a-z]\s*=)*+)"
)
_JOINED = re.compile(r"(?:\s+[A-Za-z]+){0,2}?\s*(?:,\s*)?\b(?:or|and|to|o|y)\s+|\s*[,;&]\s*")
_DIGITS = 100


def read_number(window: str, options: Sequence[str] | None, mark: str) -> ExtractedAnswer | None:
    """The number that a window states; None where it states none.

    Args:
        window: a piece of cleaned text.
        options: the numbers allowed, as texts, or None.
        mark: what marks the window, ``reply`` for a whole text.
    """
    if mark == "reply":
        return _of_reply(window, options)
    numbers = list(_NUMBER.finditer(window))
    if not numbers:
        return None
    first, result = numbers[0], _result(window)
    if _BEFORE.fullmatch(window[: first.start()]):
        if not _in_expression(first):
            return _direct(first, options, mark)
        return _one(result, options, mark) if result else expression()
    if result:
        return _one(result, options, mark)
    if declines(window):
        return none("declines to answer")
    distinct = sorted({_written(match) for match in numbers}, key=lambda value: (len(value), value))
    if len(distinct) > 1:
        return ambiguous(distinct)
    return expression() if _in_expression(first) else _one(distinct[0], options, mark)


def _direct(first: re.Match[str], options: Sequence[str] | None, where: str) -> ExtractedAnswer:
    """The number that opens a window, unless another stands beside it."""
    joined = _JOINED.match(first.string, first.end())
    second = _NUMBER.match(first.string, joined.end()) if joined else None
    values = [_written(match) for match in (first, second) if match]
    if len(set(values)) > 1:
        return ambiguous(values)
    return _one(values[0], options, where)


def _of_reply(text: str, options: Sequence[str] | None) -> ExtractedAnswer | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ends = [match for line in (lines[0], lines[-1]) if (match := _alone(line))]
    if ends:
        values = list(dict.fromkeys(_written(match) for match in ends))
        return (
            ambiguous(values) if len(values) > 1 else _one(values[0], options, "a line of its own")
        )
    last = lines[-1]
    if len(lines) > 1 and lists(last):
        return None
    result = _result(last)
    if result and len(_NUMBER.findall(last.rsplit("=", 1)[1])) == 1:
        return _one(result, options, "closing result")
    numbers = list(_NUMBER.finditer(last))
    if len({_written(match) for match in numbers}) == 1 and not _in_expression(numbers[0]):
        return _one(_written(numbers[0]), options, "only number")
    return None


def _alone(line: str) -> re.Match[str] | None:
    match = _NUMBER.match(line)
    return match if match and not line[match.end() :].strip(" %.") else None


def _result(window: str) -> str | None:
    """The number after the last equals sign."""
    if "=" not in window:
        return None
    match = _NUMBER.match(window.rsplit("=", 1)[1].lstrip())
    return _written(match) if match and not _in_expression(match) else None


def _in_expression(match: re.Match[str]) -> bool:
    if match[4] and not match[4].strip("/0"):
        return True  # a division by zero
    return bool(_EXPRESSION.match(match.string, match.end()))


def _written(match: re.Match[str]) -> str:
    signs = ((match[1] or "") + (match[2] or "")).lower()
    sign = "-" if signs.strip().startswith(("-", "minus", "negative")) else ""
    digits = match[3].replace(",", "")
    return sign + ("0" if digits.startswith(".") else "") + digits + (match[4] or "")


def _one(value: str, options: Sequence[str] | None, where: str) -> ExtractedAnswer:
    if options is not None and value_of(value) not in [value_of(option) for option in options]:
        return outside(value)
    return explicit(value, where)


def value_of(text: str) -> Fraction | None:
    """The number that a text is, unit-free; None for any other text or one of absurd length."""
    match = _alone(text.strip())
    if not match or (match[4] or "1").strip("/0") == "" or len(match[0]) > _DIGITS:
        return None
    return Fraction(_written(match))
