"""Three families of tiny decoder-only models, and how their passes are masked layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from builders.organisms.layout import Batch
from builders.organisms.masks import POSITIONS
from builders.organisms.words import vocabulary

if TYPE_CHECKING:
    import torch

FAMILIES = ("gpt_neox", "cohere", "phi")
WIDTH, LAYERS, HEADS = 64, 4, 4
# Standard deviation of the first weights. The usual 0.02 is for models ten times as wide; here it
# leaves attention even for hundreds of steps.
SPREAD = 0.1


def config(family: str) -> Any:
    """The configuration of a family's organisms.

    All three compute attention and feed-forward side by side from one input. Where the second reads
    the first's output, as in Llama and GPT-2, the look-up of a word by the word before it begins
    late or not at all; ``README.md`` beside this file has the figures.
    """
    from transformers import CohereConfig, GPTNeoXConfig, PhiConfig

    shared = {
        "vocab_size": len(vocabulary()),
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS,
        "tie_word_embeddings": True,
        "initializer_range": SPREAD,
        "use_cache": False,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 0,
    }
    if family == "gpt_neox":
        return GPTNeoXConfig(intermediate_size=4 * WIDTH, **shared)
    if family == "cohere":
        # Its rotation reaches every channel: a slow one leaves some to compare words with.
        slow = {"rope_type": "default", "rope_theta": 1e6}
        return CohereConfig(
            intermediate_size=2 * WIDTH, logit_scale=1.0, rope_parameters=slow, **shared
        )
    if family == "phi":
        return PhiConfig(intermediate_size=4 * WIDTH, **shared)
    raise ValueError(f"family: expected one of {', '.join(FAMILIES)}, got {family}")


def fresh(family: str, seed: int) -> Any:
    """An untrained organism, the same for the same seed."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    return AutoModelForCausalLM.from_config(config(family), attn_implementation="sdpa")


def logits(model: Any, batch: Batch) -> torch.Tensor:
    """Next-word logits (batch, T, words) under the batch's masks."""
    with above_layer_0(model, batch.masks.above):
        return model(
            input_ids=batch.ids,
            attention_mask=batch.masks.first,
            position_ids=batch.masks.positions,
        ).logits


@contextmanager
def above_layer_0(model: Any, mask: torch.Tensor) -> Iterator[None]:
    """Give every layer but the first another additive mask (batch, 1, T, T)."""
    from faithshift_data.measure.anatomy import anatomy

    def replace(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return args, {**kwargs, "attention_mask": mask}

    handles = [
        each.register_forward_pre_hook(replace, with_kwargs=True)
        for each in anatomy(model).attentions[1:]
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
