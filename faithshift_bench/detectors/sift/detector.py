"""The detector: features in, a trained network or one an environment, scores out."""

from __future__ import annotations

import inspect
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.base import Detector, need_torch
from faithshift_bench.detectors.linear import sigmoid
from faithshift_bench.detectors.sift import gate
from faithshift_bench.detectors.sift.environments import (
    ALL,
    Selection,
    environment_names,
    select,
)
from faithshift_bench.detectors.sift.features import Features, has_scalars, read
from faithshift_bench.detectors.sift.per_environment import (
    TRAINED_GUESS,
    codes_of,
    fit_guess,
    guess,
    pick,
)
from faithshift_bench.detectors.sift.plan import SOURCES, Plan
from faithshift_bench.detectors.sift.shape import FULL, SMALL, Shape
from faithshift_bench.detectors.variance import source_seeds
from faithshift_bench.options import check_choice
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_bench.detectors.sift.encoder import Network
    from faithshift_bench.detectors.sift.training import Rows
    from faithshift_bench.explain.inputs import Differentiable
    from faithshift_data.views import View

SHAPE, PLAN = (tuple(field.name for field in fields(kind)) for kind in (Shape, Plan))
ORACLE, GUESS = JIT = ("jit-oracle", "jit-pred")


class Sift(Detector):
    """Reads how the states move from step to step, and is trained to do so on any surface.

    Args:
        choices: fields of `Shape` and of `Plan`, and ``gate``: what gives the confidence,
            ``margin``, ``support`` or ``agree``.
    """

    needs: tuple[str, ...] = ("descriptors", "environments")
    devices = ("cpu", "cuda")
    default: ClassVar[Shape]

    def __init_subclass__(cls) -> None:
        """Give the class the signature of its choices."""
        defaults = {**asdict(cls.default), **asdict(Plan()), "gate": gate.GATES[0]}
        kind = inspect.Parameter.KEYWORD_ONLY
        cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, kind, default=value) for name, value in defaults.items()]
        )

    def __init__(self, **choices: float | str) -> None:  # noqa: D107
        super().__init__()
        known = inspect.signature(type(self)).parameters
        defaults = {name: parameter.default for name, parameter in known.items()}
        if unknown := sorted(set(choices) - set(defaults)):
            expected = ", ".join(defaults)
            raise InputError("no such parameter", file=self.name, expected=expected, got=unknown)
        self.params = {**defaults, **choices}
        check_choice("gate", self.params["gate"], gate.GATES)
        self._declare()

    def _declare(self) -> None:
        """What the choices make of the declared needs; refuses choices that do not fit together."""
        objective, dropout = self.plan.objective, self.shape.dropout
        if objective == ORACLE and self.plan.environments == "model":
            self.needs = (*type(self).needs, "text")
        elif objective == ORACLE:
            # The condition of a trace is what constructed labels rest on.
            self.needs = (*type(self).needs, "true_environments")
            self.reads_label_evidence = True
        if self.params["gate"] != "margin" and objective in JIT:
            message = "one detector an environment has no such gate"
            raise InputError(message, field="gate", expected="margin", got=self.params["gate"])
        if self.params["gate"] == "agree" and not (dropout and self.shape.learned):
            raise InputError("agree needs an encoder with dropout", field="dropout", got=dropout)

    @property
    def shape(self) -> Shape:
        """The parts of the network."""
        shape = Shape(**{name: self.params[name] for name in SHAPE})
        return replace(shape, dropout=0.0) if self.plan.stable else shape

    @property
    def plan(self) -> Plan:
        """How it is trained."""
        return Plan(**{name: self.params[name] for name in PLAN})

    @property
    def n_parameters(self) -> int:
        """Numbers that were trained, of all networks and of the guess at the environment."""
        from faithshift_bench.detectors.sift.encoder import count_parameters

        networks = range(len(self.params.get("networks", ())))
        guessing = (a.size for name, a in self.arrays.items() if name in TRAINED_GUESS)
        return sum(count_parameters(self.module(place)) for place in networks) + sum(guessing)

    def fit(self, view: View, *, seed: int, tune: View | None = None) -> Self:
        """Learn from train; ``tune`` chooses the epoch, or else train items that are held out.

        Args:
            view: train, with descriptors and environments.
            seed: decides all that is random, or what ``vary`` names.
            tune: the tune fold.
        """
        need_torch(self.name)
        seeds = source_seeds(seed, self.plan.vary, SOURCES)
        chosen = select(view, tune, self.plan, seeds["held"])
        self.params["scalars"] = has_scalars(view, self.shape)
        features = read(view, self.shape, scalars=self.params["scalars"])
        self.arrays = features.scales(chosen.train.rows)
        train, judge, of = features.scaled(self.arrays), None, view
        if chosen.tuned and tune is not None:
            judge, of = self._features(tune), tune
        judge = judge or train
        if self.plan.objective in JIT:
            names = environment_names(of, self.plan)[chosen.judge]
            self._fit_each(train, view.labels, judge, of.labels, names, chosen, seeds)
        else:
            self.params["networks"] = [ALL]
            rows = train.labelled(view.labels, chosen.train.rows, chosen.train.codes, chosen.pairs)
            judged = judge.labelled(of.labels, chosen.judge)
            self.training = self._train(0, rows, judged, chosen, seeds) | chosen.train.record
        if self.params["gate"] == "support":
            found = self._apply(train)[1][chosen.train.rows]
            held = self._apply(judge)[1][chosen.judge]
            self.arrays.update(gate.fit_support(found, held))
        return self

    def _fit_each(
        self,
        train: Features,
        labels: NDArray,
        judge: Features,
        judge_labels: NDArray,
        judge_names: NDArray,
        chosen: Selection,
        seeds: dict[str, int],
    ) -> None:
        """One network an environment, judged by rows of its own where there are any."""
        grouped, members = chosen.train, []
        self.params["networks"] = list(grouped.names)
        for code, name in enumerate(grouped.names):
            own = chosen.judge[judge_names == name]
            rows = train.labelled(labels, grouped.rows[grouped.codes == code])
            judged = judge.labelled(judge_labels, own if len(own) else chosen.judge)
            members.append({"environment": name, **self._train(code, rows, judged, chosen, seeds)})
        self.training = {"members": members, **grouped.record}
        if self.plan.objective == GUESS:
            self.arrays.update(fit_guess(train.pooled, grouped.codes, grouped.rows))
            right = guess(judge.pooled[chosen.judge], self.arrays)
            known = codes_of(judge_names, grouped.names)
            self.training["environment_accuracy"] = float((right == known).mean())

    def _train(
        self, place: int, rows: Rows, judge: Rows, chosen: Selection, seeds: dict[str, int]
    ) -> dict[str, Any]:
        """Train a network, keep its weights as ``network.PLACE.*``, and return its record."""
        from faithshift_bench.detectors.sift.training import train

        trained = train(
            self._blank,
            rows,
            judge,
            self.plan,
            seeds,
            judged="tune_loss" if chosen.tuned else "held_loss",
            progress=self.progress,
            device=self.device,
        )
        self.arrays.update({_place(place) + name: a for name, a in trained.arrays.items()})
        return trained.record

    def score(self, view: View) -> NDArray[np.float64]:  # noqa: D102
        self.need_fitted("networks" in self.params)
        features, names = self._features(view), self.params["networks"]
        scores = np.stack([sigmoid(self._apply(features, i)[0]) for i in range(len(names))])
        if self.plan.objective == ORACLE:
            by_model = self.plan.environments == "model"
            true = _models(view) if by_model else view.true_environments
            return pick(scores, codes_of(true, names))
        if self.plan.objective == GUESS:
            return pick(scores, guess(features.pooled, self.arrays))
        return scores[0]

    def confidence(self, view: View) -> NDArray[np.float64] | None:
        """By the gate that was chosen, in [0, 1], higher is more to be trusted; see `gate`."""
        self.need_fitted("networks" in self.params)
        if self.params["gate"] == "support":
            return gate.support(self._apply(self._features(view))[1], self.arrays)
        if self.params["gate"] == "agree":
            features, passes = self._features(view), range(gate.PASSES)
            logits = np.stack([self._apply(features, thinned=p)[0] for p in passes])
            return gate.agree(sigmoid(logits))
        return None

    def representation(self, view: View) -> NDArray[np.float64]:
        """What the score is read from, (n, width): the pooled vector (S eq. 22)."""
        self.need_fitted("networks" in self.params)
        return self._apply(self._features(view))[1]

    def differentiable(self, view: View) -> Differentiable | None:
        """Log-odds of one trace by its steps and static numbers; None of several networks."""
        from faithshift_bench.detectors.sift.gradient import differentiable

        if self.plan.objective in JIT:
            return None
        scalars = self.params["scalars"]
        return differentiable(self.module(), self._features(view), self.shape, scalars=scalars)

    def module(self, place: int = 0) -> Network:
        """A fitted network, on the CPU and in evaluation mode."""
        import torch

        self.need_fitted("networks" in self.params)
        start = _place(place)
        state = {
            name.removeprefix(start): torch.from_numpy(array)
            for name, array in self.arrays.items()
            if name.startswith(start)
        }
        network = self._blank()
        network.load_state_dict(state)
        return network.eval()

    def load(self, folder: str | Path) -> Self:  # noqa: D102
        super().load(folder)
        need_torch(self.name)
        try:
            self._declare()
            for place in range(len(self.params["networks"])):
                self.module(place)
        except (KeyError, TypeError, RuntimeError) as error:
            raise InputError(f"not a saved SIFT: {error}", file=folder) from error
        return self

    def _blank(self) -> Network:
        from faithshift_bench.detectors.sift.encoder import Network

        return Network(self.shape, len(self.shape.channels), len(self.arrays["static.mean"]))

    def _features(self, view: View) -> Features:
        return read(view, self.shape, scalars=self.params["scalars"]).scaled(self.arrays)

    def _apply(
        self, features: Features, place: int = 0, thinned: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from faithshift_bench.detectors.sift.training import apply

        network = self.module(place).to(self.device)
        return apply(network, features.tensors(), lengths=features.lengths, thinned=thinned)


class SiftT7(Sift):
    """The network of S table 7: 634,369 parameters on all channels and scalars."""

    name = "sift_t7"
    default = FULL


class SiftSmall(Sift):
    """The same parts, narrower: 26,209 parameters; S table 14 prints 28.4 thousand."""

    name = "sift_small"
    default = SMALL


def _models(view: View) -> NDArray:
    return np.array([row["model_id"] for row in view.text], dtype=str)


def _place(place: int) -> str:
    return f"network.{place}."
