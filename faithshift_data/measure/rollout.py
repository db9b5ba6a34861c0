"""Attention rollout onto the blocks of a prompt and its reasoning (Abnar and Zuidema, 2020).

With A the attention of a layer averaged over its heads, a token keeps half of what it held and
takes the other half by A: the rollout of a layer is (A + I) / 2 times that of the layer before.
What is asked for is how much of it falls on each block, so the blocks are rolled out, T x 4
numbers, and never the T x T shares of tokens.
"""

from __future__ import annotations

import numpy as np
import torch


class Rollout:
    """Takes the attention of one layer after another, from the first."""

    def __init__(self, blocks: np.ndarray) -> None:
        """Start from the tokens themselves.

        Args:
            blocks: (T, k), 1 where a token lies in a block; a token lies in one at most.
        """
        self._held = torch.from_numpy(blocks).float()

    def see(self, weights: torch.Tensor) -> None:
        """Take the next layer's attention weights (heads, T, T), whose rows add up to 1."""
        held = self._held.to(weights.device)
        self._held = (weights.mean(dim=0, dtype=torch.float32) @ held + held) / 2

    def shares(self) -> np.ndarray:
        """How the last token's rollout divides over the blocks, (k,), adding up to 1.

        What falls on tokens outside of all blocks, such as the attention sink, is left out. There
        is always something left, since the last token keeps a share of itself.
        """
        last = self._held[-1]
        return (last / last.sum()).cpu().numpy()
