"""Environments: the surface under which a trace was made, and which traces pair up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from faithshift_data.errors import InputError
from faithshift_data.schema import Kind

if TYPE_CHECKING:
    from faithshift_data.dataset import FaithShift

BASE = "base"


@dataclass(frozen=True)
class Environments:
    """What an objective of invariance learns from, aligned with the rows of a view.

    Attributes:
        names: str (n,), ``base`` or the preserving axis that a trace was made by. A trace of an
            altering axis belongs to its anchor's environment, so that both labels occur in each;
            so does one of a mixed axis whose label is not its anchor's.
        models: str (n,), the model that wrote the trace.
        pairs: int64 (m, 2), row numbers of the two traces of each verified preserving pair.
        axes: str (m,), the axis of each pair.
    """

    names: np.ndarray
    models: np.ndarray
    pairs: np.ndarray
    axes: np.ndarray


def read_environments(ds: FaithShift, split: str, traces: pa.Table) -> Environments:
    """The environments of some traces of a split, in their order.

    Args:
        ds: the dataset.
        split: the split of the traces.
        traces: rows of its traces table.
    """
    pairs = ds.table("pairs", split).select(["axis", "kind", "anchor_id", "partner_id", "verified"])
    rows = pairs.to_pylist()
    kinds: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        kinds.setdefault((row["partner_id"], row["axis"]), set()).add(row["kind"])
    altered = {trace for (trace, axis), found in kinds.items() if found == {Kind.ALTERING}}
    at = {trace_id: i for i, trace_id in enumerate(traces["trace_id"].to_pylist())}
    kept = [
        (at[row["anchor_id"]], at[row["partner_id"]], row["axis"])
        for row in rows
        if row["verified"] and row["kind"] == Kind.PRESERVING
        if row["anchor_id"] in at and row["partner_id"] in at
    ]
    kept.sort()
    arrays = (
        _names(ds, split, traces, altered),
        np.array(traces["model_id"].to_pylist(), dtype=str),
        np.array([(a, b) for a, b, _ in kept], dtype=np.int64).reshape(-1, 2),
        np.array([axis for *_, axis in kept], dtype=str),
    )
    for array in arrays:
        array.flags.writeable = False
    return Environments(*arrays)


def read_true_environments(ds: FaithShift, split: str, traces: pa.Table) -> np.ndarray:
    """The names alone, by axis and anchor, without a look at any label.

    Raises:
        InputError: the folder withholds them.
    """
    if traces["condition"].null_count:
        message = "environments are withheld with the labels"
        raise InputError(message, file=ds.path, field="axis", got=split)
    return _names(ds, split, traces, set())


def _names(ds: FaithShift, split: str, traces: pa.Table, altered: set[str]) -> np.ndarray:
    preserving = {axis.name for axis in ds.manifest.axes if axis.kind == Kind.PRESERVING}
    whole = ds.table("traces", split).select(["trace_id", "axis", "anchor_id"])
    made: dict[str, Any] = {row["trace_id"]: row for row in whole.to_pylist()}

    def name(trace_id: str) -> str:
        seen: set[str] = set()
        while trace_id in made and trace_id not in seen:
            seen.add(trace_id)
            row = made[trace_id]
            if row["axis"] in preserving and trace_id not in altered:
                return str(row["axis"])
            trace_id = row["anchor_id"]
        return BASE

    return np.array([name(trace_id) for trace_id in traces["trace_id"].to_pylist()], dtype=str)
