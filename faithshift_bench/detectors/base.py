"""What a detector is: it reads a view, gives scores, and is saved as arrays and JSON."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from faithshift_data.atomic import canonical_json, json_sha256, write_bytes, write_text
from faithshift_data.errors import InputError
from faithshift_data.measure.local_model import need_device

if TYPE_CHECKING:
    from faithshift_bench.explain.inputs import Differentiable
    from faithshift_data.views import View

ARRAYS, DESCRIPTION = "arrays.safetensors", "detector.json"
# A report on it, from `faithshift evaluate --json`, that may lie beside the two.
REPORT = "report.json"
# The key of ``params`` that holds the names of the interventions a detector was fitted on.
PROFILE = "profile"
# The digest of what was learned, by which a saved detector that was altered is known.
DIGEST = "digest"
# What a file may say beyond the identity that another file has to share.
LEARNED = ("params", "fitted", "training", DIGEST)

# Called after each epoch: the epoch, the most there can be, and figures such as the loss.
Progress = Callable[[int, int, Mapping[str, float]], None]


class Detector(ABC):
    """Says how probable it is that a trace is faithful.

    A subclass sets the class attributes, and writes `fit` and `score`. All that a user chooses
    and that `fit` learns goes into ``self.params`` (plain JSON values) and ``self.arrays``: the
    two are what `save` keeps, with ``self.fitted``: on which data and with which seed, as
    `run_detector` fills it in, and with ``self.training``.

    A detector that trains by epochs calls ``self.progress`` after each one and leaves in
    ``self.training``: ``epoch`` (the one that was kept, 0 for the start), ``epochs`` (how many
    ran), ``of`` (how many could have), ``chosen_by`` (the curve that decided), ``better`` (lower
    or higher) and ``curves`` (name -> a value an epoch). One of several detectors leaves
    ``members``, a list of these. If its `fit` has a keyword ``tune``, it is given the labelled
    view of the tune fold, to stop early on.

    Attributes:
        name: the name in the registry.
        revision: goes up when the same data would give other scores.
        needs: parts of a view it reads: text, interventions, descriptors, states. This and the
            next may hang on parameters, so ask an instance.
        reads_label_evidence: whether it reads evidence of the kind that constructed labels rest
            on. Tables mark such a detector, and no claim ranks it against the others there. One
            that needs ``true_environments`` does, and is refused where it does not say so.
        deterministic: whether seeds leave it the same, so that its floor over training seeds is 0.
        devices: kinds of device it can compute on.
        device: the one it was told to use, such as ``cpu`` or ``cuda:1``.
    """

    name: ClassVar[str]
    revision: ClassVar[str] = "1"
    needs: tuple[str, ...] = ("text",)
    reads_label_evidence: bool = False
    deterministic: bool = False
    devices: tuple[str, ...] = ("cpu",)

    def __init__(self) -> None:
        """Make a detector that has not been fitted."""
        self.params: dict[str, Any] = {}
        self.arrays: dict[str, NDArray] = {}
        self.fitted: dict[str, Any] = {}
        self.training: dict[str, Any] = {}
        self.progress: Progress = lambda epoch, of, figures: None
        self.device = "cpu"

    @abstractmethod
    def fit(self, view: View, *, seed: int) -> Self:
        """Learn from a view of the train split; rows of unknown label (-1) are left out.

        Args:
            view: rows with labels.
            seed: decides all that is random; the same seed and view give the same scores.

        Returns:
            The detector itself.

        Raises:
            InputError: the view holds no labelled row, or rows of one label only where two are
                needed.
        """

    @abstractmethod
    def score(self, view: View) -> NDArray[np.float64]:
        """Probability in [0, 1] that each trace is faithful, shape (n,), in the view's order."""

    def need_fitted(self, fitted: bool) -> None:
        """Refuse to score before `fit` or `load`."""
        if not fitted:
            raise InputError("fit or load it first", file=self.name)

    def confidence(self, view: View) -> NDArray[np.float64] | None:
        """Confidence in [0, 1] of each verdict, shape (n,); None: the margin around tau."""
        return None

    def differentiable(self, view: View) -> Differentiable | None:
        """How the score of one trace hangs on its inputs, for `faithshift explain`.

        Args:
            view: one row.

        Returns:
            None where the score is no differentiable function of what it reads.
        """
        return None

    @property
    def n_parameters(self) -> int:
        """How many numbers it learned, those that only put features on a scale left out."""
        return sum(a.size for name, a in self.arrays.items() if name not in ("mean", "scale"))

    def save(self, folder: str | Path) -> Path:
        """Write ``detector.json`` and ``arrays.safetensors`` into ``folder``.

        Raises:
            InputError: an array holds numbers that are not finite; nothing is written.
        """
        from safetensors.numpy import save

        folder = Path(folder)
        _need_finite(self.arrays, self.name)
        whole = save({name: np.ascontiguousarray(array) for name, array in self.arrays.items()})
        write_bytes(folder / ARRAYS, whole)
        about = {**self._description(), DIGEST: _digest(self.params, whole)}
        write_text(folder / DESCRIPTION, canonical_json(about))
        return folder

    def load(self, folder: str | Path) -> Self:
        """Take what `save` wrote into a folder; returns the detector itself.

        Raises:
            InputError: the folder is not one, is of another detector or revision, or holds other
                parameters or arrays than were saved.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load

        path = Path(folder) / DESCRIPTION
        try:
            found = json.loads(path.read_text())
            whole = path.with_name(ARRAYS).read_bytes()
            arrays = load(whole)
        except (OSError, ValueError, SafetensorError) as error:
            raise InputError(f"not a saved detector: {error}", file=path) from error
        for key, expected in self._description().items():
            got = found.get(key) if isinstance(found, dict) else None
            if key not in LEARNED and got != expected:
                message = "saved by another detector"
                raise InputError(message, file=path, field=key, expected=expected, got=got)
        if not isinstance(found.get("params"), dict):
            raise InputError("not a saved detector: no parameters", file=path, field="params")
        for name in ("fitted", "training"):
            if not isinstance(found.get(name, {}), dict):
                raise InputError("not a saved detector: no mapping", file=path, field=name)
        _need_finite(arrays, path.with_name(ARRAYS))
        if found.get(DIGEST) != _digest(found["params"], whole):
            message = "parameters or arrays are not those that were saved"
            raise InputError(message, file=path, field=DIGEST)
        self.params, self.arrays = found["params"], arrays
        self.fitted, self.training = found.get("fitted", {}), found.get("training", {})
        return self

    def _description(self) -> dict[str, object]:
        about: dict[str, object] = {"name": self.name, "revision": self.revision}
        about["params"] = self.params
        kept = {"fitted": self.fitted, "training": self.training}
        return {**about, **{name: value for name, value in kept.items() if value}}


def _need_finite(arrays: Mapping[str, NDArray], file: object) -> None:
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError("holds numbers that are not finite", file=file, field=name)


def _digest(params: Mapping[str, Any], arrays: bytes) -> str:
    """Of the parameters, as JSON, and of the bytes of the file of arrays."""
    read_back = json.loads(canonical_json(params))
    return json_sha256([read_back, hashlib.sha256(arrays).hexdigest()])


def labelled(view: View, *, both: bool = True) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
    """Row numbers of known label, in the order of trace_id, and their labels (0 or 1).

    Args:
        view: rows with labels.
        both: refuse labels that are all the same.

    Raises:
        InputError: too few labels to learn from.
    """
    by_id = np.argsort(view.trace_ids, kind="stable")
    rows = by_id[view.labels[by_id] >= 0]
    labels = view.labels[rows]
    seen = sorted(set(labels.tolist()))
    if not seen or (both and len(seen) < 2):
        expected = "labels 0 and 1" if both else "at least one label"
        message = "nothing to learn from; `--fit-on mini` fits on labelled data"
        raise InputError(message, file=view.split, field="label", expected=expected, got=seen)
    return rows, labels


def check_device(detector: Detector, device: str) -> None:
    """Refuse a device that the detector does not run on, or that is not there.

    Raises:
        InputError: naming the kinds it runs on.
    """
    kind = device.partition(":")[0]
    if kind not in detector.devices:
        message = f"{detector.name} does not run there"
        expected = " or ".join(detector.devices)
        raise InputError(message, field="device", expected=expected, got=device)
    need_device(device)


def need_torch(detector: str) -> None:
    """Refuse in one line what cannot be computed without torch.

    Raises:
        InputError: torch is not installed.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        message = "needs torch: pip install 'faithshift[detectors]'"
        raise InputError(message, file=detector) from error
