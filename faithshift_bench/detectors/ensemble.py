"""Ensembles: the mean of what several fitted detectors say."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.base import PROFILE, Detector
from faithshift_bench.detectors.failures import in_one_line
from faithshift_bench.detectors.registry import accepted_by, detector_class, load_detector
from faithshift_bench.options import check_number
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_data.views import View

OWN = ("of", "members", "gate")
# What no member is given: its own, and the interventions that its members learned from.
KEPT = (*OWN, PROFILE)
MARGIN, AGREE = "margin", "agree"


def member_folder(place: int) -> str:
    """Where, in the folder of a saved ensemble, its member number ``place`` lies."""
    return f"member-{place:02d}"


class Ensemble(Detector):
    """The mean probability of several detectors, each fitted with a seed of its own.

    Of a detector that is its member n times, an ensemble of seed s has the seeds s x n, s x n + 1
    ..., so that ensembles of different seeds share none; that of seed 0 and four members is the
    mean of the seeds 0 to 3. Threshold and certificate are found on the mean, as for any detector.

    Args:
        of: a detector's name, or several joined by ``+``.
        members: seeds of each of them, 1 to 64.
        gate: what stands for confidence. ``margin``: how far the mean is from the threshold.
            ``agree``: 1 - 2 x the standard deviation of the members' probabilities, refused where
            no two members can differ. Any other goes to the members that take a gate, and the mean
            of the confidences is taken.
        params: for the members, each to those that take it.
    """

    name = "ensemble"
    defaults: ClassVar[Mapping[str, Any]] = {
        "of": "instance_level",
        "members": 4,
        "gate": MARGIN,
    }
    fixed: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, **params: Any) -> None:  # noqa: D107
        super().__init__()
        for name in self.fixed.keys() & params.keys():
            expected, got = self.fixed[name], params[name]
            if got != expected:
                message = "fixed in this ensemble"
                raise InputError(message, file=self.name, field=name, expected=expected, got=got)
        if PROFILE in params:
            message, got = "learned, not chosen", params[PROFILE]
            raise InputError(message, file=self.name, field=PROFILE, got=got)
        self.params = {**self.defaults, **params, **self.fixed}
        self.members = self._make()
        self._fitted = False

    @property
    def n_parameters(self) -> int:
        """How many numbers its members learned."""
        return sum(member.n_parameters for member in self.members)

    def fit(self, view: View, *, seed: int, tune: View | None = None) -> Self:  # noqa: D102
        names = [member.name for member in self.members]
        for place, member in enumerate(self.members):
            at = seed * names.count(member.name) + names[:place].count(member.name)
            member.progress, member.device = self.progress, self.device
            takes_tune = "tune" in inspect.signature(member.fit).parameters
            more = {"tune": tune} if takes_tune and tune is not None else {}
            try:
                with in_one_line(member.name, "fit"):
                    member.fit(view, seed=at, **more)
            except InputError as error:
                message = f"member {place} ({member.name}, seed {at}) cannot be fitted: {error}"
                raise InputError(message, file=self.name) from error
            member.fitted = {"seed": at}
        self.training = {"members": [member.training for member in self.members]}
        profiles = [m.params[PROFILE] for m in self.members if PROFILE in m.params]
        self.params |= {PROFILE: profiles[0]} if profiles else {}
        self._fitted = True
        return self

    def score(self, view: View) -> NDArray[np.float64]:  # noqa: D102
        return self._scores(view).mean(axis=0)

    def confidence(self, view: View) -> NDArray[np.float64] | None:  # noqa: D102
        if self.params["gate"] == MARGIN:
            return None
        if self.params["gate"] == AGREE:
            return 1 - 2 * self._scores(view).std(axis=0)
        found = [member.confidence(view) for member in self.members]
        told = [each for each in found if each is not None]
        return np.mean(told, axis=0) if told else None

    def save(self, folder: str | Path) -> Path:
        """Write each member into a folder of its own, ``member-00`` and so on, then itself."""
        for place, member in enumerate(self.members):
            member.fitted = {**self.fitted, **member.fitted}
            member.save(Path(folder) / member_folder(place))
        return super().save(folder)

    def load(self, folder: str | Path) -> Self:  # noqa: D102
        super().load(folder)
        self.members = self._make()
        for place, member in enumerate(self.members):
            member.load(Path(folder) / member_folder(place))
        self._fitted = True
        return self

    def _scores(self, view: View) -> NDArray[np.float64]:
        self.need_fitted(self._fitted)
        scores = []
        for member in self.members:
            with in_one_line(member.name, "score"):
                scores.append(member.score(view))
        return np.stack(scores)

    def _make(self) -> list[Detector]:
        """Its members, unfitted: all seeds of the first detector, then those of the next."""
        of, count, gate = (self.params[name] for name in OWN)
        check_number("members", count, above=0, most=64, whole=True)
        names = [name.strip() for name in str(of).split("+")]
        classes = [detector_class(name) for name in names]
        given = {name: value for name, value in self.params.items() if name not in KEPT}
        if gate not in (MARGIN, AGREE):
            given["gate"] = gate
        taken: set[str] = set()
        members: list[Detector] = []
        for made in classes:
            accepted = accepted_by(made)
            own = {k: v for k, v in given.items() if accepted is None or k in accepted}
            taken |= own.keys()
            members += [load_detector(made.name, **own) for _ in range(count)]
        if strange := sorted(given.keys() - taken):
            message = "no member takes it"
            raise InputError(message, file=self.name, field=strange[0], got=given[strange[0]])
        # Seeds of a deterministic detector are all the same member.
        differ = {(m.name, 0 if m.deterministic else place) for place, m in enumerate(members)}
        if gate == AGREE and len(differ) < 2:
            expected = "several detectors, or one that its seed changes"
            message = "no two members can differ"
            raise InputError(message, file=self.name, field="gate", expected=expected, got=gate)
        self.needs = tuple(dict.fromkeys(need for made in members for need in made.needs))
        self.reads_label_evidence = any(made.reads_label_evidence for made in members)
        self.deterministic = all(made.deterministic for made in members)
        shared = members[0].devices
        self.devices = tuple(d for d in shared if all(d in made.devices for made in members))
        return members


class Detectors4(Ensemble):
    """The mean of four detectors that read different things: text, answers, states, attention."""

    name = "detectors4"
    defaults: ClassVar[Mapping[str, Any]] = {"gate": MARGIN}
    fixed: ClassVar[Mapping[str, Any]] = {
        "of": "biasing+counterfactual+hidden_state+attribution",
        "members": 1,
    }


class Seed2(Ensemble):
    """The mean of two seeds of a detector, `sift_small` where none is named."""

    name = "seed2"
    defaults: ClassVar[Mapping[str, Any]] = {"of": "sift_small", "gate": MARGIN}
    fixed: ClassVar[Mapping[str, Any]] = {"members": 2}


class Seed4(Ensemble):
    """The mean of four seeds of a detector, `sift_small` where none is named."""

    name = "seed4"
    defaults: ClassVar[Mapping[str, Any]] = {"of": "sift_small", "gate": MARGIN}
    fixed: ClassVar[Mapping[str, Any]] = {"members": 4}


class IrmSeed4(Ensemble):
    """The mean of four seeds of a detector trained by IRM, `sift_small` where none is named."""

    name = "irm_seed4"
    defaults: ClassVar[Mapping[str, Any]] = {"of": "sift_small", "gate": MARGIN}
    fixed: ClassVar[Mapping[str, Any]] = {"members": 4, "objective": "irm"}
