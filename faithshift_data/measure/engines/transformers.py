"""The transformers engine: batched completion and forced answers from shared prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
from transformers.generation import LogitsProcessor, LogitsProcessorList, StoppingCriteriaList
from transformers.generation.stopping_criteria import StoppingCriteria

from faithshift_data.measure.engines import Completion, Sampling
from faithshift_data.measure.engines.stopping import cut
from faithshift_data.measure.engines.tokens import Tokenized


class SeededSampling(LogitsProcessor):
    """Nucleus sampling by inverse CDF with one uniform a row and step.

    Every row has a stream of its own, so a completion depends on its seed and not on its
    neighbours. All logits but the drawn token's become -inf; greedy search then takes it.
    """

    def __init__(self, seeds: Sequence[int], sampling: Sampling, prompt_length: int) -> None:
        """Draw every uniform the rows will need."""
        draws = [np.random.default_rng(seed).random(sampling.max_tokens) for seed in seeds]
        self.uniform = torch.tensor(np.array(draws), dtype=torch.float32)
        self.temperature, self.top_p = sampling.temperature, sampling.top_p
        self.prompt_length = prompt_length

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores of shape (n, vocabulary) with one finite entry a row."""
        step = input_ids.shape[1] - self.prompt_length
        probabilities = torch.softmax(scores.float() / self.temperature, dim=-1)
        top, order = probabilities.topk(min(512, scores.shape[-1]), dim=-1)
        mass = top.cumsum(dim=-1)
        kept = top * ((mass - top) < self.top_p)
        target = self.uniform[:, step : step + 1] * kept.sum(dim=-1, keepdim=True)
        place = (kept.cumsum(dim=-1) <= target).sum(dim=-1, keepdim=True)
        place = torch.minimum(place, (kept > 0).sum(dim=-1, keepdim=True) - 1)
        drawn = order.gather(-1, place)
        return torch.full_like(scores, -torch.inf).scatter(-1, drawn, 0.0)


class StopAfterText(StoppingCriteria):
    """Ends a row once its new text holds one of the stop strings, where they count."""

    def __init__(
        self, tokenizer: Any, stop: tuple[str, ...], prompt_length: int, prompts: Sequence[str]
    ) -> None:
        """Watch the text after ``prompt_length`` tokens."""
        self.tokenizer, self.stop, self.prompt_length = tokenizer, stop, prompt_length
        self.prompts = prompts

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Return a boolean vector of shape (n,), true where the row is done."""
        new = input_ids[:, self.prompt_length :]
        tail = self.tokenizer.batch_decode(new[:, -12:])
        seen = [any(stop in text for stop in self.stop) for text in tail]
        rows = zip(seen, self.prompts, new, strict=True)
        return torch.tensor([found and self._counts(prompt, ids) for found, prompt, ids in rows])

    def _counts(self, prompt: str, ids: torch.Tensor) -> bool:
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        return cut(prompt, text, self.stop)[1]


class TransformersEngine(Tokenized):
    """A local causal language model.

    Args:
        path: a folder in the Hugging Face layout.
        dtype: arithmetic of the weights; ``float32`` is what published data use.
        batch_size: rows a forward pass.
        attention: ``sdpa``, or ``eager`` where attention weights are read.
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
    ) -> None:
        """Load tokenizer and weights from the folder; nothing is fetched.

        Raises:
            ValueError: the folder lacks weights that its configuration asks for, or its tokenizer
                has no token to pad with.
        """
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
        self.model: Any = loaded.eval()
        self.batch_size = batch_size
        self.ends = _ends(self.tokenizer, loaded.generation_config)
        # A folder's own sampling, such as a penalty for repetition, is not what was asked for.
        loaded.generation_config = GenerationConfig(eos_token_id=sorted(self.ends) or None)
        self.dtype, self.attention = dtype, attention

    def facts(self) -> dict[str, Any]:
        """Arithmetic and attention."""
        return {"engine": self.name, "dtype": self.dtype, "attention": self.attention}

    @torch.inference_mode()
    def complete(
        self, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling
    ) -> list[Completion]:
        """Continue raw prompts. Rows are batched by length and returned in their own order."""
        encoded = [self.ids(prompt) for prompt in prompts]
        order = sorted(range(len(prompts)), key=lambda i: (len(encoded[i]), i))
        results: list[Completion | None] = [None] * len(prompts)
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            done = self._batch(
                [prompts[i] for i in rows],
                [encoded[i] for i in rows],
                [seeds[i] for i in rows],
                sampling,
            )
            for row, completion in zip(rows, done, strict=True):
                results[row] = completion
        return [completion for completion in results if completion is not None]

    def _batch(
        self,
        prompts: list[str],
        encoded: list[list[int]],
        seeds: list[int],
        sampling: Sampling,
    ) -> list[Completion]:
        width = max(map(len, encoded))
        input_ids = torch.full((len(encoded), width), self.tokenizer.pad_token_id)
        mask = torch.zeros_like(input_ids)
        for row, ids in enumerate(encoded):
            input_ids[row, width - len(ids) :] = torch.tensor(ids)
            mask[row, width - len(ids) :] = 1
        processors = LogitsProcessorList()
        if sampling.temperature > 0:
            processors.append(SeededSampling(seeds, sampling, width))
        stopping = StoppingCriteriaList()
        if sampling.stop:
            stopping.append(StopAfterText(self.tokenizer, sampling.stop, width, prompts))
        output = self.model.generate(
            input_ids=input_ids,
            attention_mask=mask,
            max_new_tokens=sampling.max_tokens,
            do_sample=False,
            logits_processor=processors,
            stopping_criteria=stopping,
            pad_token_id=self.tokenizer.pad_token_id,
        )
        return [
            self.completion(row[width:].tolist(), sampling, prompt)
            for row, prompt in zip(output, prompts, strict=True)
        ]

    def completion(self, ids: list[int], sampling: Sampling, prompt: str = "") -> Completion:
        """Decode new tokens and cut them at an end token or the first stop string that counts."""
        finish = "length"
        place = next((place for place, token in enumerate(ids) if token in self.ends), None)
        if place is not None:
            ids, finish = ids[:place], "stop"
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        text, stopped = cut(prompt, text, sampling.stop)
        return Completion(text, "stop" if stopped else finish, len(ids))


def _ends(tokenizer: Any, config: GenerationConfig) -> frozenset[int]:
    """The ids of every token that ends a text: a folder may name several."""
    named = config.eos_token_id
    several = named if isinstance(named, list) else [named]
    return frozenset(end for end in (tokenizer.eos_token_id, *several) if end is not None)
