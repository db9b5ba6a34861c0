"""What the steps of a trace come to, channel by channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def over_steps(
    psi: NDArray, mask: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each channel over the steps that there are.

    Args:
        psi: (n, T, C).
        mask: (n, T), the steps that there are.

    Returns:
        Two arrays (n, C), 0 for a trace without steps.
    """
    steps = np.maximum(mask.sum(axis=1), 1)[:, None]
    weight = mask[:, :, None].astype(np.float64)
    mean = (psi * weight).sum(axis=1) / steps
    spread = np.sqrt((((psi - mean[:, None]) * weight) ** 2).sum(axis=1) / steps)
    return mean, spread
