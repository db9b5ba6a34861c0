"""Attention whose weights nobody reads, without a copy of keys and values for every head.

Where heads share keys and values and a mask is given, transformers repeats them before it
attends. On a CPU that costs as much as the attention itself; torch can read them where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "faithshift_grouped"


def grouped(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **given: Any,
) -> tuple[torch.Tensor, None]:
    """Attend as ``sdpa`` of transformers does.

    Args:
        module: that attends.
        query: (n, heads, t, d).
        key: (n, groups, T, d); the heads of a group stand together.
        value: the same.
        attention_mask: (n, 1, t, T), true where a token attends; None for what came before it.
        given: what else transformers says, such as the ``scaling`` of the logits.

    Returns:
        (n, t, heads, d), and no weights.
    """
    if attention_mask is None or "position_bias" in given:
        attended, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **given)
        return attended, None
    attended = scaled_dot_product_attention(
        query, key, value, attention_mask, scale=given.get("scaling"), enable_gqa=True
    )
    return attended.transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, grouped)
AttentionMaskInterface.register(NAME, sdpa_mask)


@contextmanager
def unread(model: Any) -> Iterator[None]:
    """Let a model on a CPU attend so as long as this is open, if its attention is of this form."""
    before = model.config._attn_implementation
    if before not in ("eager", "sdpa") or not _takes(model):
        yield
        return
    model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def _takes(model: Any) -> bool:
    capped = getattr(model.config.get_text_config(), "attn_logit_softcapping", None)
    known = model._supports_sdpa and model._can_set_attn_implementation()
    return known and capped is None and model.device.type == "cpu"
