"""Which environment a trace is of, where one detector an environment scores it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.linear import standardise, standardiser

PREFIX = "guess."
TRAINED_GUESS = (f"{PREFIX}weight", f"{PREFIX}bias")


def fit_guess(
    pooled: NDArray, codes: NDArray[np.int64], rows: NDArray[np.intp]
) -> dict[str, NDArray[np.float64]]:
    """A softmax regression of the environment on pooled features; {} of a single environment.

    Args:
        pooled: features of every row, (n, k).
        codes: the environment of each of ``rows``, (m,).
        rows: row numbers to learn from, (m,).
    """
    from sklearn.linear_model import LogisticRegression

    if len(set(codes.tolist())) < 2:
        return {}
    scales = standardiser(pooled[rows])
    model = LogisticRegression(max_iter=2000).fit(standardise(pooled[rows], scales), codes)
    weight, bias = model.coef_, model.intercept_
    if len(weight) == 1:
        weight, bias = np.vstack([-weight, weight]), np.array([-bias[0], bias[0]])
    arrays = {**scales, "weight": weight, "bias": bias}
    return {PREFIX + name: array for name, array in arrays.items()}


def guess(pooled: NDArray, arrays: dict[str, NDArray]) -> NDArray[np.int64]:
    """The most probable environment of every row, (n,)."""
    found = {
        name.removeprefix(PREFIX): array
        for name, array in arrays.items()
        if name.startswith(PREFIX)
    }
    if not found:
        return np.zeros(len(pooled), dtype=np.int64)
    return (standardise(pooled, found) @ found["weight"].T + found["bias"]).argmax(axis=1)


def codes_of(names: NDArray, known: Sequence[str]) -> NDArray[np.int64]:
    """Places of names in ``known``, (n,); -1 for an environment without a detector."""
    place = {name: i for i, name in enumerate(known)}
    return np.array([place.get(name, -1) for name in names.tolist()], dtype=np.int64)


def pick(scores: NDArray, codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The score, of (members, n), of each trace's own member; their mean where it has none."""
    own = scores[np.maximum(codes, 0), np.arange(scores.shape[1])]
    return np.where(codes >= 0, own, scores.mean(axis=0))
