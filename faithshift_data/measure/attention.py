"""Attention whose weights nobody reads, without a copy of keys and values for every head.

Eager attention, and ``sdpa`` of transformers where a mask is given, repeat keys and values for
the heads that share them. On a CPU that costs as much as the attention itself; torch can read
them where they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

# transformers reads it in every pass; before 5.24 it has no effect.
GROUPED = "TRANSFORMERS_SDPA_FORCE_GQA"


@contextmanager
def unread(model: Any) -> Iterator[None]:
    """Let a float32 model on a CPU attend so while this is open, if its attention has the form.

    In lower precision the form of attention would decide near-tied answers.
    """
    before, forced = model.config._attn_implementation, os.environ.get(GROUPED)
    if before not in ("eager", "sdpa") or not _takes(model):
        yield
        return
    os.environ[GROUPED] = "1"
    model.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        model.set_attn_implementation(before)
        if forced is None:
            del os.environ[GROUPED]
        else:
            os.environ[GROUPED] = forced


def _takes(model: Any) -> bool:
    capped = getattr(model.config.get_text_config(), "attn_logit_softcapping", None)
    known = model._supports_sdpa and model._can_set_attn_implementation() and capped is None
    return known and model.device.type == "cpu" and model.dtype == torch.float32
