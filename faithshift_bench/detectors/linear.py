"""Detectors that are a logistic regression on features of their own."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.detectors.base import Detector, labelled
from faithshift_bench.detectors.variance import BOOT, NONE, resample
from faithshift_bench.explain.inputs import Differentiable, Feature, linear
from faithshift_bench.options import check_choice, check_number

if TYPE_CHECKING:
    from faithshift_data.views import View


def standardiser(x: NDArray) -> dict[str, NDArray[np.float64]]:
    """Column means and scales of the rows ``x`` (n, k); a constant column gets scale 1."""
    x = np.asarray(x, dtype=np.float64)
    scale = x.std(axis=0)
    return {"mean": x.mean(axis=0), "scale": np.where(scale > 1e-12, scale, 1.0)}


def standardise(x: NDArray, arrays: dict[str, NDArray]) -> NDArray[np.float64]:
    """Features by the train rows' mean and scale, clipped to [-8, 8]; shape (n, k)."""
    return np.clip((np.asarray(x, dtype=np.float64) - arrays["mean"]) / arrays["scale"], -8, 8)


def sigmoid(z: ArrayLike) -> NDArray[np.float64]:
    """1 / (1 + exp(-z)) without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(z, dtype=np.float64)))


class LinearDetector(Detector):
    """L2 logistic regression; a subclass gives `features`.

    The fit is convex, so that seeds do not change it: its floor over training seeds is 0.

    Args:
        C: inverse strength of the L2 penalty, over 0 and at most 1e9.
        vary: what the seed of `fit` decides: ``none``: nothing; ``boot``: which train items are
            learned from, as many as there are, drawn with replacement.
    """

    def __init__(self, C: float = 1.0, vary: str = NONE) -> None:  # noqa: D107
        super().__init__()
        check_number("C", C, above=0, most=1e9)
        check_choice("vary", vary, (NONE, BOOT))
        self.params.update(C=C, vary=vary)
        self.deterministic = vary == NONE

    @abstractmethod
    def features(self, view: View) -> NDArray[np.float64]:
        """Features of every row, shape (n, k), finite."""

    def fit(self, view: View, *, seed: int) -> Self:  # noqa: D102
        from sklearn.linear_model import LogisticRegression

        rows, labels = labelled(view)
        if self.params["vary"] == BOOT:
            drawn = resample(view.item_ids[rows], labels, seed)
            rows, labels = rows[drawn], labels[drawn]
        x = self.features(view)[rows]
        arrays = standardiser(x)
        model = LogisticRegression(C=float(self.params["C"]), max_iter=2000)
        model.fit(standardise(x, arrays), labels)
        self.arrays = {**arrays, "weight": model.coef_[0], "bias": model.intercept_}
        return self

    def score(self, view: View) -> NDArray[np.float64]:  # noqa: D102
        self.need_fitted("weight" in self.arrays)
        x = standardise(self.features(view), self.arrays)
        return sigmoid(x @ self.arrays["weight"] + self.arrays["bias"])

    def feature_names(self, view: View) -> list[Feature]:
        """What the k columns of `features` are; numbered where a subclass does not say."""
        return [Feature(self.name, str(k + 1)) for k in range(self.arrays["weight"].size)]

    def differentiable(self, view: View) -> Differentiable | None:  # noqa: D102
        self.need_fitted("weight" in self.arrays)
        x = standardise(self.features(view), self.arrays)[0]
        value = linear(self.arrays["weight"], float(self.arrays["bias"][0]))
        return Differentiable(x, np.zeros_like(x), self.feature_names(view), value)
