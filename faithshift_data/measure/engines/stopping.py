"""Stop strings count where the reasoning is over, and not within it.

A line break or an ``Answer:`` within a reasoning block would end the reasoning early, and what
is cut off would be taken for the model's answer, or for none.
"""

from __future__ import annotations

from collections.abc import Sequence

from faithshift_data.reasoning import block_span


def cut(prompt: str, text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """A completion up to the first stop string that counts, and whether there is one.

    Args:
        prompt: what the text continues; it may have opened a reasoning block.
        text: the completion, or what there is of it so far.
        stop: the strings.
    """
    span = block_span(text, prompt_tail=prompt) if stop else None
    begins, ends = span or (len(text), len(text))
    places = [text.find(each, 0, begins) for each in stop]
    if ends is not None and max(places, default=-1) < 0:
        places = [text.find(each, ends if span else 0) for each in stop]
    first = min((place for place in places if place >= 0), default=None)
    return (text, False) if first is None else (text[:first], True)


def is_open(prompt: str, text: str = "") -> bool:
    """Whether a completion ends, or with no text begins, within a reasoning block."""
    span = block_span(text, prompt_tail=prompt)
    return span is not None and span[1] is None
