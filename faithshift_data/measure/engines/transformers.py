"""The transformers engine: batched completion and forced answers from shared prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from faithshift_data.measure import caches
from faithshift_data.measure.anatomy import set_attention_temperature
from faithshift_data.measure.attention import unread
from faithshift_data.measure.decoding import Rows, decode, forward
from faithshift_data.measure.engines import Completion, Sampling
from faithshift_data.measure.engines.stopping import cut
from faithshift_data.measure.engines.tokens import Tokenized
from faithshift_data.measure.local_model import need_device

if TYPE_CHECKING:
    from faithshift_data.measure.shared_prefix import Prompts

# A stop string lies within so many tokens.
STOP_TOKENS = 12
# After a first batch, prompts are read by such a part of one: the room that ended rows leave.
READ = 4


class TransformersEngine(Tokenized):
    """A local causal language model.

    Args:
        path: a folder in the Hugging Face layout.
        dtype: arithmetic of the weights; ``float32`` is what published data use.
        batch_size: rows a forward pass.
        attention: ``sdpa``, or ``eager`` where attention weights are read.
        attention_temperature: what attention logits are divided by; 1 is the model as it is.
        device: where it computes, such as ``cpu`` or ``cuda:1``.
    """

    name = "transformers"
    version = transformers.__version__
    white_box = True

    def __init__(
        self,
        path: str | Path,
        *,
        dtype: str = "float32",
        batch_size: int = 32,
        attention: str = "sdpa",
        attention_temperature: float = 1.0,
        device: str = "cpu",
    ) -> None:
        """Load tokenizer and weights from the folder; nothing is fetched.

        Raises:
            InputError: a device that is not here.
            ValueError: the folder lacks weights that its configuration asks for, its tokenizer
                has no token to pad with, or its attention cannot have another temperature.
        """
        need_device(device)
        self.tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        if self.tokenizer.pad_token_id is None:
            raise ValueError("the tokenizer names neither a padding token nor one that ends a text")
        loaded, about = AutoModelForCausalLM.from_pretrained(
            path,
            dtype=getattr(torch, dtype),
            attn_implementation=attention,
            local_files_only=True,
            output_loading_info=True,
        )
        # They would be drawn at random.
        if missing := sorted(about["missing_keys"]):
            raise ValueError(f"{len(missing)} weights are missing, such as {missing[0]}")
        if attention_temperature != 1:
            set_attention_temperature(loaded, attention_temperature)
        self.model: Any = loaded.eval().to(device)
        self.batch_size = batch_size
        self.ends = _ends(self.tokenizer, loaded.generation_config)
        # A folder's own sampling, such as a penalty for repetition, is not what was asked for.
        loaded.generation_config = GenerationConfig(eos_token_id=sorted(self.ends) or None)
        self.dtype, self.attention, self.device = dtype, attention, device
        self.attention_temperature = attention_temperature

    def facts(self) -> dict[str, Any]:
        """Arithmetic, attention where its weights are read; device and temperature if unusual."""
        facts = {"engine": self.name, "dtype": self.dtype, "attention": self.attention}
        if self.device != "cpu":
            facts["device"] = self.device
        if self.attention_temperature == 1:
            return facts
        return {**facts, "attention_temperature": self.attention_temperature}

    @torch.inference_mode()
    def complete(
        self,
        prompts: Sequence[str],
        seeds: Sequence[int],
        sampling: Sampling,
        known: Prompts | None = None,
    ) -> list[Completion]:
        """Continue raw prompts. Rows are batched by length and returned in their own order.

        Args:
            prompts: raw text.
            seeds: one a prompt.
            sampling: how tokens are drawn.
            known: what an engine with the same weights and arithmetic has read of prompts.
        """
        encoded = [self.ids(prompt) for prompt in prompts]
        order = sorted(range(len(prompts)), key=lambda i: (len(encoded[i]), i))
        if known is None:
            joins = caches.is_movable(caches.fresh(self.model))
            size = max(1, self.batch_size // READ) if joins else self.batch_size
            starts = (0, *range(self.batch_size, len(order), size), len(order))
            several = (order[slice(*span)] for span in pairwise(starts))
            parts = (self._read([encoded[i] for i in rows]) for rows in several if rows)
        else:
            parts = (known.reading(prompts[i]).row() for i in order)
        with unread(self.model):
            done = decode(
                self,
                parts,
                sampling,
                seeds=[seeds[i] for i in order],
                prompts=[prompts[i] for i in order],
            )
        return [found for _, found in sorted(zip(order, done, strict=True))]

    def _read(self, encoded: list[list[int]]) -> Rows:
        """One pass over prompts; padding stands on the left."""
        width = max(map(len, encoded))
        input_ids = torch.full((len(encoded), width), self.tokenizer.pad_token_id)
        mask = torch.zeros_like(input_ids)
        for row, ids in enumerate(encoded):
            input_ids[row, width - len(ids) :] = torch.tensor(ids)
            mask[row, width - len(ids) :] = 1
        position = (mask.cumsum(dim=-1) - 1).clamp(min=0)
        return forward(self, caches.fresh(self.model), input_ids, mask, position)

    def ended(self, ids: list[int], sampling: Sampling, prompt: str = "") -> bool:
        """Whether a row's last new token ends it, or brings a stop string that counts."""
        if ids[-1] in self.ends:
            return True
        # Decoding all of a text with every token would cost its square.
        tail = self.tokenizer.decode(ids[-STOP_TOKENS:])
        if not any(stop in tail for stop in sampling.stop):
            return False
        return cut(prompt, self.text_of(ids), sampling.stop)[1]

    def completion(self, ids: list[int], sampling: Sampling, prompt: str = "") -> Completion:
        """Decode new tokens and cut them at an end token or the first stop string that counts."""
        finish = "length"
        place = next((place for place, token in enumerate(ids) if token in self.ends), None)
        if place is not None:
            ids, finish = ids[:place], "stop"
        text = self.text_of(ids)
        text, stopped = cut(prompt, text, sampling.stop)
        return Completion(text, "stop" if stopped else finish, len(ids))


def _ends(tokenizer: Any, config: GenerationConfig) -> frozenset[int]:
    """The ids of every token that ends a text: a folder may name several."""
    named = config.eos_token_id
    several = named if isinstance(named, list) else [named]
    return frozenset(end for end in (tokenizer.eos_token_id, *several) if end is not None)
