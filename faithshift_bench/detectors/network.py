"""A network of one hidden layer: its training by scikit-learn, its scores by NumPy alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.base import Progress
from faithshift_bench.detectors.linear import sigmoid

EPOCHS, PATIENCE, BATCH, RATE = 50, 5, 32, 1e-3
HELD_OUT = 0.15


def held_out(items: NDArray, labels: NDArray, seed: int) -> NDArray[np.bool_]:
    """Rows of a drawn share of the items, (n,); none if one label alone would be left to learn."""
    names = sorted(set(items.tolist()))
    count = int(len(names) * HELD_OUT)
    drawn = np.random.default_rng(seed).choice(len(names), size=count, replace=False)
    held = np.isin(items, [names[i] for i in drawn])
    return held if len(set(labels[~held].tolist())) == 2 else np.zeros_like(held)


def train(
    x: NDArray,
    labels: NDArray,
    held: NDArray[np.bool_],
    *,
    hidden: int,
    init: int,
    order: int,
    progress: Progress,
    judged: str = "held_loss",
) -> tuple[dict[str, NDArray[np.float64]], dict[str, Any]]:
    """Train by Adam on the log loss, and keep the epoch with the least loss on held-out rows.

    Args:
        x: standardised features, (n, k).
        labels: 0 or 1, (n,), both of them among the rows that are not held out.
        held: rows that are not trained on, (n,); where there are none, the train rows judge.
        hidden: units of the hidden layer.
        init: seed of the first weights.
        order: seed of the order of rows in each epoch.
        progress: called after each epoch, as ``Detector.progress``.
        judged: what the loss on held-out rows is called in the record.

    Returns:
        The weights ``w0`` (k, hidden), ``b0``, ``w1`` (hidden, 1) and ``b1``; and the record of
        the training, as ``Detector.training``.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    rows, judge = np.flatnonzero(~held), held if held.any() else ~held
    model = MLPClassifier(
        (hidden,),
        batch_size=min(BATCH, len(rows)),
        learning_rate_init=RATE,
        shuffle=False,
        random_state=np.random.RandomState(init),
    )
    orders = np.random.default_rng((order, 1))
    best: dict[str, NDArray[np.float64]] = {}
    losses: list[float] = []
    judgements: list[float] = []
    kept = 0
    for epoch in range(1, EPOCHS + 1):
        shuffled = orders.permutation(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.partial_fit(x[shuffled], labels[shuffled], classes=(0, 1))
        network = _weights(model)
        losses.append(log_loss(forward(x[rows], network), labels[rows]))
        judgements.append(log_loss(forward(x[judge], network), labels[judge]))
        progress(epoch, EPOCHS, {"loss": losses[-1], judged: judgements[-1]})
        if kept == 0 or judgements[-1] < judgements[kept - 1] - 1e-9:
            best, kept = network, epoch
        elif epoch - kept >= PATIENCE:
            break
    return best, {
        "epoch": kept,
        "epochs": len(losses),
        "of": EPOCHS,
        "chosen_by": judged,
        "better": "lower",
        "curves": {"loss": losses, judged: judgements},
    }


def forward(x: NDArray, network: Mapping[str, NDArray]) -> NDArray[np.float64]:
    """Probabilities of standardised features, (n,)."""
    hidden = np.maximum(x @ network["w0"] + network["b0"], 0)
    return sigmoid(hidden @ network["w1"] + network["b1"])[:, 0]


def log_loss(scores: NDArray, labels: NDArray) -> float:
    """Mean negative log likelihood, in nats."""
    p = np.clip(np.where(labels == 1, scores, 1 - scores), 1e-12, 1)
    return float(-np.log(p).mean())


def _weights(model: Any) -> dict[str, NDArray[np.float64]]:
    parts = zip(model.coefs_, model.intercepts_, strict=True)
    return {k: v.copy() for i, (w, b) in enumerate(parts) for k, v in ((f"w{i}", w), (f"b{i}", b))}
