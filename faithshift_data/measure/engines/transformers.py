"""The transformers engine: batched completion and forced answers from shared prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.generation import LogitsProcessor, LogitsProcessorList, StoppingCriteriaList
from transformers.generation.stopping_criteria import StoppingCriteria

from faithshift_data.measure.engines import Completion, Sampling


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
    """Ends a row once its new text holds one of the stop strings."""

    def __init__(self, tokenizer: Any, stop: tuple[str, ...], prompt_length: int) -> None:
        """Watch the text after ``prompt_length`` tokens."""
        self.tokenizer, self.stop, self.prompt_length = tokenizer, stop, prompt_length

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Return a boolean vector of shape (n,), true where the row is done."""
        tail = self.tokenizer.batch_decode(input_ids[:, self.prompt_length :][:, -12:])
        return torch.tensor([any(stop in text for stop in self.stop) for text in tail])


class TransformersEngine:
    """A local causal language model.

    Args:
        path: a folder in the Hugging Face layout.
        dtype: arithmetic of the weights; ``float32`` is what published data use.
        batch_size: rows a forward pass.
        attention: ``sdpa``, or ``eager`` where attention weights are read.
    """

    name = "transformers"
    version = transformers.__version__

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

    def render(self, user: str, *, opener: str = "") -> str:
        """The exact text the model reads for one user message, up to the assistant's opener."""
        message = [{"role": "user", "content": user}]
        text = self.tokenizer.apply_chat_template(
            message, tokenize=False, add_generation_prompt=True
        )
        return str(text) + opener

    def ids(self, text: str) -> list[int]:
        """Token ids of raw text; nothing is added, so no second BOS can appear."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

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
            done = self._batch([encoded[i] for i in rows], [seeds[i] for i in rows], sampling)
            for row, completion in zip(rows, done, strict=True):
                results[row] = completion
        return [completion for completion in results if completion is not None]

    def _batch(
        self, encoded: list[list[int]], seeds: list[int], sampling: Sampling
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
            stopping.append(StopAfterText(self.tokenizer, sampling.stop, width))
        output = self.model.generate(
            input_ids=input_ids,
            attention_mask=mask,
            max_new_tokens=sampling.max_tokens,
            do_sample=False,
            logits_processor=processors,
            stopping_criteria=stopping,
            pad_token_id=self.tokenizer.pad_token_id,
        )
        return [self.completion(row[width:].tolist(), sampling) for row in output]

    def completion(self, ids: list[int], sampling: Sampling) -> Completion:
        """Decode new tokens and cut them at the end token or the first stop string."""
        end = self.tokenizer.eos_token_id
        finish = "length"
        if end in ids:
            ids, finish = ids[: ids.index(end)], "stop"
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        cuts = [text.index(stop) for stop in sampling.stop if stop in text]
        if cuts:
            text, finish = text[: min(cuts)], "stop"
        return Completion(text=text, finish=finish, n_tokens=len(ids))
