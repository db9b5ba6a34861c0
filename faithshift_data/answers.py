"""The one answer extractor: letters, numbers and texts, and why there is none.

A text is read from its end: the last place that *states* an answer ("the answer is",
"Answer:", a LaTeX box, "####") wins, whatever was considered before it. Only when no such
place exists may the reply as a whole, or the way it closes, count as its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from faithshift_data.errors import InputError
from faithshift_data.markup import boxes, clean
from faithshift_data.schema import AnswerKind, AnswerStatus


@dataclass(frozen=True)
class ExtractedAnswer:
    """An answer, or why there is none.

    ``value`` is a capital letter, a number as written (without thousands separators, currency,
    percent and unit), or a text. It is None unless ``status`` is ``explicit``.
    """

    value: str | None
    status: AnswerStatus
    reason: str


def extract_answer(
    text: str | None, *, kind: str, options: Sequence[str] | None = None
) -> ExtractedAnswer:
    """The answer that ``text`` states.

    Args:
        text: a model's answer text (not its reasoning); None gives ``none``.
        kind: ``letter``, ``number`` or ``text``.
        options: the option texts; option i has the letter ``chr(65 + i)``. An answer outside
            them is ``out_of_set``. Without options every letter A-Z is allowed.

    Returns:
        ExtractedAnswer: never raises on any text; candidates of equal standing are ``ambiguous``.

    Raises:
        InputError: an unknown kind.
    """
    if kind not in tuple(AnswerKind):
        raise InputError("unknown", field="kind", expected=list(AnswerKind), got=kind)
    if text is None or not text.strip():
        return ExtractedAnswer(None, AnswerStatus.NONE, "empty text")
    cleaned = clean(text)
    read = {"letter": _letter, "number": _number, "text": _text}[kind]
    for window, where in _stated(cleaned):
        found = read(window, options, where)
        if found is not None:
            return found
    found = read(cleaned, options, "reply")
    return found or ExtractedAnswer(None, AnswerStatus.NONE, "no answer stated")


def _explicit(value: str, where: str) -> ExtractedAnswer:
    return ExtractedAnswer(value, AnswerStatus.EXPLICIT, where)


def _ambiguous(values: Sequence[str]) -> ExtractedAnswer:
    return ExtractedAnswer(None, AnswerStatus.AMBIGUOUS, f"states {' and '.join(values)}")


def _outside(value: str) -> ExtractedAnswer:
    return ExtractedAnswer(None, AnswerStatus.OUT_OF_SET, f"{value!r} is not an option")


# --- where an answer is stated --------------------------------------------------------------

_NOUN = r"answer|solution|choice|option|result|antwort|respuesta|réponse|cevap"
_VERB = r"(?:would\s+be|should\s+be|must\s+be|is|was|are|lautet|ist|es|est)"
_PHRASE = re.compile(
    rf"\b(?:{_NOUN})\b(?:\s+(?:to|for)\s+(?:the|this)\s+\w+)?\s*"
    rf"(?:{_VERB}\b(?!\s*(?:not|n't|neither)\b)\s*:?|:|=)"
    r"|\b(?:choose|pick|select|go\s+with)\b|(?m:^\s*A:)|####",
    re.I,
)


def _stated(text: str) -> Iterator[tuple[str, str]]:
    """Windows after the places that state an answer, last place first."""
    places = [(m.start(), _window(text[m.end() :]), "stated") for m in _PHRASE.finditer(text)]
    places += [(at, content, "boxed") for at, content in boxes(text)]
    for _, window, where in sorted(places, key=lambda place: place[0], reverse=True):
        yield window, where


def _window(rest: str) -> str:
    """The rest of the sentence; a heading with nothing beside it looks at the next line."""
    rest = rest.lstrip(" \n\t:")
    boxed = boxes(rest)
    if boxed and not rest[: boxed[0][0]].strip():
        return boxed[0][1]
    return re.split(r"\n|(?<=[\w)%\]}\"])[.!?;]\s+(?=\S)", rest, maxsplit=1)[0].strip()


# --- letters --------------------------------------------------------------------------------

_FILLER = (
    r"(?:(?:the|option|choice|letter|answer|is|indeed|therefore|clearly|likely|[:\"'>\s])*\s*)"
)
_DIRECT = re.compile(
    rf"(?i:{_FILLER})(?:[(\[{{]\s*([A-Za-z])\s*[)\]}}]|([A-Z])(?![\w'’+*/=^]|-\w|\s*[+*/=^]))"
)
_GOES_ON = r"\s+(?:because|since|as|is|and|or)\b"
_BRACKETED = re.compile(r"(?<![\w)])[(\[]\s*([A-Za-z])\s*[)\]]")
_OTHER = re.compile(
    r"\s*(?:,?\s*(?:or|and)|,|/|&)\s*(?:option\s+)?(?:\(([A-Z])\)|([A-Z])(?=\s*(?:[.,;:)?!]|$)))|\s*\(([A-Z])\)"
)
_CONCLUDED = re.compile(
    r"(?<![\w(])(?:\(([A-Z])\)|([A-Z]))\)?\s+(?:is|would be)\s+(?:the\s+)?"
    r"(?:correct|right|answer|best|most)\b"
)


def _letter(window: str, options: Sequence[str] | None, where: str) -> ExtractedAnswer | None:
    if where == "reply":
        return _letter_of_reply(window, options)
    match = _DIRECT.match(window)
    if match and where == "boxed" and not re.match(r"\s*(?:[).:]|$)", window[match.end() :]):
        match = None
    if match and match[2] in ("A", "I") and re.match(r"\s+[a-z]", window[match.end() :]):
        match = match if re.match(_GOES_ON, window[match.end() :]) else None
    if match:
        letters = [match[1] or match[2]]
        at = match.end()
        while other := _OTHER.match(window, at):
            letters.append(other[1] or other[2] or other[3])
            at = other.end()
        return _one_letter(letters, options, where)
    option = _option_letter(window, options)
    if option:
        return _explicit(option, where)
    inside = _BRACKETED.findall(window)
    return _one_letter(inside, options, where) if inside else None


def _letter_of_reply(text: str, options: Sequence[str] | None) -> ExtractedAnswer | None:
    whole = re.fullmatch(r"[(\[\"']?\s*([A-Za-z])\s*[)\]\"'.:]*", text)
    if whole:
        return _one_letter([whole[1]], options, "whole reply")
    concluded = [a or b for a, b in _CONCLUDED.findall(text)]
    if concluded:
        return _one_letter(concluded[-1:], options, "concluded")
    leading = re.match(r"[(\[]?([A-Z])(?:[)\].:,]|\s*\n|\s+(?:because|since|as)\b)(?!\w)", text)
    if leading:
        other = _OTHER.match(text, leading.end())
        letters = [leading[1]] + ([other[1] or other[2] or other[3]] if other else [])
        return _one_letter(letters, options, "leading letter")
    last = re.split(r"\n|(?<=[.!?])\s+", text)[-1]
    inside = _BRACKETED.findall(last)
    if inside:
        return _one_letter(inside, options, "last sentence")
    option = _option_letter(text, options)
    return _explicit(option, "whole reply") if option else None


def _one_letter(
    letters: Sequence[str], options: Sequence[str] | None, where: str
) -> ExtractedAnswer:
    distinct = sorted({letter.upper() for letter in letters})
    if len(distinct) > 1:
        return _ambiguous(distinct)
    letter = distinct[0]
    if options is not None and ord(letter) - 65 >= len(options):
        return _outside(letter)
    return _explicit(letter, where)


def _option_letter(window: str, options: Sequence[str] | None) -> str | None:
    found = [i for i, option in enumerate(options or ()) if _same(window, option)]
    return chr(65 + found[0]) if len(found) == 1 else None


# --- numbers --------------------------------------------------------------------------------

_NUMBER = re.compile(
    r"(?<![\w.])(?:(?<![\d)])([-+]\s?)?[$€£¥]?\s?([-+](?=\d|\.\d))?)"
    r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.\d+|\d+)(/\d+)?(?![\d])"
)
_EXPRESSION = re.compile(r"\s*(?:[+*^×÷·]|\\times|\\cdot|/\s*\d|-\s*\d|:\d|[eE]\d|\.\d|x\s*\d)")
_BEFORE_NUMBER = re.compile(
    r"(?i:(?:the|is|equals?|about|approximately|approx\.|around|exactly|[:=~≈\"'(\s]|[a-z]\s*=)*)"
)


def _number(window: str, options: Sequence[str] | None, where: str) -> ExtractedAnswer | None:
    numbers = [(m, _written(m)) for m in _NUMBER.finditer(window)]
    if not numbers:
        return None
    result = None
    if "=" in window:
        side = window.rsplit("=", 1)[1]
        closing = _NUMBER.match(side.lstrip())
        result = _written(closing) if closing and not _operator_follows(closing) else None
    distinct = sorted({value for _, value in numbers}, key=lambda value: (len(value), value))
    if where == "reply":
        return _number_of_reply(window, options)
    first, value = numbers[0]
    if result is None and not window[: first.start()].strip("$€£ -+") or _is_direct(window, first):
        if _operator_follows(first) and result is None:
            return ExtractedAnswer(None, AnswerStatus.AMBIGUOUS, "an expression, not a number")
        other = re.match(r"\s*(?:or|and)\s+", window[first.end() :])
        if other and len(numbers) > 1 and numbers[1][0].start() <= first.end() + other.end() + 1:
            return _ambiguous([value, numbers[1][1]])
        if not _operator_follows(first):
            return _one_number(value, options, where)
    if result is not None:
        return _one_number(result, options, where)
    if len(distinct) == 1 and not _operator_follows(first):
        return _one_number(distinct[0], options, where)
    return _ambiguous(distinct)


def _number_of_reply(text: str, options: Sequence[str] | None) -> ExtractedAnswer | None:
    last = [line for line in text.splitlines() if line.strip()][-1]
    closing = re.search(r"=\s*([^=]*)\Z", last)
    if closing:
        match = _NUMBER.match(closing[1])
        if match and len(_NUMBER.findall(closing[1])) == 1:
            return _one_number(_written(match), options, "closing result")
    numbers = list(_NUMBER.finditer(last))
    distinct = {_written(match) for match in numbers}
    if len(distinct) == 1 and not _operator_follows(numbers[0]):
        return _one_number(_written(numbers[0]), options, "only number")
    return None


def _is_direct(window: str, match: re.Match[str]) -> bool:
    return bool(_BEFORE_NUMBER.fullmatch(window[: match.start()]))


def _operator_follows(match: re.Match[str]) -> bool:
    return bool(_EXPRESSION.match(match.string, match.end()))


def _written(match: re.Match[str]) -> str:
    sign = "-" if "-" in (match[1] or "") + (match[2] or "") else ""
    digits = match[3].replace(",", "")
    return sign + ("0" if digits.startswith(".") else "") + digits + (match[4] or "")


def _one_number(value: str, options: Sequence[str] | None, where: str) -> ExtractedAnswer:
    if options is not None and not any(_same(value, option) for option in options):
        return _outside(value)
    return _explicit(value, where)


# --- texts ----------------------------------------------------------------------------------


def _text(window: str, options: Sequence[str] | None, where: str) -> ExtractedAnswer | None:
    if where == "reply":
        if options is None:
            lines = window.splitlines()
            value = _plain(window)
            return _explicit(value, "whole reply") if len(lines) == 1 and value else None
        window = window.rsplit("\n", 1)[-1]
    value = _plain(window)
    if not value:
        return None
    if options is None:
        return _explicit(value, where)
    same = [option for option in options if _same(value, option)]
    if len(same) == 1:
        return _explicit(same[0], where)
    inside = [o for o in options if re.search(rf"(?i)(?<!\w){re.escape(o.strip())}(?!\w)", value)]
    inside = [o for o in inside if not any(o != p and o.lower() in p.lower() for p in inside)]
    if len(inside) == 1:
        return _explicit(inside[0], where)
    if inside:
        return _ambiguous(sorted(inside))
    return None if where == "reply" else _outside(value)


def _plain(text: str) -> str:
    text = re.sub(r"^(?:the|a|an)\s+(?=\w)", "", text.strip(" \t\n\"'.,:;!()[]"), flags=re.I)
    return " ".join(text.split())


def _same(left: str, right: str) -> bool:
    """Whether two answers are equal: as numbers if both are, else as plain texts."""
    a, b = _value(left), _value(right)
    if a is not None and b is not None:
        return a == b
    return _plain(left).casefold() == _plain(clean(right)).casefold()


def _value(text: str) -> Fraction | None:
    match = _NUMBER.match(text.strip())
    if not match or text.strip()[match.end() :].strip(" %.") or (match[4] or "1").strip("/0") == "":
        return None
    return Fraction(_written(match))
