"""View: the aligned rows a detector may read, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faithshift_data.environments import Environments, read_environments, read_true_environments
from faithshift_data.errors import InputError
from faithshift_data.schema import SPLITS, Fold, Role
from faithshift_data.withheld import probe_name

if TYPE_CHECKING:
    from faithshift_data.dataset import FaithShift

NEEDS = (
    "text",
    "interventions",
    "descriptors",
    "states",
    "environments",
    "true_environments",
)
# Numbers a trace beside the descriptors, which a dataset need not have.
BESIDE = ("scalars", "rollout")
STORED = {"descriptors": ("psi", *BESIDE), "states": ("state",)}
TEXT = (
    "prompt",
    "question",
    "options",
    "answer_kind",
    "reasoning",
    "steps",
    "answer",
    "model_id",
)
UNKNOWN = -1


@dataclass(frozen=True)
class InterventionProfile:
    """Which feature interventions changed the answer.

    ``names`` has one entry a column, ``kind`` or ``kind@fraction``, the same for every split of
    a dataset. ``changed`` is float32 (n, k): 1 changed, 0 kept, NaN unknown or not run; a mean
    where one intervention was run with several seeds.
    """

    names: tuple[str, ...]
    changed: np.ndarray

    def select(self, names: Sequence[str]) -> InterventionProfile:
        """The columns of some names, in their order."""
        columns = [self.names.index(name) for name in names]
        return InterventionProfile(tuple(names), _frozen(self.changed[:, columns]))


@dataclass(frozen=True)
class View:
    """Rows of one split or fold, in trace_id order.

    ``trace_ids`` and ``item_ids`` are str arrays (n,). A part that is not among ``needs`` raises.
    The view holds no condition, cue, axis, anchor or gold answer. Labels and environments are
    there only where a detector may learn from them: train and tune.
    """

    split: str
    fold: str | None
    needs: tuple[str, ...]
    trace_ids: np.ndarray
    item_ids: np.ndarray
    _parts: dict[str, Any] = field(repr=False, compare=False)

    def __len__(self) -> int:
        """Number of traces."""
        return len(self.trace_ids)

    @property
    def text(self) -> list[dict[str, Any]]:
        """One dict a trace with the keys of ``TEXT``."""
        return self._part("text")

    @property
    def interventions(self) -> InterventionProfile:
        """The profile over interventions of role ``feature``."""
        return self._part("interventions")

    @property
    def descriptors(self) -> tuple[np.ndarray, np.ndarray]:
        """Values (psi) float32 (n, 16, channels), zero padded, and mask bool (n, 16)."""
        return self._part("descriptors")

    @property
    def scalars(self) -> np.ndarray | None:
        """Numbers a trace beside ``descriptors``, float32 (n, 4); None: the dataset has none."""
        self._need("descriptors")
        return self._parts.get("scalars")

    @property
    def rollout(self) -> np.ndarray | None:
        """Attention rollout on four blocks, float32 (n, 4) of sum 1; None: the dataset has none."""
        self._need("descriptors")
        return self._parts.get("rollout")

    @property
    def states(self) -> np.ndarray:
        """Mean-pooled last-layer states, float32 (n, d)."""
        return self._part("states")

    @property
    def labels(self) -> np.ndarray:
        """int8 (n,): 1 faithful, 0 unfaithful, -1 unknown. Only for train and tune."""
        return self._to_learn_from("labels")

    @property
    def environments(self) -> Environments:
        """Environment and model of each trace, and the preserving pairs. Only train and tune."""
        self._need("environments")
        return self._to_learn_from("environments")

    @property
    def true_environments(self) -> np.ndarray:
        """Environment of each trace, str (n,), of any split: what only an oracle knows."""
        return self._part("true_environments")

    def with_interventions(self, names: Sequence[str]) -> View:
        """The same rows with some interventions alone, in the order of ``names``."""
        return replace(
            self, _parts={**self._parts, "interventions": self.interventions.select(names)}
        )

    def _part(self, name: str) -> Any:
        self._need(name)
        return self._parts[name]

    def _need(self, name: str) -> None:
        if name not in self.needs:
            raise InputError(f"{name} was not asked for", field="needs", got=list(self.needs))

    def _to_learn_from(self, name: str) -> Any:
        if name not in self._parts:
            where = self.split if self.fold is None else f"{self.split}/{self.fold}"
            raise InputError(
                f"{name} are not a detector's to read here", got=where, expected="train or tune"
            )
        return self._parts[name]


def make_view(
    ds: FaithShift,
    split: str,
    fold: str | None,
    needs: tuple[str, ...],
    only: Collection[str] | None = None,
) -> View:
    """The view of ``FaithShift.view``."""
    if split not in SPLITS:
        raise InputError("unknown", field="split", expected=list(SPLITS), got=split)
    if fold is not None and (split != "validation" or fold not in tuple(Fold)):
        raise InputError(
            "unknown", field="fold", expected="tune or calib, of validation", got=f"{split}/{fold}"
        )
    if set(needs) - set(NEEDS):
        raise InputError("unknown", field="needs", expected=list(NEEDS), got=list(needs))
    for name in (name for need in needs for name in STORED.get(need, ())):
        info = ds.manifest.descriptors.get(name)
        if info is not None and info.positions != "reasoning":
            message = "features of the answer are not a detector's to read"
            raise InputError(message, field=name, expected="reasoning", got=info.positions)
    traces = ds.table("traces", split)
    if fold is not None:
        traces = traces.filter(pc.equal(traces["fold"], fold))
    if only is not None:
        wanted = pa.array(sorted(only), pa.string())
        traces = traces.filter(pc.is_in(traces["trace_id"], value_set=wanted))
    if ds.manifest.not_measured and {"descriptors", "states"} & set(needs):
        measured = pa.array(ds.trajectories.trace_ids, pa.string())
        traces = traces.filter(pc.is_in(traces["trace_id"], value_set=measured))
    traces = traces.sort_by("trace_id")
    ids = traces["trace_id"].to_pylist()
    parts: dict[str, Any] = {}
    if split == "train" or fold == Fold.TUNE:
        parts["labels"] = _frozen(np.array(pc.fill_null(traces["label"], UNKNOWN), np.int8))
        if "environments" in needs:
            parts["environments"] = read_environments(ds, split, traces)
    if "true_environments" in needs:
        parts["true_environments"] = _frozen(read_true_environments(ds, split, traces))
    if "text" in needs:
        parts["text"] = traces.select(TEXT).to_pylist()
    if "interventions" in needs:
        parts["interventions"] = _profile(ds, split, ids)
    if "descriptors" in needs:
        psi, mask = ds.trajectories.padded("psi", ids)
        parts["descriptors"] = (_frozen(psi), _frozen(mask))
        for name in (name for name in BESIDE if name in ds.manifest.descriptors):
            parts[name] = _frozen(_stacked(ds, name, ids))
    if "states" in needs:
        parts["states"] = _frozen(_stacked(ds, "state", ids))
    item_ids = np.array(traces["item_id"].to_pylist(), dtype=str)
    return View(split, fold, needs, _frozen(np.array(ids, dtype=str)), _frozen(item_ids), parts)


def _stacked(ds: FaithShift, name: str, trace_ids: list[str]) -> np.ndarray:
    rows = ds.trajectories.get(name, trace_ids)
    shape = (len(trace_ids), *ds.manifest.descriptors[name].shape)
    return np.array(rows, np.float32).reshape(shape)


def _profile(ds: FaithShift, split: str, trace_ids: list[str]) -> InterventionProfile:
    columns = sorted({key for each in SPLITS for key in _features(ds, each)})
    if ds.manifest.withheld is not None:
        # What labelled traces alone have would be a column that is never known where it counts.
        columns = [key for key in columns if _name(*key) in ds.manifest.withheld.probes]
    column = {key: number for number, key in enumerate(columns)}
    row = {trace_id: number for number, trace_id in enumerate(trace_ids)}
    total = np.zeros((len(row), len(column)))
    known = np.zeros_like(total)
    for key, rows in _features(ds, split).items():
        for trace_id, changed in rows if key in column else ():
            if trace_id in row and changed is not None:
                total[row[trace_id], column[key]] += changed
                known[row[trace_id], column[key]] += 1
    share = np.divide(total, known, out=np.full_like(total, np.nan), where=known > 0)
    names = tuple(_name(*key) for key in columns)
    return InterventionProfile(names, _frozen(share.astype(np.float32)))


def _name(kind: str, fraction: float) -> str:
    return probe_name(kind, None if fraction < 0 else fraction)


def _features(ds: FaithShift, split: str) -> dict[tuple[str, float], list[tuple[str, bool | None]]]:
    table: pa.Table = ds.table("interventions", split)
    table = table.filter(pc.equal(table["role"], str(Role.FEATURE)))
    found: dict[tuple[str, float], list[tuple[str, bool | None]]] = {}
    for kind, fraction, trace_id, changed in zip(
        *(table[name].to_pylist() for name in ("kind", "fraction", "trace_id", "changed")),
        strict=True,
    ):
        key = (kind, -math.inf if fraction is None else fraction)
        found.setdefault(key, []).append((trace_id, changed))
    return found


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
