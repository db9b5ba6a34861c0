"""What an extractor returns: an answer, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from faithshift_data.schema import AnswerStatus


@dataclass(frozen=True)
class ExtractedAnswer:
    """An answer, or why there is none.

    ``value`` is a capital letter, a number as written (without thousands separators, currency,
    percent and unit), or a text. It is None unless ``status`` is ``explicit``.
    """

    value: str | None
    status: AnswerStatus
    reason: str


def explicit(value: str, where: str) -> ExtractedAnswer:
    """One answer, and where it was read."""
    return ExtractedAnswer(value, AnswerStatus.EXPLICIT, where)


def ambiguous(values: Iterable[str]) -> ExtractedAnswer:
    """Several answers of equal standing."""
    return ExtractedAnswer(None, AnswerStatus.AMBIGUOUS, f"states {' and '.join(values)}")


def expression() -> ExtractedAnswer:
    """Arithmetic that was not carried out."""
    return ExtractedAnswer(None, AnswerStatus.AMBIGUOUS, "an expression, not a number")


def outside(value: str) -> ExtractedAnswer:
    """An answer that is not among the options."""
    return ExtractedAnswer(None, AnswerStatus.OUT_OF_SET, f"{value!r} is not an option")


def none(reason: str) -> ExtractedAnswer:
    """No answer."""
    return ExtractedAnswer(None, AnswerStatus.NONE, reason)
