"""An engine behind any server that speaks the completions protocol of OpenAI."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import openai

from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Completion, Sampling, Unfinished
from faithshift_data.measure.engines.endpoint import Endpoint, Refused
from faithshift_data.measure.engines.stopping import cut, is_open
from faithshift_data.measure.engines.tokens import Tokenized

# Servers put a token before a prompt, and filter what is drawn, as the model's folder says.
PLAIN = {"add_special_tokens": False, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
MOST_FAILED = 8
# The protocol takes no more; others are cut at when the text is here.
MOST_STOPS = 4

T = TypeVar("T")


@dataclass
class _Run:
    """Where a run stands: prompts not begun, what is done, why others are not."""

    queue: Iterator[tuple[int, str, int]]
    done: dict[int, Completion] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    permanent: bool = False

    @property
    def over(self) -> bool:
        return self.permanent or len(self.failed) >= MOST_FAILED


class OpenAIEngine(Tokenized):
    """A model behind an endpoint, by raw completion; the key is read from the environment alone.

    Args:
        model: its name at the endpoint.
        base_url: of the endpoint, as ``http://localhost:8000/v1``; None: OpenAI's.
        tokenizer: a folder in the Hugging Face layout whose tokenizer is the model's; prompts are
            rendered and counted with it.
        concurrency: requests under way at a time.
        timeout: seconds a request may take.
        retries: of one request, after timeouts, lost connections and HTTP 408, 409, 429 and 5xx;
            the pauses grow, or are what the server asks for.
        extra: fields of a request beside the protocol's; None: those that turn a server's own
            filters of tokens off (``PLAIN``), and nothing for OpenAI's.
    """

    name = "openai"
    version = openai.__version__
    white_box = False
    sends_ids = False

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        tokenizer: str | Path | None = None,
        concurrency: int = 8,
        timeout: float = 120.0,
        retries: int = 4,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Connect to nothing yet.

        Raises:
            InputError: no address, no key where one is needed, or no tokenizer in the folder.
        """
        if concurrency < 1:
            raise InputError(
                "bad value", field="concurrency", expected="1 or more", got=concurrency
            )
        self.concurrency = concurrency
        self.tokenizer = None if tokenizer is None else _tokenizer(tokenizer)
        added = dict(extra if extra is not None else PLAIN if base_url else {})
        if added and self.tokenizer is not None and self.delimiters:
            added.setdefault("skip_special_tokens", False)
        self.endpoint = Endpoint(model, base_url, timeout=timeout, retries=retries, extra=added)

    def facts(self) -> dict[str, Any]:
        """Where the model is, and what was sent beside the protocol's fields."""
        return {
            "engine": self.name,
            "endpoint": self.endpoint.where,
            "extra": self.endpoint.extra,
            "prefix_caching": "up to the server",
        }

    def complete(
        self, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling
    ) -> list[Completion]:
        """Continue raw prompts, ``concurrency`` of them at a time.

        A prompt whose reasoning block was still open when the server met a stop string is asked
        anew without stop strings, and cut where they count.

        Raises:
            Unfinished: the endpoint refused a prompt, which ends the run at once; or it gave no
                completion after all retries, for one prompt or more.
        """
        asked = zip(range(len(prompts)), prompts, seeds, strict=True)
        run = _Run(iter(asked))
        _finish(self._work_off(run, sampling))
        if len(run.done) < len(prompts):
            first = min(run.failed)
            raise Unfinished(
                f"{len(run.done)} of {len(prompts)} prompts completed; {run.failed[first]}",
                file=self.endpoint.where,
                row=first,
                done=run.done,
                permanent=run.permanent,
            )
        return [run.done[row] for row in range(len(prompts))]

    def tokens_of(self, prompt: str) -> tuple[int | None, list[str] | None]:
        """How many tokens the server says a prompt has, and which; None where it does not say.

        Raises:
            Unfinished: the endpoint gives no completion.
        """
        return _finish(self._tokens_of(prompt))

    async def _work_off(self, run: _Run, sampling: Sampling) -> None:
        async with self.endpoint.client() as client:
            tasks = [
                asyncio.create_task(self._worker(client, run, sampling))
                for _ in range(self.concurrency)
            ]
            waiting = set(tasks)
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                if run.over:
                    for task in waiting:
                        task.cancel()
                    await asyncio.gather(*waiting, return_exceptions=True)
                    break

    async def _worker(self, client: Any, run: _Run, sampling: Sampling) -> None:
        for row, prompt, seed in run.queue:
            try:
                run.done[row] = await self._one(client, prompt, seed, sampling)
            except Refused as refused:
                run.failed[row] = str(refused)
                run.permanent |= refused.permanent
            if run.over:
                return

    async def _one(self, client: Any, prompt: str, seed: int, sampling: Sampling) -> Completion:
        stop = sampling.stop if not is_open(prompt) else ()
        said, n_tokens = await self._ask(client, prompt, seed, sampling, stop)
        if stop and said.finish_reason == "stop" and is_open(prompt, said.text):
            said, n_tokens = await self._ask(client, prompt, seed, sampling, ())
        text, stopped = cut(prompt, said.text, sampling.stop)
        return Completion(text, "stop" if stopped else said.finish_reason, n_tokens)

    async def _ask(
        self, client: Any, prompt: str, seed: int, sampling: Sampling, stop: Sequence[str]
    ) -> tuple[Any, int | None]:
        """The first choice, known to hold a text and a reason to end, and its tokens."""
        reply = await self.endpoint.request(
            client,
            prompt=prompt,
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=seed,
            stop=list(stop[:MOST_STOPS]) or None,
        )
        try:
            said = reply.choices[0]
            whole = isinstance(said.text, str) and isinstance(said.finish_reason, str)
        except (AttributeError, IndexError, TypeError):
            whole = False
        if not whole:
            raise Refused("the reply is no completion")
        n_tokens = getattr(reply.usage, "completion_tokens", None)
        return said, n_tokens if isinstance(n_tokens, int) else None

    async def _tokens_of(self, prompt: str) -> tuple[int | None, list[str] | None]:
        asked = {"prompt": prompt, "max_tokens": 1, "temperature": 0.0}
        async with self.endpoint.client() as client:
            try:
                reply = await self.endpoint.request(client, echo=True, logprobs=1, **asked)
                said = reply.choices[0]
                count, tokens = reply.usage.prompt_tokens, said.logprobs.tokens
                echoed = isinstance(count, int) and len(tokens) >= count
                return count, list(tokens[:count]) if echoed else None
            except (Refused, AttributeError, IndexError, TypeError):
                pass
            try:
                reply = await self.endpoint.request(client, **asked)
                count = getattr(reply.usage, "prompt_tokens", None)
            except (Refused, AttributeError) as error:
                permanent = isinstance(error, Refused) and error.permanent
                line = str(error) if isinstance(error, Refused) else "the reply is no completion"
                raise Unfinished(
                    line, file=self.endpoint.where, done={}, permanent=permanent
                ) from None
        return count if isinstance(count, int) else None, None


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, also where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def _tokenizer(folder: str | Path) -> Any:
    try:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except ImportError as error:
        raise InputError(
            f"{error}; pip install 'faithshift[measure]'", field="tokenizer"
        ) from error
    except Exception as error:  # noqa: BLE001 - whatever a folder's content provokes
        raise InputError("no tokenizer that can be read", file=folder, field="tokenizer") from error
