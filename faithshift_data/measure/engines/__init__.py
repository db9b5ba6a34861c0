"""Engines complete prompts; every engine takes text and gives text back.

The protocol is small on purpose: raw completion of many prompts, one seed a prompt, so that
a row never depends on the batch it happened to travel in (up to rounding of the arithmetic).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn.

    Attributes:
        max_tokens: the most new tokens.
        temperature: 0 means greedy.
        top_p: nucleus mass in (0, 1].
        stop: strings that end a completion; the completion is cut before the first one.
    """

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Completion:
    """One continuation of a prompt.

    Attributes:
        text: the new text alone, cut before any stop string.
        finish: ``stop`` (end token or stop string) or ``length`` (ran into ``max_tokens``).
        n_tokens: new tokens computed, the end token not counted.
    """

    text: str
    finish: str
    n_tokens: int


def generation_seed(trace_id: str, attempt: int = 0) -> int:
    """The sampling seed of a trace's attempt: a function of its id, below 2**31."""
    key = f"{trace_id}/generate" + (f"/{attempt}" if attempt else "")
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1


class Engine(Protocol):
    """Anything that completes raw prompts."""

    name: str
    version: str

    def complete(
        self, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling
    ) -> list[Completion]:
        """Continue each prompt; same prompt, seed and sampling give the same completion."""
        ...


def generation_of(engine: Engine, seed: int, sampling: Sampling) -> dict[str, str | int | float]:
    """The ``generation`` column of a trace."""
    return {
        "engine": engine.name,
        "engine_version": engine.version,
        "seed": seed,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
    }
