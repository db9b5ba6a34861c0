"""Two layers on a table of features, trained by any objective; scored without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from faithshift_bench.detectors.base import Progress
from faithshift_bench.detectors.sift.environments import group
from faithshift_bench.detectors.sift.plan import Plan
from faithshift_bench.detectors.sift.training import Rows, train


class TwoLayers(nn.Module):
    """Features to a rectified hidden layer, which is the representation, to log-odds."""

    def __init__(self, features: int, hidden: int) -> None:  # noqa: D107
        super().__init__()
        self.hidden, self.last = nn.Linear(features, hidden), nn.Linear(hidden, 1)
        self.width = hidden

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(B, k) to (B,) and (B, hidden)."""
        hidden = torch.relu(self.hidden(x))
        return self.last(hidden)[:, 0], hidden


def train_mlp(
    x: NDArray,
    labels: NDArray,
    environments: Sequence[str],
    held: NDArray[np.bool_],
    *,
    hidden: int,
    objective: str,
    init: int,
    order: int,
    progress: Progress = lambda epoch, of, figures: None,
    judged: str = "held_loss",
    **options: Any,
) -> tuple[dict[str, NDArray[np.float64]], int, dict[str, Any]]:
    """Train two layers.

    Args:
        x: standardised features, (n, k).
        labels: 0 or 1, (n,).
        environments: of each row; small ones and those of one label are left out, see `group`.
        held: rows that choose the epoch and are not trained on, (n,); if there are none, the
            train rows choose.
        hidden: units of the hidden layer.
        objective: of `Plan`, but for ``jit-*`` and ``alignment``.
        init: seed of the first weights.
        order: seed of the batches.
        progress: called after each epoch, as ``Detector.progress``.
        judged: what the loss on held rows is called in the record.
        options: other fields of `Plan`.

    Returns:
        ``w0`` (k, hidden), ``b0``, ``w1`` (hidden, 1) and ``b1``; the epoch that was kept; the
        record, as ``Detector.training``.
    """
    plan = Plan(objective=objective, **options)
    grouped = group(np.flatnonzero(~held), np.asarray(environments, dtype=str), labels)
    judge = np.flatnonzero(held) if held.any() else grouped.rows

    def rows(of: NDArray[np.intp]) -> tuple[tuple[Tensor], Tensor]:
        features = torch.from_numpy(np.asarray(x[of], dtype=np.float32))
        return (features,), torch.from_numpy(labels[of].astype(np.float32))

    trained = train(
        lambda: TwoLayers(x.shape[1], hidden),
        Rows(*rows(grouped.rows), codes=grouped.codes),
        Rows(*rows(judge)),
        plan,
        {"init": init, "order": order, "dropout": init},
        judged=judged,
        progress=progress,
    )
    found = {name: array.astype(np.float64) for name, array in trained.arrays.items()}
    arrays = {"w0": found["hidden.weight"].T, "b0": found["hidden.bias"]}
    arrays |= {"w1": found["last.weight"].T, "b1": found["last.bias"]}
    return arrays, trained.record["epoch"], {**trained.record, **grouped.record}
