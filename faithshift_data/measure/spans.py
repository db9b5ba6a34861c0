"""Which tokens are which: steps of the reasoning and blocks of the prompt.

Everything comes from the offsets of one joint encoding, because a text's tokens are not those of
its parts. Token 0 is an attention sink: it belongs to no step and to no block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

MAX_STEPS = 16
BLOCKS = ("question", "cue", "instruction", "reasoning")


@dataclass(frozen=True)
class Spans:
    """The tokens of one prompt and its reasoning.

    Attributes:
        ids: all T tokens.
        steps: half-open token spans of at most 16 steps; they touch and end at T.
        blocks: float32 (T, 4), 1 where a token lies in a block of ``BLOCKS``; a token lies in one
            block, token 0 in none.
        straddling: tokens that begin before and end after a border between prompt and step or
            step and step; each counts to the part in which it begins.
    """

    ids: list[int]
    steps: list[tuple[int, int]]
    blocks: np.ndarray
    straddling: int

    @property
    def first(self) -> int:
        """The first token of the reasoning."""
        return self.steps[0][0]


def find_spans(
    tokenizer: Any, prompt: str, steps: Sequence[str], *, question: str = "", cue: str = ""
) -> Spans:
    """Encode ``prompt + "".join(steps)`` once and say where everything lies.

    A token belongs to the step in which it begins; steps without a token are skipped, and more
    than 16 are merged evenly. A prompt token that overlaps the cue belongs to it, else one that
    overlaps the question to that, else it is an instruction.

    Args:
        tokenizer: a fast tokenizer, which knows offsets.
        prompt: the text before the reasoning.
        steps: exact cover of the reasoning.
        question: part of the prompt; "" for none.
        cue: part of the prompt, its last occurrence; "" for none.

    Raises:
        ValueError: no token falls into the reasoning, or the prompt holds no such question or cue.
    """
    text = prompt + "".join(steps)
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    offsets = np.array(encoded["offset_mapping"], dtype=np.int64).reshape(-1, 2)
    borders = [*accumulate((len(step) for step in steps), initial=len(prompt))]
    spans = _steps(offsets[:, 0], borders)
    crossing = (offsets[:, :1] < borders) & (borders < offsets[:, 1:])
    blocks = np.zeros((len(offsets), len(BLOCKS)), np.float32)
    first = spans[0][0]
    in_cue = _overlaps(offsets, prompt, cue, "cue")
    in_question = _overlaps(offsets, prompt, question, "question") & ~in_cue
    in_reasoning = np.arange(len(offsets)) >= first
    for column, inside in enumerate((in_question, in_cue, ~(in_question | in_cue))):
        blocks[:, column] = inside & ~in_reasoning
    blocks[:, -1] = in_reasoning
    blocks[0] = 0
    return Spans(list(encoded["input_ids"]), spans, blocks, int(crossing.any(axis=1).sum()))


def _steps(begins: np.ndarray, borders: Sequence[int]) -> list[tuple[int, int]]:
    bounds = np.maximum(np.searchsorted(begins, borders), 1)
    spans = [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if b > a]
    if not spans:
        raise ValueError("the reasoning has no token")
    if len(spans) > MAX_STEPS:
        groups = np.array_split(np.arange(len(spans)), MAX_STEPS)
        spans = [(spans[group[0]][0], spans[group[-1]][1]) for group in groups]
    return spans


def _overlaps(offsets: np.ndarray, prompt: str, part: str, name: str) -> np.ndarray:
    start = prompt.rfind(part) if name == "cue" else prompt.find(part)
    if start < 0:
        raise ValueError(f"the prompt does not hold the {name} {part!r}")
    end = start + len(part)
    return (offsets[:, 0] < end) & (offsets[:, 1] > start) if part else np.zeros(len(offsets), bool)
