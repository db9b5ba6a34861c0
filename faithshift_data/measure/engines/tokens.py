"""What engines share that know a model's tokenizer: rendering, ids, and the token that begins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from faithshift_data.errors import InputError
from faithshift_data.reasoning import DELIMITERS, HARMONY_MARKS


class Tokenized:
    """An engine with a tokenizer of the Hugging Face kind, or behind an endpoint without one.

    Attributes:
        tokenizer: None where it is not known; what needs it then raises ``InputError``.
        sends_ids: False where a server makes its own tokens of a text.
    """

    tokenizer: Any = None
    sends_ids = True

    def render(self, user: str) -> str:
        """The exact text the model reads for one user message, up to its own turn."""
        message = [{"role": "user", "content": user}]
        about = {"tokenize": False, "add_generation_prompt": True}
        return str(self._known().apply_chat_template(message, **about))

    def ids(self, text: str) -> list[int]:
        """Token ids of raw text; nothing is added, so no second BOS can appear."""
        return list(self._known()(text, add_special_tokens=False)["input_ids"])

    def text_of(self, ids: Sequence[int]) -> str:
        """What a model wrote: without special tokens, except those that open or close a reasoning.

        Of a model whose delimiters are special tokens, the text alone would not say where the
        reasoning ends.
        """
        decode = self._known().decode
        if self.delimiters.isdisjoint(ids):
            return str(decode(ids, skip_special_tokens=True))
        left_out = self._special.keys() - self.delimiters
        return str(decode([token for token in ids if token not in left_out]))

    @cached_property
    def delimiters(self) -> frozenset[int]:
        """Ids of the special tokens that open or close a reasoning; most models have none."""
        known = set(self._special.values())
        marks = {mark for block in DELIMITERS.values() for mark in block}
        if known >= HARMONY_MARKS:
            marks |= HARMONY_MARKS
        return frozenset(token for token, text in self._special.items() if text in marks)

    @cached_property
    def _special(self) -> dict[int, str]:
        tokenizer = self._known()
        named = zip(tokenizer.all_special_ids, map(str, tokenizer.all_special_tokens), strict=True)
        added = getattr(tokenizer, "added_tokens_decoder", {})
        return dict(named) | {token: str(each) for token, each in added.items() if each.special}

    def read_back(self, text: str) -> str:
        """What the model reads of a text, from its tokens; the text itself without tokenizer."""
        return text if self.tokenizer is None else str(self.tokenizer.decode(self.ids(text)))

    def tokens_of(self, prompt: str) -> tuple[int | None, list[str] | None]:
        """How many tokens the model reads for a prompt, and which; None where nobody says."""
        ids = self.ids(prompt)
        return len(ids), [self._known().decode([token]) for token in ids]

    def begins(self) -> str:
        """The BOS that the tokenizer puts before a text of its own accord; "" if it puts none."""
        bos = getattr(self.tokenizer, "bos_token", None)
        if bos is None or self.tokenizer.bos_token_id not in self.tokenizer("")["input_ids"]:
            return ""
        return str(bos)

    def _known(self) -> Any:
        if self.tokenizer is None:
            message = "an endpoint renders and counts nothing by itself"
            raise InputError(message, field="--tokenizer", expected="a folder with the model's")
        return self.tokenizer
