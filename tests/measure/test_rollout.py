"""Rollout onto blocks against the dense rollout of Abnar and Zuidema, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from faithshift_data.measure.rollout import Rollout


def causal(layers, heads, tokens, seed=0):
    """Attention weights whose rows add up to 1 and do not look ahead."""
    logits = np.random.default_rng(seed).normal(scale=2, size=(layers, heads, tokens, tokens))
    weights = np.exp(logits) * np.tril(np.ones((tokens, tokens)))
    return weights / weights.sum(axis=-1, keepdims=True)


def onto(blocks, weights):
    rollout = Rollout(blocks)
    for layer in weights:
        rollout.see(torch.from_numpy(layer))
    return rollout.shares()


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_dense_rollout_summed_over_blocks(seed):
    weights = causal(5, 3, 12, seed)
    blocks = np.eye(4, dtype=np.float32)[np.repeat(range(4), 3)]
    blocks[0] = 0
    dense = np.eye(12)
    for layer in weights:
        dense = (0.5 * layer.mean(axis=0) + 0.5 * np.eye(12)) @ dense
    assert dense[-1].sum() == pytest.approx(1)
    expected = dense[-1] @ blocks / dense[-1, 1:].sum()
    assert onto(blocks, weights) == pytest.approx(expected, abs=1e-6)


def test_by_hand():
    """Two tokens; the second looks at the first with weight a, then with weight b."""
    a, b = 0.6, 0.2
    weights = np.array([[[[1, 0], [w, 1 - w]]] for w in (a, b)])
    own = (1 - a / 2) * (1 - b / 2)
    assert onto(np.eye(2, dtype=np.float32), weights) == pytest.approx([1 - own, own])


def test_it_does_not_hang_on_the_order_of_heads_and_adds_up_to_one():
    weights = causal(4, 3, 9)
    blocks = np.eye(3, dtype=np.float32)[[0, 0, 1, 1, 1, 2, 2, 2, 2]]
    shares = onto(blocks, weights)
    assert shares.sum() == pytest.approx(1)
    assert onto(blocks, weights[:, ::-1].copy()) == pytest.approx(shares, abs=1e-6)
    merged = onto(np.stack([blocks[:, 0] + blocks[:, 1], blocks[:, 2]], axis=1), weights)
    assert merged == pytest.approx([shares[0] + shares[1], shares[2]], abs=1e-6)


def test_a_sink_is_left_out_and_something_is_always_left():
    weights = np.zeros((30, 1, 4, 4))
    weights[..., 0] = 1
    blocks = np.eye(2, dtype=np.float32)[[0, 0, 0, 1]]
    blocks[0] = 0
    assert onto(blocks, weights).tolist() == [0, 1]
