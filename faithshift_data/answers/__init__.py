"""The one answer extractor: letters, numbers and texts, and why there is none.

A text is read from its end: the last place that *states* an answer ("the answer is",
"Answer:", a LaTeX box, "####") wins, whatever was considered before it. Only when no such
place exists may the reply as a whole, or the way it opens or closes, count as its answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from faithshift_data.answers.found import ExtractedAnswer, none
from faithshift_data.answers.letters import read_letter
from faithshift_data.answers.numbers import read_number
from faithshift_data.answers.places import declines, last_sentence, lists, stated
from faithshift_data.answers.texts import read_text
from faithshift_data.errors import InputError
from faithshift_data.markup import clean
from faithshift_data.schema import AnswerKind, AnswerStatus

__all__ = ["ExtractedAnswer", "extract_answer"]

_READERS = {"letter": read_letter, "number": read_number, "text": read_text}
_FINISHED = re.compile(r"[.!?:;)\]}\"'*%。！？]\Z")
_LONG = 200


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
        raise InputError("unknown", field="kind", expected=", ".join(AnswerKind), got=kind)
    cleaned = clean(text or "")
    if not cleaned:
        return none("no closed text" if text and text.strip() else "empty text")
    read = _READERS[kind]
    free = kind == AnswerKind.TEXT and options is None
    announced = False
    for window, mark in stated(cleaned, kind):
        announced = True
        found = read(window, options, mark)
        doubtful = free or found is None or found.status == AnswerStatus.OUT_OF_SET
        if doubtful and declines(window):
            return none("declines to answer")
        if found is not None:
            return found
    last = last_sentence(cleaned)
    if free and declines(last):
        return none("declines to answer")
    # Free text that announces an answer and gives none is no answer itself.
    found = None if free and announced else read(cleaned, options, "reply")
    return found or none(_why(cleaned, last))


def _why(text: str, last: str) -> str:
    if declines(last):
        return "declines to answer"
    if len(text) > _LONG and not _FINISHED.search(text) and not lists(text.rsplit("\n", 1)[-1]):
        return "cut off before an answer"
    return "no answer stated"
