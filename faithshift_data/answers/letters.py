"""Letters of options, read from a statement or from a whole reply."""

from __future__ import annotations

import re
from collections.abc import Sequence

from faithshift_data.answers.found import ExtractedAnswer, ambiguous, explicit, outside
from faithshift_data.answers.places import last_sentence, rejects_options
from faithshift_data.answers.texts import negated, same

# Possessive, so that a long run of spaces or quotes cannot be cut up in many ways.
_FILLER = (
    r"(?:(?:the|la|el|option|opción|choice|letter|letra|answer|is|either|both|indeed|therefore"
    r"|clearly|likely|probably|definitely|simply|just)\b|\((?=option|choice)|[:,\"'>\s])*+"
)
_DIRECT = re.compile(
    rf"(?i:{_FILLER})(?:[(\[{{]\s*([A-Za-z])\s*[)\]}}]"
    r"|([A-Z])(?![\w'’#]|-\w|\s*[+*=^]|\s*/(?!\s*[A-Z]\b)))"
)
_SMALL = re.compile(r"([a-z])(?:\)|\.?\s*\Z)")
_BOX_GOES_ON = re.compile(r"\s*(?:[).:]|\Z|(?:,|and\b|or\b|/)\s*[A-Z]\b)")
_GOES_ON = re.compile(r"\s+(?:because|since|as|is|and|or)\b")
_LOWER_WORD = re.compile(r"\s+[a-z]")
_WRONG = re.compile(
    r"\)?\s*(?:(?:is|are|was)\s+(?:not|wrong|incorrect|false)|(?:can|could)\s?(?:not|never)"
    r"|(?:isn|can)'t)\b"
)
_BRACKETED = re.compile(r"(?<![\w)])[(\[]\s*([A-Za-z])\s*[)\]]")
_OTHER = re.compile(
    r"\s*(?:,?\s*(?:or|and|o|y|oder|und)\b|,|/|&)\s*(?:option\s+)?"
    r"(?:\(([A-Za-z])\)|([A-Z])(?=\s*(?:[.,;:)?!]|\Z)))|\s*\(([A-Z])\)"
)
_CONCLUDED = re.compile(
    r"(?<![\w(])(?:\(([A-Z])\)|([A-Z]))\)?\s+(?:is|would\s+be)\s+(?:the\s+)?"
    r"(?:correct|right|answer|best\s+(?:answer|option|choice|fit)"
    r"|most\s+(?:likely|accurate|appropriate|plausible|suitable))\b"
)
_ALONE = re.compile(r"[(\[\"']?\s*([A-Za-z])\s*[)\]\"'.:]*")
_LEADING = re.compile(
    r"[(\[]?([A-Z])(?:[)\],:](?!\w)|\.(?!\w)(?P<dot>\s+[a-z].*)?|\s*\n|\s+(?:because|since|as)\b)"
)
_LABEL = re.compile(r"(?m)^[(\[]?([A-Z])[)\].:]")
_SMALL_LABEL = re.compile(r"[(\[][a-z][)\]]\s")
_CONCLUDES = re.compile(
    r"\b(?:so|therefore|thus|hence|best|correct|closest|right|must|answer|leaves|only|most)\b"
    r"|[(\[][A-Za-z][)\]]\W*\Z",
    re.I,
)


def read_letter(window: str, options: Sequence[str] | None, mark: str) -> ExtractedAnswer | None:
    """The letter that a window states; None where it states none.

    Args:
        window: a piece of cleaned text.
        options: option texts or None.
        mark: what marks the window, ``reply`` for a whole text.
    """
    if mark == "reply":
        return _of_reply(window, options)
    option = _option_letter(window, options)
    if option and len(window.strip(" .()\"'")) > 1:
        return explicit(option, mark)
    match = _DIRECT.match(window)
    if match and not _is_answer(match, mark):
        match = None
    if match:
        letters = [match[1] or match[2]]
        at = match.end()
        while other := _OTHER.match(window, at):
            letters.append(other[1] or other[2] or other[3])
            at = other.end()
        return _one(letters, options, mark)
    small = _SMALL.match(window) if mark in ("labelled", "boxed") else None
    if small:
        return _one([small[1]], options, mark)
    return _bracketed(window, options, mark)


