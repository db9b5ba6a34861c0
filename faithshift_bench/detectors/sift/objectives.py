"""What is minimised: the risk of each environment, and penalties on how it hangs on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


def risk(logits: Tensor, labels: Tensor, positive: float) -> Tensor:
    """Mean log loss (S eq. 15), a faithful trace weighing ``positive``."""
    weight = logits.new_tensor(positive)
    return functional.binary_cross_entropy_with_logits(logits, labels, pos_weight=weight)


def slope(logits: Tensor, labels: Tensor, positive: float) -> Tensor:
    """Derivative of ``risk(w * logits)`` in the scalar w, at w = 1.

    In closed form, mean of ``weight * (sigmoid(z) - y) * z``, so that its own gradient needs no
    second pass.
    """
    weight = 1 + (positive - 1) * labels
    return (weight * (torch.sigmoid(logits) - labels) * logits).mean()


def irm(groups: Sequence[tuple[Tensor, Tensor]], positive: float) -> Tensor:
    """Mean over environments of the squared slope (S eq. 16); never negative."""
    return torch.stack([slope(z, y, positive).square() for z, y in groups]).mean()


def irm_unbiased(groups: Sequence[tuple[Tensor, Tensor]], positive: float) -> Tensor:
    """Mean over environments of the product of two halves' slopes.

    Its expectation is the squared slope of the population, which `irm` overstates by the slope's
    variance; in a batch it may be negative.
    """
    products = [
        slope(z[::2], y[::2], positive) * slope(z[1::2], y[1::2], positive) for z, y in groups
    ]
    return torch.stack(products).mean()


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return -gradient


def reverse(x: Tensor) -> Tensor:
    """``x``, with its gradient negated on the way back (S eq. 25)."""
    return _Reverse.apply(x)


class EnvironmentHead(nn.Sequential):
    """Guesses the environment from a representation: width -> 64 -> environments."""

    def __init__(self, width: int, environments: int) -> None:  # noqa: D107
        super().__init__(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, environments))


def alignment(left: Tensor, right: Tensor) -> Tensor:
    """Mean squared distance of the representations of pairs (S eq. 44)."""
    return (left - right).square().sum(1).mean()


class GroupWeights:
    """Weights of environments that grow with their risk, by exponentiated gradient (group DRO)."""

    def __init__(self, count: int, step: float) -> None:
        """Equal weights of ``count`` environments."""
        self.log = torch.zeros(count, dtype=torch.float64, device="cpu")
        self.step = step

    def __call__(self, risks: Tensor) -> Tensor:
        """Update by the risks of a batch, (environments,), and return the new weights."""
        self.log = self.log + self.step * risks.detach().double().cpu()
        return self.log.softmax(0).to(risks)
