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

FAMILIES = ("gpt_neox", "llama", "gpt2")
WIDTH, LAYERS, HEADS = 64, 4, 4
# Standard deviation of the first weights. The usual 0.02 is for models ten times as wide; here it
# leaves attention even for hundreds of steps.
SPREAD = 0.1


def config(family: str) -> Any:
    """The configuration of a family's organisms.

    Of a head's channels some have to compare words wherever they stand, and some places whatever
    stands there. Rotary positions leave to words only channels that hardly turn over a trace: in
    NeoX three quarters of 16; in Llama, which turns all, heads are twice as wide and turn slower.
    """
    from transformers import GPT2Config, GPTNeoXConfig, LlamaConfig

    shared = {"vocab_size": len(vocabulary()), "max_position_embeddings": POSITIONS}
    shared |= {"tie_word_embeddings": True, "use_cache": False, "pad_token_id": 0}
    shared |= {"bos_token_id": 1, "eos_token_id": 0, "initializer_range": SPREAD}
    if family == "gpt_neox":
        return GPTNeoXConfig(
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=4 * WIDTH,
            **shared,
        )
    if family == "llama":
        return LlamaConfig(
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            head_dim=2 * WIDTH // HEADS,
            intermediate_size=2 * WIDTH,
            rope_parameters={"rope_type": "default", "rope_theta": 1e6},
            **shared,
        )
    if family == "gpt2":
        return GPT2Config(
            n_embd=WIDTH,
            n_layer=LAYERS,
            n_head=HEADS,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            **shared,
        )
    raise ValueError(f"family: expected one of {', '.join(FAMILIES)}, got {family}")


def fresh(family: str, seed: int) -> Any:
    """An untrained organism, the same for the same seed.

    GPT-2's learnt positions begin as sinusoids, so that "the word before" is one rotation for all
    places and need not be found for each.
    """
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    made = AutoModelForCausalLM.from_config(config(family), attn_implementation="sdpa")
    if family == "gpt2":
        table = made.transformer.wpe.weight
        turns = 1e4 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
        angles = torch.arange(POSITIONS)[:, None] * turns
        with torch.no_grad():
            table.copy_(SPREAD * 2**0.5 * torch.cat([angles.sin(), angles.cos()], dim=1))
    return made


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
