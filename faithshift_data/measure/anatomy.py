"""Where a causal language model keeps what is read: blocks, attention modules, hidden states.

Hidden states have names, so that none is taken for its neighbour: ``embed`` enters the first
block, ``layer.k.out`` leaves block k (k from 0) on the residual stream, and ``final_norm`` is
the last block's output after the model's last norm, another space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

EMBED, FINAL_NORM = "embed", "final_norm"
ATTENTION_NAMES = ("self_attn", "attn", "attention", "self_attention")


@dataclass(frozen=True)
class Anatomy:
    """The parts of a model that hooks are put on.

    Attributes:
        base: the model without its language modelling head.
        blocks: its L transformer blocks.
        attentions: the attention module of each.
    """

    base: Any
    blocks: list[Any]
    attentions: list[Any]

    @property
    def states(self) -> list[str]:
        """Names of the L + 2 hidden states, in the order in which a pass makes them."""
        return [EMBED, *(f"layer.{k}.out" for k in range(len(self.blocks))), FINAL_NORM]


def anatomy(model: Any) -> Anatomy:
    """Find the parts of a Llama, GPT-2, GPT-NeoX or similarly built model of ``transformers``.

    Raises:
        ValueError: no list of blocks as long as the configuration says, or a block without
            exactly one attention module of a known name.
    """
    base, depth = model.base_model, model.config.num_hidden_layers
    lists = [m for m in base.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == depth]
    if not lists:
        raise ValueError(f"{type(model).__name__}: no list of {depth} blocks")
    blocks = list(lists[0])
    found = [[getattr(b, name) for name in ATTENTION_NAMES if hasattr(b, name)] for b in blocks]
    if any(len(each) != 1 for each in found):
        raise ValueError(f"{type(model).__name__}: expected one of {ATTENTION_NAMES} in each block")
    return Anatomy(base, blocks, [each[0] for each in found])


def set_attention_temperature(model: Any, temperature: float) -> None:
    """Divide the attention logits of every block by ``temperature``, above 0; in place.

    Over 1 attention is spread wider. How much verdicts move with it is one of the sources of
    variance in S, table 6.

    Raises:
        ValueError: an attention module that keeps no scaling of its logits.
    """
    attentions = anatomy(model).attentions
    if any(not isinstance(getattr(each, "scaling", None), float) for each in attentions):
        raise ValueError(f"{type(model).__name__}: attention keeps no scaling of its logits")
    for each in attentions:
        each.scaling /= temperature


@contextmanager
def listening(
    parts: Anatomy,
    on_state: Callable[[str, torch.Tensor], None],
    on_attention: Callable[[torch.Tensor], None],
) -> Iterator[None]:
    """Hand every forward pass of ``parts.base`` to two listeners, layer by layer.

    Nothing is kept: what a listener does not store is freed as soon as the model is done with it.

    Args:
        parts: of the model that will run.
        on_state: called with the name of a residual state and its value (batch, T, d).
        on_attention: called with the weights (batch, heads, T, T) of each block, before
            its ``layer.k.out``.

    Raises:
        ValueError: (in the pass) the model's attention does not give its weights.
    """

    def embed(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        on_state(EMBED, args[0] if args else kwargs["hidden_states"])

    def out(name: str) -> Callable[..., None]:
        def hook(_: Any, __: Any, output: Any) -> None:
            on_state(name, output[0] if isinstance(output, tuple) else output)

        return hook

    def weights(_: Any, __: Any, output: Any) -> None:
        if not isinstance(output, tuple) or output[1] is None:
            raise ValueError("attention weights need an engine with attention='eager'")
        on_attention(output[1])

    handles = [parts.blocks[0].register_forward_pre_hook(embed, with_kwargs=True)]
    handles += [each.register_forward_hook(weights) for each in parts.attentions]
    for name, block in zip(parts.states[1:-1], parts.blocks, strict=True):
        handles.append(block.register_forward_hook(out(name)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