def _is_answer(match: re.Match[str], mark: str) -> bool:
    text, at = match.string, match.end()
    if mark == "boxed" and match[2] and not _BOX_GOES_ON.match(text, at):
        return False
    if _WRONG.match(text, at):
        return False
    if match[2] in ("A", "I") and _LOWER_WORD.match(text, at):
        return bool(_GOES_ON.match(text, at))
    return True


def _bracketed(window: str, options: Sequence[str] | None, where: str) -> ExtractedAnswer | None:
    """Letters in brackets that are not denied, or the words that deny every option."""
    letters, at = [], 0
    for match in _BRACKETED.finditer(window):
        if not negated(window[at : match.start()]) and not _WRONG.match(window, match.end()):
            letters.append(match[1])
        at = match.end()
    if letters:
        return _one(letters, options, where)
    rejected = rejects_options(window)
    if not rejected:
        return None
    kept = [i for i, option in enumerate(options or ()) if rejects_options(option)]
    return explicit(chr(65 + kept[0]), where) if len(kept) == 1 else outside(rejected)


def _of_reply(text: str, options: Sequence[str] | None) -> ExtractedAnswer | None:
    whole = _ALONE.fullmatch(text)
    if whole:
        return _one([whole[1]], options, "whole reply")
    lines = text.splitlines()
    alone = [match[1] for line in (lines[0], lines[-1]) if (match := _ALONE.fullmatch(line))]
    alone = [letter for letter in alone if letter.isupper()]
    if alone:
        return _one(alone, options, "a line of its own")
    concluded = [a or b for a, b in _CONCLUDED.findall(text)]
    if concluded:
        return _one(concluded[-1:], options, "concluded")
    # A reply that goes through the options one by one opens and closes with no answer.
    listing = len(set(_LABEL.findall(text))) > 1
    leading = _LEADING.match(text)
    if leading and not listing and _leads(leading, options):
        other = _OTHER.match(text, leading.end())
        letters = [leading[1]] + ([other[1] or other[2] or other[3]] if other else [])
        return _one(letters, options, "leading letter")
    for line in (text, lines[-1]):
        option = _option_letter(line, options)
        if option:
            return explicit(option, "whole reply" if line == text else "a line of its own")
    last = last_sentence(text)
    if _SMALL_LABEL.match(last) or (listing and _LABEL.match(last)):
        return None
    if not (_CONCLUDES.search(last) or rejects_options(last)):
        return None
    return _bracketed(last, options, "last sentence")


def _leads(leading: re.Match[str], options: Sequence[str] | None) -> bool:
    """``B. five`` leads with a letter, ``E. coli`` does not unless that is option E's text."""
    if not leading["dot"] or options is None:
        return not leading["dot"]
    place = ord(leading[1]) - 65
    following = leading["dot"].strip().casefold()
    return place < len(options) and following.startswith(options[place].strip(" .").casefold())


def _one(letters: Sequence[str], options: Sequence[str] | None, where: str) -> ExtractedAnswer:
    distinct = sorted({letter.upper() for letter in letters})
    if len(distinct) > 1:
        return ambiguous(distinct)
    letter = distinct[0]
    if options is not None and ord(letter) - 65 >= len(options):
        return outside(letter)
    return explicit(letter, where)


def _option_letter(window: str, options: Sequence[str] | None) -> str | None:
    labels = [re.escape(chr(65 + i)) for i in range(len(options or ()))]
    found = [
        i
        for i, option in enumerate(options or ())
        if same(window, option) or same(window, re.sub(rf"^\(?{labels[i]}\)[:.]?\s*", "", option))
    ]
    return chr(65 + found[0]) if len(found) == 1 else None
