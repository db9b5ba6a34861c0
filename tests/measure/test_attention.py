"""Attention whose weights nobody reads: the logits of eager attention, and put back afterwards."""

from __future__ import annotations

import os
from copy import deepcopy

import pytest
import torch

from faithshift_data.measure.attention import GROUPED, unread
from faithshift_data.measure.engines import Sampling


def test_a_model_attends_so_only_meanwhile(any_engine, monkeypatch) -> None:
    config = any_engine.model.config
    for outside in (None, "0"):
        monkeypatch.delenv(GROUPED, raising=False)
        if outside is not None:
            monkeypatch.setenv(GROUPED, outside)
        with pytest.raises(KeyError), unread(any_engine.model):
            with unread(any_engine.model):
                assert (config._attn_implementation, os.environ[GROUPED]) == ("sdpa", "1")
            assert (config._attn_implementation, os.environ[GROUPED]) == ("sdpa", "1")
            raise KeyError
        assert (config._attn_implementation, os.environ.get(GROUPED)) == ("eager", outside)


def test_padded_rows_get_the_logits_of_eager_attention(any_engine) -> None:
    """A Llama here has heads that share keys."""
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


def test_keys_are_not_repeated(engine, monkeypatch) -> None:
    """What transformers repeats them with is not called."""
    from transformers.integrations import sdpa_attention

    def refuse(*_: object) -> None:
        raise AssertionError("repeated")

    monkeypatch.setattr(sdpa_attention, "repeat_kv", refuse)
    assert engine.model.config.num_key_value_heads < engine.model.config.num_attention_heads
    engine.complete(["What is this?", "Why?"], [0, 1], Sampling(3))


@pytest.mark.parametrize("why", ["capped", "precise"])
def test_a_model_keeps_its_own(engine, why: str) -> None:
    """Gemma 2 caps its logits; in lower precision the form would decide near ties."""
    model = deepcopy(engine.model)
    if why == "capped":
        model.config.attn_logit_softcapping = 50.0
    else:
        model = model.bfloat16()
    with unread(model):
        assert model.config._attn_implementation == "eager"


def test_weights_can_be_read_afterwards(engine) -> None:
    engine.complete(["What is this?"], [0], Sampling(2))
    with torch.inference_mode():
        output = engine.model(torch.tensor([[5, 6, 7]]), output_attentions=True)
    assert all(each is not None for each in output.attentions)
