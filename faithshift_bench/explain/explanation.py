"""explain(): a score taken apart by family, channel, layer band and step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from faithshift_bench.detectors.failures import in_one_line
from faithshift_bench.detectors.linear import sigmoid
from faithshift_bench.explain.gradients import integrated_gradients
from faithshift_bench.explain.inputs import Feature
from faithshift_data.errors import InputError
from faithshift_data.measure.spans import MAX_STEPS
from faithshift_data.schema import SPLITS

if TYPE_CHECKING:
    from faithshift_bench.detectors import Detector
    from faithshift_data import FaithShift

# How far a detector's score may be from what its differentiable function gives.
SAME = 1e-4


@dataclass(frozen=True)
class Part:
    """What one input adds to the log-odds of faithful."""

    feature: Feature
    value: float


@dataclass(frozen=True)
class Explanation:
    """Why a trace has its score.

    Attributes:
        detector: its name.
        seed: of its training, where it is known.
        trace_id: of the trace.
        score: probability that it is faithful.
        log_odds: of the score.
        baseline: log-odds of a trace that is the mean of train in everything.
        error: how far the parts, added up, are from ``log_odds - baseline``.
        tolerance: what the error had to stay under.
        points: at which gradients were taken.
        parts: in the order of the detector's inputs.
        steps: texts of the steps that ``Feature.step`` counts; empty where they are not known.
    """

    detector: str
    seed: int | None
    trace_id: str
    score: float
    log_odds: float
    baseline: float
    error: float
    tolerance: float
    points: int
    parts: tuple[Part, ...]
    steps: tuple[str, ...]

    def by(self, *keys: str) -> dict[tuple[Any, ...], float]:
        """Sums of the parts over features that agree in ``keys``, in the parts' order.

        Args:
            keys: attributes of `Feature`.
        """
        sums: dict[tuple[Any, ...], float] = {}
        for part in self.parts:
            key = tuple(getattr(part.feature, name) for name in keys)
            sums[key] = sums.get(key, 0.0) + part.value
        return sums

    def to_dict(self) -> dict[str, Any]:
        """Plain values; a part is its feature's attributes and its value."""
        parts = [{**asdict(part.feature), "value": part.value} for part in self.parts]
        return {**asdict(self), "parts": parts, "steps": list(self.steps)}


def explain(detector: Detector, data: FaithShift, trace_id: str) -> Explanation:
    """Take apart the score of one trace of any split.

    Args:
        detector: a fitted one.
        data: an open dataset.
        trace_id: of a trace.

    Raises:
        InputError: no such trace, one that could not be measured, a detector that cannot be
            explained, or contributions that do not add up.
    """
    from faithshift_bench.detectors.saved import fitting_views

    split, steps = find_trace(data, trace_id)
    view = data.view(split, needs=detector.needs, only=(trace_id,))
    if len(view) == 0:
        message = "has no descriptors: it could not be measured"
        raise InputError(message, file=data.name, row=trace_id)
    (view,) = fitting_views(detector, [view], data)
    with in_one_line(detector.name, "explain"):
        found, score = detector.differentiable(view), float(detector.score(view)[0])
    if found is None:
        message = "cannot be explained: it does not say how its score hangs on what it reads"
        raise InputError(message, file=detector.name)
    given = integrated_gradients(found)
    if abs(sigmoid(given.log_odds) - score) > SAME:
        message = "cannot be explained: its function gives another score"
        got = f"{sigmoid(given.log_odds):.4f}"
        raise InputError(message, file=detector.name, expected=f"{score:.4f}", got=got)
    return Explanation(
        detector=detector.name,
        seed=detector.fitted.get("seed"),
        trace_id=trace_id,
        score=score,
        log_odds=given.log_odds,
        baseline=given.baseline,
        error=given.error,
        tolerance=given.tolerance,
        points=given.points,
        parts=tuple(map(Part, found.features, np.asarray(given.values).tolist())),
        steps=_texts(steps, found.features),
    )


def find_trace(data: FaithShift, trace_id: str) -> tuple[str, Sequence[str]]:
    """The split of a trace, and its steps.

    Raises:
        InputError: no such trace.
    """
    import pyarrow.compute as pc

    for split in SPLITS:
        table = data.table("traces", split)
        found = table.filter(pc.equal(table["trace_id"], trace_id)).select(["steps"]).to_pylist()
        if found:
            return split, found[0]["steps"]
    first = data.table("traces", "test")["trace_id"]
    expected = f"such as {first[0]}" if len(first) else "one of its traces"
    raise InputError(
        "no such trace", file=data.name, field="trace", expected=expected, got=trace_id
    )


def _texts(steps: Sequence[str], features: Sequence[Feature]) -> tuple[str, ...]:
    """Texts of the steps of descriptors, which are merged evenly where there are too many."""
    count = 1 + max((f.step for f in features if f.step is not None), default=-1)
    if count == len(steps):
        return tuple(steps)
    if count != MAX_STEPS or len(steps) < count:
        return ()
    groups = np.array_split(np.arange(len(steps)), count)
    return tuple("".join(steps[k] for k in group) for group in groups)
