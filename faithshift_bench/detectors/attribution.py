"""Does attention keep its course? A learned threshold on how the model looked at its trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.linear import LinearDetector
from faithshift_bench.detectors.variance import NONE
from faithshift_bench.explain.inputs import Feature
from faithshift_bench.options import check_choice
from faithshift_data.errors import InputError
from faithshift_data.measure.descriptors import CHANNELS
from faithshift_data.measure.spans import BLOCKS

if TYPE_CHECKING:
    from faithshift_data.views import View

VARIANTS = ("stability", "rollout")
STABILITY = [
    k for k, name in enumerate(CHANNELS) if name.startswith("stability.") and name.endswith(".mean")
]


class Attribution(LinearDetector):
    """Logistic regression on attention stability, one number a trace: a learned threshold.

    Stability is the share of its attention profile that a token's successor keeps (S eq. 20),
    averaged over heads, layers and the steps of the reasoning, in [0, 1].

    Args:
        variant: ``stability``; or ``rollout``, another quantity: through all layers, how much of
            what the last token of the reasoning holds comes from question, cue, instruction and
            reasoning. Data that do not store it are refused.
        C: inverse strength of the L2 penalty.
        vary: as of `LinearDetector`.
    """

    name = "attribution"
    needs: tuple[str, ...] = ("descriptors",)

    def __init__(  # noqa: D107
        self, variant: str = "stability", C: float = 1.0, vary: str = NONE
    ) -> None:
        super().__init__(C, vary)
        check_choice("variant", variant, VARIANTS)
        self.params["variant"] = variant

    def features(self, view: View) -> NDArray[np.float64]:
        """Stability, shape (n, 1), 0 where no step was read; or rollout shares, (n, blocks).

        Raises:
            InputError: the descriptors have other channels than `CHANNELS`, or the data store no
                rollout.
        """
        if self.params["variant"] == "rollout":
            if view.rollout is None:
                message = "no attention rollout in the data; `faithshift measure --rollout` adds it"
                raise InputError(message, file=self.name, field="variant", got="rollout")
            return np.asarray(view.rollout, dtype=np.float64)
        psi, mask = view.descriptors
        if psi.shape[2] != len(CHANNELS):
            expected, got = f"{len(CHANNELS)} channels", psi.shape[2]
            raise InputError("other channels", field="psi", expected=expected, got=got)
        steps = np.maximum(mask.sum(axis=1), 1)
        kept = np.where(mask[:, :, None], psi[:, :, STABILITY], 0).mean(axis=2, dtype=np.float64)
        return (kept.sum(axis=1) / steps)[:, None]

    def feature_names(self, view: View) -> list[Feature]:  # noqa: D102
        if self.params["variant"] == "rollout":
            return [Feature("rollout", block) for block in BLOCKS]
        return [Feature("stability", "mean")]
