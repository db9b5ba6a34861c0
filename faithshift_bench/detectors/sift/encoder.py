"""The network: convolutions over time, attention over steps, learned pooling, two layers."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from faithshift_bench.detectors.sift.shape import KERNELS, Shape

# Far below every score of attention, and finite: a trace without steps gives no NaN.
NEVER = -1e9


class Network(nn.Module):
    """Log-odds that a trace is faithful, from its descriptors step by step.

    Args:
        shape: parts and sizes.
        channels: C, descriptors a step.
        static: k, numbers a trace.

    Attributes:
        width: of the representation.
    """

    def __init__(self, shape: Shape, channels: int, static: int) -> None:  # noqa: D107
        super().__init__()
        self.learned = shape.learned
        pooled = shape.dim if shape.learned else 0
        if shape.learned:
            self.steps = (Convolutions if shape.tcn else Linear)(channels, shape)
            self.attention = nn.Sequential(
                *(Layer(shape) for _ in range(shape.layers if shape.transformer else 0))
            )
            self.norm = nn.LayerNorm(shape.dim) if shape.transformer else nn.Identity()
            self.drop = Dropout(shape.dropout)
            self.pool = Pool(shape.dim) if shape.pooling == "learned" else Mean()
        self.hidden = nn.Linear(pooled + static, shape.hidden)
        self.last = nn.Linear(shape.hidden, 1)
        self.width = shape.dim if shape.learned else shape.hidden

    def forward(self, psi: Tensor, mask: Tensor, static: Tensor) -> tuple[Tensor, Tensor]:
        """Score a batch of B traces.

        Args:
            psi: standardised descriptors (B, T, C), 0 where there is no step.
            mask: bool (B, T), the steps that there are, which come first.
            static: standardised numbers (B, k).

        Returns:
            Log-odds (B,), and the representation (B, width): the pooled vector, or the hidden
            layer where nothing is pooled.
        """
        parts = [static]
        if self.learned:
            longest = max(int(mask.sum(1).max()), 1)
            psi, mask = psi[:, :longest], mask[:, :longest]
            h = self.steps(psi, mask)
            if len(self.attention):
                h = self.drop(h + positions(longest, h.shape[-1]).to(h))
                for layer in self.attention:
                    h = layer(h, mask)
            parts.insert(0, self.pool(self.norm(h), mask))
        hidden = torch.relu(self.hidden(torch.cat(parts, dim=1)))
        return self.last(hidden)[:, 0], parts[0] if self.learned else hidden


class Convolutions(nn.Module):
    """Four widths of convolution side by side, then one linear map to the width of a step."""

    def __init__(self, channels: int, shape: Shape) -> None:  # noqa: D107
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Conv1d(channels, shape.filters, kernel, padding=kernel // 2) for kernel in KERNELS
        )
        self.norm = MaskedBatchNorm(shape.filters * len(KERNELS))
        self.mix = nn.Linear(shape.filters * len(KERNELS), shape.dim)

    def forward(self, psi: Tensor, mask: Tensor) -> Tensor:
        """(B, T, C) to (B, T, dim)."""
        x = psi.transpose(1, 2)
        wide = torch.cat([branch(x) for branch in self.branches], dim=1).transpose(1, 2)
        return self.mix(torch.relu(self.norm(wide, mask)))


class Linear(nn.Linear):
    """The same linear map of every step: what stands in for the convolutions."""

    def __init__(self, channels: int, shape: Shape) -> None:  # noqa: D107
        super().__init__(channels, shape.dim)

    def forward(self, psi: Tensor, mask: Tensor) -> Tensor:  # noqa: D102
        return super().forward(psi)


class MaskedBatchNorm(nn.Module):
    """Batch normalisation over the steps that there are; padding counts for nothing."""

    def __init__(self, width: int, momentum: float = 0.1, eps: float = 1e-5) -> None:  # noqa: D107
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, T, width) to the same."""
        mean, variance = self.mean, self.variance
        if self.training:
            weight = mask[:, :, None].to(x.dtype)
            count = weight.sum().clamp(min=1)
            mean = (x * weight).sum((0, 1)) / count
            variance = ((x - mean).square() * weight).sum((0, 1)) / count
            with torch.no_grad():
                unbiased = variance * count / (count - 1).clamp(min=1)
                self.mean.lerp_(mean, self.momentum)
                self.variance.lerp_(unbiased, self.momentum)
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias


