"""A small network on how the answer behaves under intervention, and how the states move."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.base import Detector, labelled
from faithshift_bench.detectors.linear import sigmoid, standardise, standardiser
from faithshift_bench.options import check_number
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_data.views import View

EPOCHS, PATIENCE, BATCH, RATE = 50, 5, 32, 1e-3
HELD_OUT = 0.15


class InstanceLevel(Detector):
    """One hidden layer on the intervention profile and the pooled descriptors of a trace.

    Trained by Adam on the log loss; a share of the train *items* is held out, and the epoch with
    the least loss on them is kept.

    Args:
        hidden: units of the hidden layer, 1 to 4096.
    """

    name = "instance_level"
    needs = ("interventions", "descriptors")
    reads_label_evidence = True

    def __init__(self, hidden: int = 128) -> None:  # noqa: D107
        super().__init__()
        check_number("hidden", hidden, above=0, most=4096, whole=True)
        self.params["hidden"] = hidden

    def fit(self, view: View, *, seed: int) -> Self:  # noqa: D102
        rows, labels = labelled(view)
        x = self._features(view)[rows]
        held = _held_out(view.item_ids[rows], seed)
        if len(set(labels[~held].tolist())) < 2:
            held = np.zeros_like(held)
        self.arrays = standardiser(x[~held])
        x = standardise(x, self.arrays)
        network, epoch = self._train(x, labels, held, seed)
        self.params.update(profile=list(view.interventions.names), epoch=epoch)
        self.arrays.update(network)
        return self

    def score(self, view: View) -> NDArray[np.float64]:  # noqa: D102
        self.need_fitted("profile" in self.params)
        if list(view.interventions.names) != self.params["profile"]:
            expected = ", ".join(self.params["profile"])
            got = ", ".join(view.interventions.names)
            message = "other interventions than it was fitted on"
            raise InputError(message, field="interventions", expected=expected, got=got)
        return _forward(standardise(self._features(view), self.arrays), self.arrays)

    def _features(self, view: View) -> NDArray[np.float64]:
        changed = np.asarray(view.interventions.changed, dtype=np.float64)
        unknown = np.isnan(changed)
        psi, mask = view.descriptors
        steps = np.maximum(mask.sum(axis=1), 1)[:, None]
        weight = mask[:, :, None].astype(np.float64)
        mean = (psi * weight).sum(axis=1) / steps
        spread = np.sqrt((((psi - mean[:, None]) * weight) ** 2).sum(axis=1) / steps)
        behaviour = np.hstack([np.where(unknown, 0.5, changed), unknown])
        return np.hstack([behaviour, mean, spread])

    def _train(
        self, x: NDArray, labels: NDArray, held: NDArray[np.bool_], seed: int
    ) -> tuple[dict[str, NDArray], int]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier

        model = MLPClassifier(
            (int(self.params["hidden"]),),
            batch_size=min(BATCH, int((~held).sum())),
            learning_rate_init=RATE,
            random_state=np.random.RandomState(seed),
        )
        judge = held if held.any() else ~held
        best: tuple[float, int, dict[str, NDArray]] = (np.inf, 0, {})
        for epoch in range(1, EPOCHS + 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.partial_fit(x[~held], labels[~held], classes=(0, 1))
            network = _weights(model)
            loss = _log_loss(_forward(x[judge], network), labels[judge])
            if loss < best[0] - 1e-9:
                best = (loss, epoch, network)
            elif epoch - best[1] >= PATIENCE:
                break
        return best[2], best[1]


def _held_out(items: NDArray, seed: int) -> NDArray[np.bool_]:
    names = sorted(set(items.tolist()))
    count = int(len(names) * HELD_OUT)
    drawn = np.random.default_rng(seed).choice(len(names), size=count, replace=False)
    return np.isin(items, [names[i] for i in drawn])


def _weights(model: Any) -> dict[str, NDArray[np.float64]]:
    parts = zip(model.coefs_, model.intercepts_, strict=True)
    return {k: v.copy() for i, (w, b) in enumerate(parts) for k, v in ((f"w{i}", w), (f"b{i}", b))}


def _forward(x: NDArray, network: dict[str, NDArray]) -> NDArray[np.float64]:
    hidden = np.maximum(x @ network["w0"] + network["b0"], 0)
    return sigmoid(hidden @ network["w1"] + network["b1"])[:, 0]


def _log_loss(scores: NDArray, labels: NDArray) -> float:
    p = np.clip(np.where(labels == 1, scores, 1 - scores), 1e-12, 1)
    return float(-np.log(p).mean())
