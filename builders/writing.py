"""Drafts: traces that were asked for, and the reasoning the model writes for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from builders.model import Model
from builders.rows import Row
from builders.sources import Item
from faithshift_data.measure.engines import Completion, Sampling, generation_of, generation_seed
from faithshift_data.reasoning import open_block, split_steps

STOP = ("Answer:", "answer:", "Respuesta:", "respuesta:", "####")
MIN_STEPS = 2


@dataclass(frozen=True)
class Draft:
    """A row without a reasoning and what is needed to write it.

    Attributes:
        item: the question.
        row: the trace's columns so far.
        model: who writes.
        max_tokens: the most tokens of the reasoning.
        language: of prompt and answer line.
    """

    item: Item
    row: Row
    model: Model
    max_tokens: int
    language: str = "en"


def write(drafts: Iterable[Draft], attempt: int) -> Iterator[tuple[Draft, int]]:
    """Let the models write; every draft's row is filled in place.

    Args:
        drafts: batched by model and length, so that a batch holds equals.
        attempt: 0 for the first try; each has a seed of its own.

    Yields:
        Each draft with the number of tokens written.
    """
    ordered = sorted(drafts, key=_batch)
    for (_, max_tokens), group in groupby(ordered, key=_batch):
        batch = list(group)
        model = batch[0].model
        preset = model.preset
        sampling = Sampling(max_tokens, preset.temperature, preset.top_p, STOP)
        seeds = [generation_seed(draft.row["trace_id"], attempt) for draft in batch]
        done = model.write([draft.row["prompt"] for draft in batch], seeds, sampling)
        for draft, seed, completion in zip(batch, seeds, done, strict=True):
            text, cut = reasoning_in(completion, draft.row["prompt"])
            fill(draft.row, whole_steps(text, cut), truncated=cut)
            draft.row["generation"] = generation_of(model.writer, seed, sampling)
            yield draft, completion.n_tokens or 0


def reasoning_in(completion: Completion, prompt: str) -> tuple[str, bool]:
    """The reasoning of a completion, and whether it was cut off.

    Where the prompt opened a reasoning block, what the model wrote behind it is no reasoning.
    """
    block = open_block(prompt)
    if block is None:
        return completion.text, completion.finish == "length"
    reasoning, closer, _ = completion.text.partition(block[1])
    return reasoning, not closer


def _batch(draft: Draft) -> tuple[str, int]:
    return draft.model.weights.revision, draft.max_tokens


def fill(row: Row, reasoning: str, *, truncated: bool) -> None:
    """Put a reasoning and its steps into a row."""
    row["reasoning"], row["truncated"] = reasoning, truncated
    row["steps"] = split_steps(reasoning)


def whole_steps(text: str, cut: bool) -> str:
    """A reasoning without trailing white space and, where it was cut, without a torn last step."""
    steps = split_steps(text.rstrip())
    if cut and len(steps) > 1 and not steps[-1].rstrip().endswith((".", "!", "?", ":")):
        steps.pop()
    return "".join(steps).rstrip()
