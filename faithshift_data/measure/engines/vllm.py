"""The vLLM engine: raw completion of all prompts in one submission, on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import vllm
from vllm import LLM, SamplingParams
from vllm.platforms import current_platform

from faithshift_data.errors import InputError, reason_of
from faithshift_data.measure.engines import Completion, Sampling
from faithshift_data.measure.engines.stopping import cut, is_open
from faithshift_data.measure.engines.tokens import Tokenized


class VllmEngine(Tokenized):
    """A local causal language model behind vLLM's offline ``LLM``.

    Prompts are handed over as token ids, so that nothing is put before them. A completion depends
    on its seed; in low precision it also depends on its batch, and on what the cache holds.

    Args:
        path: a folder in the Hugging Face layout; nothing is fetched, no code of it is run.
        dtype: arithmetic of the weights.
        prefix_caching: whether prompts share the computation of a common beginning; the first
            and later requests may then differ in the last bits, so that it is off by default.
        context: tokens a prompt and its completion may have; None: what the model says.
        memory: share of a GPU's memory that vLLM takes.
        eager: whether nothing is compiled, which starts sooner and computes slower.
    """

    name = "vllm"
    version = vllm.__version__
    white_box = False

    def __init__(
        self,
        path: str | Path,
        *,
        dtype: str = "float32",
        prefix_caching: bool = False,
        context: int | None = None,
        memory: float = 0.9,
        eager: bool = False,
    ) -> None:
        """Load the model.

        Raises:
            InputError: vLLM cannot load it.
        """
        self.dtype, self.prefix_caching = dtype, prefix_caching
        try:
            self.llm = LLM(
                model=str(path),
                dtype=dtype,
                enable_prefix_caching=prefix_caching,
                max_model_len=context,
                gpu_memory_utilization=memory,
                enforce_eager=eager,
                # Off a GPU a drawn completion ends vLLM where its prompt is read in two parts.
                enable_chunked_prefill=False if current_platform.is_cpu() else None,
                trust_remote_code=False,
                seed=0,
            )
        except Exception as error:  # noqa: BLE001 - whatever a folder or a machine provokes
            raise InputError(f"vLLM cannot load it: {reason_of(error)}", file=path) from error
        # It computes in a process of its own, for whose end a worker's last step would wait.
        Finalize(self, self.llm.llm_engine.engine_core.shutdown, exitpriority=1)
        self.tokenizer: Any = self.llm.get_tokenizer()
        self.context: int = self.llm.model_config.max_model_len

    def facts(self) -> dict[str, Any]:
        """Arithmetic, and whether prompts shared a prefix cache."""
        return {"engine": self.name, "dtype": self.dtype, "prefix_caching": self.prefix_caching}

    def complete(
        self, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling
    ) -> list[Completion]:
        """Continue raw prompts, all in one submission.

        A prompt whose reasoning block was still open when vLLM met a stop string is asked anew
        without stop strings, and cut where they count.
        """
        found = self._submit(prompts, seeds, sampling, [not is_open(p) for p in prompts])
        again = [
            row
            for row, (prompt, said) in enumerate(zip(prompts, found, strict=True))
            if said.stop_reason in sampling.stop and is_open(prompt, said.text)
        ]
        asked = self._submit(
            [prompts[row] for row in again],
            [seeds[row] for row in again],
            sampling,
            [False] * len(again),
        )
        for row, said in zip(again, asked, strict=True):
            found[row] = said
        return [self._read(*each, sampling) for each in zip(prompts, found, strict=True)]

    def _submit(
        self,
        prompts: Sequence[str],
        seeds: Sequence[int],
        sampling: Sampling,
        stopping: Sequence[bool],
    ) -> list[Any]:
        if not prompts:
            return []
        greedy = sampling.temperature == 0
        how = [
            SamplingParams(
                max_tokens=sampling.max_tokens,
                temperature=sampling.temperature,
                top_p=1.0 if greedy else sampling.top_p,
                seed=None if greedy else seed,
                stop=list(sampling.stop) if stops else None,
                skip_special_tokens=not self.delimiters,
            )
            for seed, stops in zip(seeds, stopping, strict=True)
        ]
        asked = [{"prompt_token_ids": self.ids(prompt)} for prompt in prompts]
        return [said.outputs[0] for said in self.llm.generate(asked, how, use_tqdm=False)]

    def _read(self, prompt: str, said: Any, sampling: Sampling) -> Completion:
        text, stopped = cut(prompt, said.text, sampling.stop)
        n_tokens = len(said.token_ids)
        ended = said.finish_reason == "stop" and said.stop_reason not in sampling.stop
        return Completion(text, "stop" if stopped else said.finish_reason, n_tokens - ended)
