"""How the log-odds of a trace hang on its steps, and on the numbers that belong to all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from faithshift_bench.detectors.sift.shape import BAND_MEANS, Shape
from faithshift_bench.explain.inputs import Differentiable, Feature, psi_feature
from faithshift_data.measure.descriptors import SCALARS

if TYPE_CHECKING:
    from faithshift_bench.detectors.sift.encoder import Network
    from faithshift_bench.detectors.sift.features import Features


def differentiable(
    network: Network, features: Features, shape: Shape, *, scalars: bool
) -> Differentiable:
    """Log-odds as a function of psi, step by step, and of the static numbers.

    Args:
        network: fitted, in evaluation mode; it is turned into float64.
        features: of one trace, standardised.
        shape: says what they are.
        scalars: whether scalars are among the static numbers.
    """
    steps = int(features.lengths[0])
    psi, static = (
        torch.from_numpy(np.array(x, np.float64))
        for x in (features.psi[0, :steps], features.static[0])
    )
    mask = torch.ones((1, steps), dtype=torch.bool)
    network = network.double()

    def value_and_gradient(points: NDArray) -> tuple[NDArray, NDArray]:
        given = torch.from_numpy(np.array(points, np.float64)).requires_grad_()
        m = len(given)
        with torch.enable_grad():
            parts = given[:, : psi.numel()], given[:, psi.numel() :]
            logits, _ = network(parts[0].reshape(m, *psi.shape), mask.expand(m, -1), parts[1])
            (gradient,) = torch.autograd.grad(logits.sum(), given)
        return logits.detach().numpy(), gradient.numpy()

    inputs = torch.cat([psi.flatten(), static]).numpy()
    names = (psi_feature(name, step) for step in range(steps) for name in shape.channels)
    return Differentiable(
        inputs,
        np.zeros_like(inputs),
        (*names, *_static(shape, scalars=scalars)),
        value_and_gradient,
    )


def _static(shape: Shape, *, scalars: bool) -> list[Feature]:
    """What the static numbers are, in the order of `features.read`."""
    parts = shape.static.split("+")
    found = [psi_feature(name) for name in BAND_MEANS] if "bands" in parts else []
    found = [replace(f, channel=f"{f.channel}, mean of steps") for f in found]
    return [*found, *(Feature("commitment", name) for name in SCALARS if scalars)]
