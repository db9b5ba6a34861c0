"""Where a text states an answer, and whether it declines to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faithshift_data.markup import boxes
from faithshift_data.schema import AnswerKind

_NOUN = r"answer|ans|choice|option|result|antwort|respuesta|opción|resultado|réponse|cevap"
_VERB_ONLY = r"solution|conclusion|lösung|solución"  # with a colon some head the reasoning
_OF_WHAT = r"""(?:\s+(?:to|for)\s+(?:the|this|your|that)\s+\w+(?:\s+"[^"\n]{1,300}")?)?"""
_ADJECTIVE = r"(?:\s+(?:correct[ao]|final))?"
_VERB = r"(?:(?:would|should|must|will)\s+be|is|was|are|lautet|ist|es|sería|est)"
_SAY = (
    r"\b(?:I|(?P<we>we))(?:'d|'ll|\s+would|\s+will|\s+must)?\s+(?!(?:can)?not\b)(?:\w+\s+)?"
    r"(?:say|answer|conclude|(?(we)(?!)|(?:choose|pick|select|guess|go\s+with)))\b"
    r"(?:\s+(?:(?:the|this|your)\s+question|that)\b)?\s*:?"
)
_PHRASE = (
    rf"(?P<other>\b(?:each|every|any|wrong|incorrect|which|whose)\s+(?:answer\s+)?(?:{_NOUN})\b)|"
    rf"\b(?:{_NOUN}|{_VERB_ONLY})\b{_OF_WHAT}{_ADJECTIVE}\s*"
    rf"{_VERB}\b(?!\s*(?:not|n't|neither)\b)\s*:?"
    rf"|\b(?:{_NOUN}|conclusion|rating|score|grade)\b{_OF_WHAT}{_ADJECTIVE}\s*:|\banswer\s*="
    rf"|答案\s*[:是为]|{_SAY}"
    r"|(?m:^[ \t]*(?:(?:final[ \t]+|correct[ \t]+)?answer|respuesta(?:[ \t]+final)?)[ \t]*$)"
    r"|####[ \t]*(?=[-+$€£]?[ \t]?[0-9]|(?m:\(?[A-Z]\)?[ \t]*$))"
)
_STATES = {
    AnswerKind.LETTER: re.compile(
        _PHRASE + r"|\b(?:choose|pick|select|go\s+with|elijo|escojo)\b"
        r"|(?m:^[ \t]*A:(?=[ \t]*\(?[A-Za-z]\)?[.]?[ \t]*$))"
        r"|(?m:^\W{0,9}(?:(?:so|hence|thus|therefore|the|correct|final),?[ \t]+){0,4}"
        r"(?:answer|ans|option)[ \t.]+(?=\(?[A-Z]\)?\W{0,9}$))"
        r"|\banswer(?:\s+-(?=\s)|\s+(?=\(?[A-Z]\)?[.)\s]{0,9}\Z))",
        re.I,
    ),
    AnswerKind.NUMBER: re.compile(_PHRASE + r"|(?m:^[ \t]*A:)", re.I),
    AnswerKind.TEXT: re.compile(_PHRASE + r"|(?m:^[ \t]*A:|^[ \t]*####[ \t]*$)", re.I),
}
_DENIES = re.compile(
    rf"\b(?:{_NOUN}|{_VERB_ONLY})\b{_OF_WHAT}{_ADJECTIVE}\s*"
    rf"(?:{_VERB}\s+(?:not|neither)|(?:is|was)n't|can(?:not|'t)\s+be|no\s+es)\b",
    re.I,
)
_LEAD = re.compile(r"(?:[ \t\n:]|\.{2,}|…)*+")
_LIST_ENTRY = re.compile(r"[0-9]{1,2}[.)]\s+\S")
_BULLET = re.compile(r"[-*•]\s+")
# Not after the dots of "U.S. dollars", "Dr. Who", "E. coli".
_ENDS = re.compile(
    r"\n|(?<=[\w)%\]}\"'°])(?<!\.[A-Za-z])(?<!\b[DM]r)(?<!\bSt)(?!(?<=\b[A-Z])\.\s+[a-z])"
    r"[.!?;]\s+(?=\S)"
)
_LONGEST = 500

_DECLINES = re.compile(
    r"\b(?:can\s?not|can't|could\s?n[o']t|unable\s+to|impossible\s+to|not\s+possible\s+to)\s+"
    r"(?:\w+\s+){0,3}?(?:answer|determine|say|tell|be\s+(?:\w+\s+)?(?:determined|answered|known)"
    r"|select|choose|provide|give|decide|conclude|know)"
    r"|\A\W*(?:\w+\s+){0,2}(?:unknown|undetermined|indeterminate|unclear|uncertain)\b"
    r"|\bnot\s+(?:have\s+)?enough\s+(?:information|context|data)|\binsufficient\s+(?:info|data|context)"
    r"|\b(?:don't|do\s+not|doesn't|does\s+not)\s+(?:know|have\s+(?:enough|that|this|access|any\s+info))"
    r"|\bno\s+(?:se\s+puede|sé)\b",
    re.I,
)
_NO_OPTION = re.compile(
    r"\bnone\s+of\s+(?:these|them|those|the(?:\s+\w+){1,2})|\bninguna\s+de\s+las\b"
    r"|\bnot\s+(?:listed|given|available|provided|among|one\s+of|any\s+of"
    r"|in\s+the\s+(?:\w+\s+)?(?:choices|options|list))\b",
    re.I,
)


def stated(text: str, kind: str) -> Iterator[tuple[str, str]]:
    """Windows after the places that state an answer, and what marks each; last place first.

    A mark is ``boxed``, ``labelled`` (a colon stands before the window) or ``stated``.
    """
    phrases = (m for m in _STATES[AnswerKind(kind)].finditer(text) if m["other"] is None)
    places: list[tuple[int, int, str | None]] = [(m.start(), m.end(), None) for m in phrases]
    places += [(at, at, content) for at, content in boxes(text)]
    limit = len(text)
    for start, end, content in sorted(places, key=lambda place: place[:2], reverse=True):
        if content is not None:
            yield content, "boxed"
        else:
            window, labelled = _window(text, end, limit)
            yield window, "labelled" if labelled else "stated"
        limit = start


def _window(text: str, at: int, limit: int) -> tuple[str, bool]:
    """The rest of the sentence; a heading with nothing beside it looks at the next line."""
    lead = _LEAD.match(text, at)
    assert lead  # it matches nothing, too
    start = lead.end()
    if "\n" in lead[0]:
        # The first entry of a list under a heading is not the answer; a bullet is no minus.
        if _LIST_ENTRY.match(text, start):
            return "", False
        bullet = _BULLET.match(text, start)
        start = bullet.end() if bullet else start
    limit = min(limit, start + _LONGEST)
    end = _ENDS.search(text, start, limit)
    window = text[start : end.start() if end else limit].strip()
    return window, text[at - 1 : start].rstrip().endswith((":", "="))


def lists(line: str) -> bool:
    """Whether a line is an entry of a list."""
    return bool(_LIST_ENTRY.match(line) or _BULLET.match(line))


def last_sentence(text: str) -> str:
    """The last sentence of the last line."""
    line = text.rstrip().rsplit("\n", 1)[-1]
    ends = [match.end() for match in _ENDS.finditer(line)]
    return line[ends[-1] if ends else 0 :].strip()


def declines(text: str) -> bool:
    """Whether a sentence says that no answer can be given."""
    return bool(_DECLINES.search(text))


def denies(text: str) -> bool:
    """Whether a text says what the answer is not."""
    return bool(_DENIES.search(text))


def rejects_options(text: str) -> str | None:
    """The words that say that no option is right."""
    match = _NO_OPTION.search(text)
    return match[0] if match else None