class Layer(nn.Module):
    """A pre-norm transformer layer."""

    def __init__(self, shape: Shape) -> None:  # noqa: D107
        super().__init__()
        self.heads = shape.heads
        self.norm_1, self.norm_2 = nn.LayerNorm(shape.dim), nn.LayerNorm(shape.dim)
        self.qkv, self.out = nn.Linear(shape.dim, 3 * shape.dim), nn.Linear(shape.dim, shape.dim)
        self.up, self.down = (
            nn.Linear(shape.dim, 2 * shape.dim),
            nn.Linear(2 * shape.dim, shape.dim),
        )
        self.drop = Dropout(shape.dropout)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        """(B, T, dim) to the same."""
        h = h + self.drop(self.out(self._attend(self.norm_1(h), mask)))
        return h + self.drop(self.down(self.drop(torch.relu(self.up(self.norm_2(h))))))

    def _attend(self, h: Tensor, mask: Tensor) -> Tensor:
        n, steps, dim = h.shape
        parts = self.qkv(h).view(n, steps, 3, self.heads, dim // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(dim // self.heads)
        share = scores.masked_fill(~mask[:, None, None], NEVER).softmax(dim=-1)
        return (self.drop(share, whole=False) @ v).transpose(1, 2).reshape(n, steps, dim)


class Pool(nn.Module):
    """A weighted sum of the steps, by weights that are learned (S eqs. 22-23)."""

    def __init__(self, dim: int) -> None:  # noqa: D107
        super().__init__()
        self.weight = nn.Linear(dim, 1, bias=False)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        """(B, T, dim) to (B, dim)."""
        scores = self.weight(h)[:, :, 0].masked_fill(~mask, NEVER)
        # Where there is no step, softmax would be a mean over what pads the batch.
        share = scores.softmax(dim=1) * mask
        return (share[:, :, None] * h).sum(1)


class Mean(nn.Module):
    """The mean of the steps that there are."""

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        """(B, T, dim) to (B, dim)."""
        weight = mask[:, :, None].to(h.dtype)
        return (h * weight).sum(1) / weight.sum(1).clamp(min=1)


class Dropout(nn.Module):
    """Dropout in training; or *thinned*: the same units dropped for every trace and step.

    A thinned network is one network, so that its score of a trace does not hang on the others in
    the batch. Shares of attention are left whole there.
    """

    def __init__(self, p: float) -> None:  # noqa: D107
        super().__init__()
        self.p = p
        self.thinned: torch.Generator | None = None

    def forward(self, x: Tensor, *, whole: bool = True) -> Tensor:
        """Any shape to the same; ``whole``: the last axis is units of the network."""
        if self.thinned is None:
            return functional.dropout(x, self.p, self.training)
        if not whole:
            return x
        kept = torch.rand(x.shape[-1], generator=self.thinned, device="cpu") >= self.p
        return x * kept.to(x) / (1 - self.p)


@cache
def positions(steps: int, dim: int) -> Tensor:
    """Sinusoidal positions, float64 (steps, dim): sines in the first half, then cosines."""
    rates = 10_000.0 ** -(np.arange(dim // 2) / (dim // 2))
    angles = np.arange(steps)[:, None] * rates
    return torch.from_numpy(np.hstack([np.sin(angles), np.cos(angles)]))


def count_parameters(network: nn.Module) -> int:
    """Numbers that are trained."""
    return sum(p.numel() for p in network.parameters())
