"""Detectors by name: those that ship here, and those that installed packages bring."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from faithshift_bench.detectors.base import DESCRIPTION, PROFILE, Detector
from faithshift_data.errors import InputError

GROUP = "faithshift.detectors"
# The need that shows what constructed labels rest on: the condition that made a trace.
TRUE = "true_environments"

_HERE = "faithshift_bench.detectors"
CONTROLS = {
    "constant": f"{_HERE}.controls:Constant",
    "random": f"{_HERE}.controls:Random",
    "length_only": f"{_HERE}.controls:LengthOnly",
    "edit_distance": f"{_HERE}.controls:EditDistance",
    "label_prior": f"{_HERE}.controls:LabelPrior",
}
BASELINES = {
    "biasing": f"{_HERE}.biasing:Biasing",
    "counterfactual": f"{_HERE}.counterfactual:Counterfactual",
    "hidden_state": f"{_HERE}.hidden_state:HiddenState",
    "instance_level": f"{_HERE}.instance_level:InstanceLevel",
    "attribution": f"{_HERE}.attribution:Attribution",
}
SIFT = {
    "sift_t7": f"{_HERE}.sift.detector:SiftT7",
    "sift_small": f"{_HERE}.sift.detector:SiftSmall",
}
ENSEMBLES = {
    "ensemble": f"{_HERE}.ensemble:Ensemble",
    "seed2": f"{_HERE}.ensemble:Seed2",
    "seed4": f"{_HERE}.ensemble:Seed4",
    "irm_seed4": f"{_HERE}.ensemble:IrmSeed4",
    "detectors4": f"{_HERE}.ensemble:Detectors4",
}
METRICS = {
    "hint_acknowledgement": "faithshift_bench.agreement.detectors:HintAcknowledgement",
    "filler_tokens": "faithshift_bench.agreement.detectors:FillerTokens",
    "early_answering": "faithshift_bench.agreement.detectors:EarlyAnswering",
}
BUILT_IN = {**CONTROLS, **BASELINES, **SIFT, **ENSEMBLES, **METRICS}


def list_detectors() -> tuple[str, ...]:
    """Names of all detectors: the built-in ones in table order, then plug-ins by name."""
    return tuple(_targets())


def detector_class(name: str) -> type[Detector]:
    """The class behind a name.

    Raises:
        InputError: no such name (near names are suggested), or what is registered under it is no
            detector of that name.
    """
    targets = _targets()
    if name not in targets:
        near = difflib.get_close_matches(name, targets, n=3, cutoff=0.5)
        hint = "one of " + ", ".join(near or targets)
        raise InputError("no such detector", field="detector", expected=hint, got=name)
    module, _, attribute = targets[name].partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"cannot be imported: {error}", file=targets[name]) from error
    wanted = ("fit", "score", "confidence", "save", "load", "revision", "needs")
    missing = [part for part in wanted if not hasattr(found, part)]
    if missing or getattr(found, "name", None) != name:
        expected = f"a detector named {name}"
        got = f"without {', '.join(missing)}" if missing else getattr(found, "name", None)
        raise InputError("not a detector", file=targets[name], expected=expected, got=got)
    return found


def load_detector(name: str, **params: float | int | str) -> Detector:
    """Make an unfitted detector, for instance ``load_detector("biasing", C=0.5)``.

    Raises:
        InputError: no such detector, or it takes no such parameter, or it needs the true
            environments and is not marked.
    """
    made = detector_class(name)
    accepted = accepted_by(made)
    for param in params:
        if accepted is not None and param not in accepted:
            expected = ", ".join(accepted) or "no parameters"
            raise InputError("no such parameter", file=name, expected=expected, got=param)
    return _marked(made(**params))  # type: ignore[arg-type]


def accepted_by(made: type[Detector]) -> tuple[str, ...] | None:
    """Names of the parameters of a detector; None where it takes others' and checks by itself."""
    found = inspect.signature(made).parameters.values()
    if any(param.kind is param.VAR_KEYWORD for param in found):
        return None
    return tuple(param.name for param in found)


def chosen_params(made: type[Detector], params: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a detector's parameters that a user chose, without what it learned."""
    accepted = accepted_by(made)
    return {
        name: value
        for name, value in params.items()
        if (name != PROFILE if accepted is None else name in accepted)
    }


def load_saved(folder: str | Path) -> Detector:
    """A fitted detector from the folder it was saved to, by the name written there.

    Raises:
        InputError: no folder of a saved detector, or of one that is not installed.
    """
    path = Path(folder) / DESCRIPTION
    try:
        about = json.loads(path.read_text("utf-8"))
        name, params = str(about["name"]), dict(about["params"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"not a saved detector: {error!r}", file=path) from None
    made = detector_class(name)
    return _marked(made(**chosen_params(made, params)).load(folder))


def _marked(detector: Detector) -> Detector:
    """The detector itself; refuses one that can see a trace's condition and does not say so."""
    if TRUE in detector.needs and not detector.reads_label_evidence:
        expected = f"reads_label_evidence = True, for it needs {TRUE}"
        raise InputError("unmarked", file=detector.name, expected=expected, got=False)
    return detector


def _targets() -> dict[str, str]:
    targets = dict(BUILT_IN)
    for point in sorted(_plugins(), key=lambda point: (point.name, point.value)):
        if point.name in targets and targets[point.name] != point.value:
            got = f"{targets[point.name]} and {point.value}"
            raise InputError("two detectors of one name", file=GROUP, field=point.name, got=got)
        targets[point.name] = point.value
    return targets


@cache
def _plugins() -> list[EntryPoint]:
    return list(entry_points(group=GROUP))
