"""Attention without repeated keys: the same numbers as softmax written out, and put back after."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

from faithshift_data.measure.attention import NAME, grouped, unread
from faithshift_data.measure.engines import Sampling


@pytest.mark.parametrize("heads", [2, 6])
def test_equal_to_softmax_written_out(heads: int) -> None:
    """Head h reads group h // (heads / 2), and only what the mask lets it see."""
    rng = np.random.default_rng(0)
    n, groups, t, total, d = 2, 2, 3, 5, 4
    query, key = rng.normal(size=(n, heads, t, d)), rng.normal(size=(n, groups, total, d))
    value = rng.normal(size=(n, groups, total, d))
    seen = rng.random((n, 1, t, total)) < 0.6
    seen[..., 0] = True
    expected = np.empty((n, t, heads, d))
    for row in range(n):
        for head in range(heads):
            group = head * groups // heads
            for place in range(t):
                open_to = seen[row, 0, place]
                logits = 0.3 * key[row, group, open_to] @ query[row, head, place]
                weights = np.exp(logits) / np.exp(logits).sum()
                expected[row, place, head] = weights @ value[row, group, open_to]
    tensors = [torch.tensor(each, dtype=torch.float32) for each in (query, key, value)]
    found, weights = grouped(None, *tensors, torch.tensor(seen), scaling=0.3)
    assert weights is None and found.is_contiguous()
    assert np.allclose(found.numpy(), expected, atol=1e-6)


def test_a_model_attends_so_only_meanwhile(any_engine) -> None:
    config = any_engine.model.config
    assert config._attn_implementation == "eager"
    with pytest.raises(KeyError), unread(any_engine.model):
        assert config._attn_implementation == NAME
        with unread(any_engine.model):
            assert config._attn_implementation == NAME
        assert config._attn_implementation == NAME, "the outer one is still open"
        raise KeyError
    assert config._attn_implementation == "eager"


def test_padded_rows_get_the_logits_of_eager_attention(any_engine) -> None:
    ids = torch.randint(1, 200, (3, 9), generator=torch.manual_seed(0))
    mask = torch.ones_like(ids)
    mask[0, :4] = mask[1, :1] = 0
    place = (mask.cumsum(dim=-1) - 1).clamp(min=0)
    given = {"input_ids": ids, "attention_mask": mask, "position_ids": place}
    with torch.inference_mode():
        plain = any_engine.model(**given).logits
        with unread(any_engine.model):
            found = any_engine.model(**given).logits
    assert torch.allclose(found[mask == 1], plain[mask == 1], atol=1e-4)


def test_a_model_whose_logits_are_capped_keeps_its_own(engine) -> None:
    """Gemma 2 caps them, which this form of attention does not."""
    model = deepcopy(engine.model)
    model.config.attn_logit_softcapping = 50.0
    with unread(model):
        assert model.config._attn_implementation == "eager"


def test_weights_can_be_read_afterwards(engine) -> None:
    engine.complete(["What is this?"], [0], Sampling(2))
    with torch.inference_mode():
        output = engine.model(torch.tensor([[5, 6, 7]]), output_attentions=True)
    assert all(each is not None for each in output.attentions)
