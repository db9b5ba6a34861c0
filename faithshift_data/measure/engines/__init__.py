"""Engines complete prompts; every engine takes text and gives text back.

The protocol is small on purpose: raw completion of many prompts, one seed a prompt, so that
a row never depends on the batch it happened to travel in (up to rounding of the arithmetic).
Text is injected by standing in the prompt: no engine adds or takes away a token of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from faithshift_data.errors import InputError


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn.

    Attributes:
        max_tokens: the most new tokens.
        temperature: 0 means greedy.
        top_p: nucleus mass in (0, 1].
        stop: strings that end a completion, which is cut before the first one. They do not count
            within a reasoning block, whether the prompt opened it or the model.
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
        finish: ``stop`` (end token or stop string), ``length`` (ran into ``max_tokens``), or what
            else an endpoint gives as its reason, such as ``content_filter``.
        n_tokens: new tokens computed, the end token not counted; behind an endpoint, what it
            counts, and None where it says nothing.
    """

    text: str
    finish: str
    n_tokens: int | None


def generation_seed(trace_id: str, attempt: int = 0) -> int:
    """The sampling seed of a trace's attempt: a function of its id, below 2**31."""
    key = f"{trace_id}/generate" + (f"/{attempt}" if attempt else "")
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1


class Unfinished(InputError):
    """Some prompts were not completed.

    Attributes:
        done: position of a prompt -> its completion, of those that were.
        permanent: whether the others would fail in the same way.
    """

    def __init__(
        self, message: str, *, done: Mapping[int, Completion], permanent: bool, **where: Any
    ) -> None:
        """Keep what is done beside the line."""
        super().__init__(message, **where)
        self.done, self.permanent = dict(done), permanent


class Engine(Protocol):
    """Anything that completes raw prompts.

    Attributes:
        name, version: of the library, or of the protocol that an endpoint speaks.
        tokenizer: of the Hugging Face kind; None behind an endpoint that shows none.
        sends_ids: whether the model gets the token ids that ``ids`` gives, so that ``read_back``
            is what it read; a server that gets text may read another.
        white_box: whether states are read and prefixes shared. A black box gives answers alone,
            and what they do not show stays null.
    """

    name: str
    version: str
    white_box: bool
    tokenizer: Any
    sends_ids: bool

    def complete(
        self, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling
    ) -> list[Completion]:
        """Continue each prompt; same prompt, seed and sampling give the same completion.

        Raises:
            Unfinished: some prompts could not be completed; it holds those that were.
        """
        ...

    def render(self, user: str) -> str:
        """The exact text the model reads for one user message, up to its own turn."""
        ...

    def ids(self, text: str) -> list[int]:
        """Token ids of raw text; nothing is added, so no second BOS can appear."""
        ...

    def read_back(self, text: str) -> str:
        """What the model reads of a text, from its tokens; the text itself if those are unknown."""
        ...

    def tokens_of(self, prompt: str) -> tuple[int | None, list[str] | None]:
        """How many tokens the model reads for a prompt, and which; None where nobody says."""
        ...

    def begins(self) -> str:
        """The BOS that a prompt has to begin with; "" where none is known."""
        ...

    def facts(self) -> dict[str, Any]:
        """What a manifest says of the engine, as plain JSON values."""
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
