"""A small network on how the answer behaves under intervention, and how the states move."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.counterfactual import PLAIN, Counterfactual
from faithshift_bench.detectors.pooling import over_steps
from faithshift_bench.detectors.variance import ALL
from faithshift_bench.explain.inputs import Feature, psi_feature
from faithshift_data.measure.descriptors import CHANNELS

if TYPE_CHECKING:
    from faithshift_data.views import View


class InstanceLevel(Counterfactual):
    """One hidden layer on the intervention profile and the pooled descriptors of a trace.

    Trained and chosen as `Counterfactual`, whose arguments it takes.

    Args:
        hidden: units of the hidden layer, 1 to 4096.
        objective: as there.
        irm_weight: as there.
        dann_weight: as there.
        vary: as there.
    """

    name = "instance_level"
    revision = "2"
    needs: tuple[str, ...] = ("interventions", "descriptors")

    def __init__(  # noqa: D107
        self,
        hidden: int = 128,
        objective: str = PLAIN,
        irm_weight: float = 1.0,
        dann_weight: float = 0.5,
        vary: str = ALL,
    ) -> None:
        super().__init__(hidden, objective, irm_weight, dann_weight, vary)

    def features(self, view: View) -> NDArray[np.float64]:
        """The profile, if the data hold one, then mean and spread of each channel over the steps.

        Returns:
            Shape (n, 2 x interventions + 2 x channels).
        """
        behaviour = [super().features(view)] if view.interventions.names else []
        return np.hstack([*behaviour, *over_steps(*view.descriptors)])

    def feature_names(self, view: View) -> list[Feature]:  # noqa: D102
        width = view.descriptors[0].shape[2]
        channels = CHANNELS if width == len(CHANNELS) else [f"psi {k + 1}" for k in range(width)]
        return super().feature_names(view) + [
            replace(feature, channel=f"{feature.channel}, {moment} of steps")
            for moment in ("mean", "spread")
            for feature in map(psi_feature, channels)
        ]
