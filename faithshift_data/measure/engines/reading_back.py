"""What a backend read of a prompt, as far as it tells: the text, what stands around it, and BOS."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from faithshift_data.measure.engines import Engine

# Tokens shown one by one lose spaces, or show them as the tokenizer's own marks.
_SPACE = re.compile(r"[\s\u2581\u0120\u010a]+")


@dataclass(frozen=True)
class ReadBack:
    """What was read; None where nobody says.

    Attributes:
        in_prompt: whether the injected text is part of it.
        alone: whether nothing but BOS stands around the prompt.
        one_bos: whether it begins with as many BOS as the model is used to, one at most.
    """

    in_prompt: bool | None
    alone: bool | None
    one_bos: bool | None


def read_back(engine: Engine, prompt: str, injected: str) -> ReadBack:
    """Ask an engine what it reads.

    Args:
        engine: tells tokens, or how many there are, or nothing.
        prompt: what is sent.
        injected: a part of it.

    Raises:
        Unfinished: an endpoint gives no completion.
    """
    count, tokens = engine.tokens_of(prompt)
    if tokens is not None:
        read, sent = _bare("".join(tokens)), _bare(prompt)
        around = read.removesuffix(sent) if read.endswith(sent) else None
        alone = around is not None and not around.replace(_bare(tokens[0]), "")
        return ReadBack(_bare(injected) in read, alone, _one_bos(engine, tokens))
    if count is None or engine.tokenizer is None:
        return ReadBack(None, None, None)
    added = count - len(engine.ids(prompt))
    bos = getattr(engine.tokenizer, "bos_token", None)
    leading = added + bool(bos and prompt.startswith(bos))
    as_used = leading == 1 if engine.begins() else leading <= 1
    # A server may put a BOS before the prompt; whatever else it adds or drops shows here.
    return ReadBack(added >= 0, added in (0, 1), as_used if added in (0, 1) else None)


def _one_bos(engine: Engine, tokens: Sequence[str]) -> bool:
    bos = getattr(engine.tokenizer, "bos_token", None)
    if bos is None:
        # A text does not begin with one and the same token twice.
        return tokens[:1] != tokens[1:2]
    leading = next((n for n, token in enumerate(tokens) if token != bos), len(tokens))
    return leading == 1 if engine.begins() else leading <= 1


def _bare(text: str) -> str:
    return _SPACE.sub("", text)
