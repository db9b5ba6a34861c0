"""A linear probe on the model's own last-layer state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.linear import LinearDetector
from faithshift_bench.detectors.variance import NONE
from faithshift_bench.explain.inputs import Feature
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_data.views import View


class HiddenState(LinearDetector):
    """L2 logistic regression on the last layer's states, averaged over the reasoning's tokens.

    Args:
        C: inverse strength of the L2 penalty; small, for there are more states than traces.
        vary: as of `LinearDetector`.
    """

    name = "hidden_state"
    needs = ("states",)

    def __init__(self, C: float = 0.01, vary: str = NONE) -> None:  # noqa: D107
        super().__init__(C, vary)

    def features(self, view: View) -> NDArray[np.float64]:
        """The states, shape (n, d).

        Raises:
            InputError: the detector was fitted on states of another width.
        """
        states = np.asarray(view.states, dtype=np.float64)
        if self.arrays and states.shape[1] != self.arrays["mean"].shape[0]:
            expected, got = self.arrays["mean"].shape[0], states.shape[1]
            message = "states of another model"
            raise InputError(message, field="states", expected=f"width {expected}", got=got)
        return states

    def feature_names(self, view: View) -> list[Feature]:  # noqa: D102
        return [Feature("state", f"unit {k}") for k in range(self.arrays["weight"].size)]
