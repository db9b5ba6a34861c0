"""Where a verdict can be trusted: confidences in [0, 1], higher is more to be trusted.

``margin`` is the protocol's own, the distance of the score from tau. ``support`` is low for traces
unlike those that were trained on, whatever their score. ``agree`` is low where networks with some
units dropped give different scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GATES = ("margin", "support", "agree")
PASSES = 20


def fit_support(train: NDArray, held: NDArray) -> dict[str, NDArray[np.float64]]:
    """A centre and a metric of the representations (m, k) of train, and distances of held rows.

    The covariance is shrunk (Ledoit and Wolf), for there may be more numbers than traces.
    """
    from sklearn.covariance import ledoit_wolf

    covariance, _ = ledoit_wolf(train)
    scale = np.trace(covariance) / len(covariance) or 1.0
    ridge = 1e-6 * scale * np.eye(len(covariance))
    arrays = {
        "support.centre": train.mean(axis=0),
        "support.root": np.linalg.inv(np.linalg.cholesky(covariance + ridge)),
    }
    return {**arrays, "support.held": np.sort(distances(held, arrays))}


def distances(found: NDArray, arrays: dict[str, NDArray]) -> NDArray[np.float64]:
    """Mahalanobis distance of representations (n, k) to train's, (n,)."""
    away = (found - arrays["support.centre"]) @ arrays["support.root"].T
    return np.sqrt((away**2).sum(axis=1))


def support(found: NDArray, arrays: dict[str, NDArray]) -> NDArray[np.float64]:
    """Share of held rows that are at least as far from train as a trace, itself counted in.

    Uniform on (0, 1] for traces of the same kind as the held rows; near 0 far from train.
    """
    held = arrays["support.held"]
    farther = len(held) - np.searchsorted(held, distances(found, arrays), side="left")
    return (1 + farther) / (1 + len(held))


def agree(scores: NDArray) -> NDArray[np.float64]:
    """1 less twice the standard deviation over members (members, n), (n,): 1 is full agreement."""
    return 1 - 2 * np.asarray(scores).std(axis=0)
