"""What a detector shows of itself so that its score can be taken apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Points (m, k) in, log-odds (m,) and their gradients (m, k) out, both float64.
Gradient = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]


@dataclass(frozen=True)
class Feature:
    """A number that a detector reads.

    Attributes:
        family: what it is about, such as velocity or intervention.
        channel: which of the family, such as mean or truncate@0.4.
        band: of the model's layers, where it belongs to one; 1 is nearest the input.
        step: of the trace, from 0, where it belongs to one.
    """

    family: str
    channel: str
    band: int | None = None
    step: int | None = None


@dataclass(frozen=True)
class Differentiable:
    """The log-odds of one trace as a function of its inputs.

    Attributes:
        inputs: (k,), on the scale that the detector computes on.
        baseline: (k,), the inputs of a trace that says nothing: the mean of train, 0 where inputs
            are standardised.
        features: what the k inputs are.
        value_and_gradient: log-odds and gradients at rows of points, without dropout.
    """

    inputs: NDArray[np.float64]
    baseline: NDArray[np.float64]
    features: Sequence[Feature]
    value_and_gradient: Gradient


def psi_feature(channel: str, step: int | None = None) -> Feature:
    """The feature behind a name such as ``velocity.2.mean``; a name of another form is its own."""
    family, *rest = channel.split(".")
    if len(rest) == 2 and rest[0].isdigit():
        return Feature(family, rest[1], int(rest[0]) + 1, step)
    return Feature(channel, "value", step=step)


def linear(weight: NDArray, bias: float) -> Gradient:
    """Log-odds of a linear detector, weight (k,)."""

    def value_and_gradient(points: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return points @ weight + bias, np.broadcast_to(weight, points.shape)

    return value_and_gradient


def one_hidden_layer(network: dict[str, Any]) -> Gradient:
    """Log-odds of rectified units: w0 (k, h), b0 (h,), w1 (h, 1), b1 (1,)."""
    w0, b0, w1, b1 = (np.asarray(network[name], np.float64) for name in ("w0", "b0", "w1", "b1"))

    def value_and_gradient(points: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        hidden = points @ w0 + b0
        open_ = hidden > 0
        return (np.maximum(hidden, 0) @ w1 + b1)[:, 0], (open_ * w1[:, 0]) @ w0.T

    return value_and_gradient
