"""How the log-odds of a trace hang on its steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from faithshift_bench.explain.inputs import Differentiable, psi_feature

if TYPE_CHECKING:
    from faithshift_bench.detectors.sift.encoder import Network
    from faithshift_bench.detectors.sift.features import Features


def differentiable(network: Network, features: Features, channels: Sequence[str]) -> Differentiable:
    """Log-odds as a function of psi (steps, C), the static numbers held as they are.

    Args:
        network: fitted, in evaluation mode; it is turned into float64.
        features: of one trace, standardised.
        channels: names of the C channels.
    """
    steps = int(features.lengths[0])
    network = network.double()
    mask = torch.from_numpy(features.mask[:, :steps])
    static = torch.from_numpy(features.static).double()

    def value_and_gradient(points: NDArray) -> tuple[NDArray, NDArray]:
        psi = torch.from_numpy(np.asarray(points, np.float64)).requires_grad_()
        m = len(psi)
        with torch.enable_grad():
            logits, _ = network(psi, mask.expand(m, -1), static.expand(m, -1))
            (gradient,) = torch.autograd.grad(logits.sum(), psi)
        return logits.detach().numpy(), gradient.numpy()

    inputs = features.psi[0, :steps].astype(np.float64)
    names = tuple(psi_feature(name) for name in channels)
    return Differentiable(inputs, np.zeros_like(inputs), names, value_and_gradient)
