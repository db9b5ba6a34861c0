"""A small network on how the answer behaves when the reasoning or the prompt is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.base import Detector, labelled, need_torch
from faithshift_bench.detectors.linear import standardise, standardiser
from faithshift_bench.detectors.network import forward, held_out, train
from faithshift_bench.detectors.sift.plan import Plan
from faithshift_bench.detectors.variance import ALL, check_vary, source_seeds
from faithshift_bench.explain.inputs import Differentiable, Feature, one_hidden_layer
from faithshift_bench.options import check_choice, check_number
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_data.views import View

PLAIN = "none"
OBJECTIVES = ("erm", "irm", "irm-unbiased", "dann", "group_dro")


class Counterfactual(Detector):
    """One hidden layer on the intervention profile: which changes of a trace moved its answer.

    Whatever interventions the data hold are read; that the effect of one is unknown is a value of
    its own. The epoch with the least loss on the tune fold is kept; without a tune fold, a share
    of the train *items* is held out for it.

    Args:
        hidden: units of the hidden layer, 1 to 4096.
        objective: ``none``: the log loss, by scikit-learn. Any other, such as ``irm``, ``dann``,
            ``irm+dann`` or ``group_dro``, is trained by torch over the environments of the train
            rows; what it acts on is the hidden layer.
        irm_weight: of the penalty of ``irm`` (S eq. 16).
        dann_weight: of the adversary of ``dann`` (S eq. 25).
        vary: what the seed of `fit` decides: ``all``, or one of ``init`` (first weights),
            ``order`` (of rows) and ``held`` (items held out where there is no tune fold), while
            the others are fixed.
    """

    name = "counterfactual"
    needs: tuple[str, ...] = ("interventions",)
    reads_label_evidence = True
    sources: ClassVar[tuple[str, ...]] = ("init", "order", "held")

    def __init__(  # noqa: D107
        self,
        hidden: int = 64,
        objective: str = PLAIN,
        irm_weight: float = 1.0,
        dann_weight: float = 0.5,
        vary: str = ALL,
    ) -> None:
        super().__init__()
        check_number("hidden", hidden, above=0, most=4096, whole=True)
        check_vary(vary, self.sources)
        self.params.update(hidden=hidden, objective=objective, vary=vary)
        if objective != PLAIN:
            weights: dict[str, Any] = {"irm_weight": irm_weight, "dann_weight": dann_weight}
            plan = Plan(objective=str(objective), **weights)
            if not set(plan.terms or (objective,)) <= set(OBJECTIVES):
                check_choice("objective", objective, (PLAIN, *OBJECTIVES, "irm+dann"))
            self.params.update(weights)
            self.needs = (*self.needs, "environments")

    def features(self, view: View) -> NDArray[np.float64]:
        """Whether each intervention moved the answer (0.5: unknown), then whether that is unknown.

        Returns:
            Shape (n, 2 x interventions).

        Raises:
            InputError: the data hold no interventions.
        """
        changed = np.asarray(view.interventions.changed, dtype=np.float64)
        if not changed.shape[1]:
            message = "no interventions; `faithshift measure` adds them"
            raise InputError(message, file=self.name, field="interventions")
        unknown = np.isnan(changed)
        return np.hstack([np.where(unknown, 0.5, changed), unknown])

    def feature_names(self, view: View) -> list[Feature]:
        """What the columns of `features` are."""
        names = view.interventions.names
        return [
            Feature("intervention", f"{name}{end}") for end in ("", " unknown") for name in names
        ]

    def fit(self, view: View, *, seed: int, tune: View | None = None) -> Self:  # noqa: D102
        seeds = source_seeds(seed, self.params["vary"], self.sources)
        rows, labels = labelled(view)
        x, held, judged = self.features(view)[rows], np.zeros(len(rows), bool), "tune_loss"
        if tune is not None and (tune.labels >= 0).any():
            judges, known = labelled(tune, both=False)
            x, labels = np.vstack([x, self.features(tune)[judges]]), np.append(labels, known)
            held = np.append(held, np.ones(len(judges), bool))
        else:
            held, judged = held_out(view.item_ids[rows], labels, seeds["held"]), "held_loss"
        scales = standardiser(x[~held])
        how: dict[str, Any] = {"hidden": int(self.params["hidden"]), "judged": judged}
        how |= {"init": seeds["init"], "order": seeds["order"], "progress": self.progress}
        if self.params["objective"] == PLAIN:
            network, self.training = train(standardise(x, scales), labels, held, **how)
        else:
            need_torch(self.name)
            from faithshift_bench.detectors.sift.mlp import train_mlp

            how |= {name: self.params[name] for name in ("objective", "irm_weight", "dann_weight")}
            names = [*view.environments.names[rows].tolist(), *[""] * (len(x) - len(rows))]
            x = standardise(x, scales)
            network, _, self.training = train_mlp(x, labels, names, held, **how)
        self.params["profile"] = list(view.interventions.names)
        self.arrays = {**scales, **network}
        return self

    def score(self, view: View) -> NDArray[np.float64]:  # noqa: D102
        return forward(self._inputs(view), self.arrays)

    def differentiable(self, view: View) -> Differentiable | None:  # noqa: D102
        x = self._inputs(view)[0]
        value = one_hidden_layer(self.arrays)
        return Differentiable(x, np.zeros_like(x), self.feature_names(view), value)

    def _inputs(self, view: View) -> NDArray[np.float64]:
        self.need_fitted("profile" in self.params)
        if list(view.interventions.names) != self.params["profile"]:
            expected = ", ".join(self.params["profile"])
            got = ", ".join(view.interventions.names)
            message = "other interventions than it was fitted on"
            raise InputError(message, field="interventions", expected=expected, got=got)
        x = self.features(view)
        if x.shape[1] != self.arrays["mean"].size:
            expected, got = str(self.arrays["mean"].size), str(x.shape[1])
            message = "other descriptors than it was fitted on"
            raise InputError(message, field="features", expected=expected, got=got)
        return standardise(x, self.arrays)
