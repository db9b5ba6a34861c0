"""Scores of one detector as a table: checked, seed after seed, with what made them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.failures import in_one_line
from faithshift_bench.score_files import METADATA
from faithshift_bench.targets import check_target
from faithshift_data.atomic import open_atomic
from faithshift_data.errors import InputError, reason_of

if TYPE_CHECKING:
    import pyarrow as pa

    from faithshift_bench.detectors.base import Detector
    from faithshift_data import View


class Scored:
    """Collects scores; every seed has to have the same columns."""

    def __init__(self) -> None:
        """No scores yet."""
        self._parts: dict[str, list[NDArray]] = {}
        self._training: dict[str, dict[str, Any]] = {}

    def add(self, detector: Detector, views: Sequence[View], seed: int) -> None:
        """The scores of a fitted detector on some views.

        Raises:
            InputError: scores or confidences that are no numbers in [0, 1], not one a trace, or
                confidences of some views or seeds alone; or whatever the detector raises.
        """
        for view in views:
            columns: dict[str, NDArray | None] = {}
            for field in ("score", "confidence"):
                with in_one_line(detector.name, field):
                    columns[field] = getattr(detector, field)(view)
            self._put("trace_id", view.trace_ids.astype(object))
            self._put("seed", np.full(len(view), seed, dtype=np.int64))
            for field, values in columns.items():
                if values is not None or field == "score":
                    self._put(field, _in_unit_interval(values, len(view), detector.name, field))
        if len(self._parts.get("confidence", self._parts["score"])) != len(self._parts["score"]):
            message = "given for some views or seeds alone"
            expected = "of all of them, or of none"
            raise InputError(message, file=detector.name, field="confidence", expected=expected)
        if detector.training:
            self._training[str(seed)] = detector.training

    def table(self, detector: Detector, **about: Any) -> pa.Table:
        """Columns trace_id, seed, score and, where there is one, confidence.

        Args:
            detector: its name, revision and mark go into the metadata, with its trainings.
            about: what else the metadata says.
        """
        import pyarrow as pa

        said = {
            "detector": detector.name,
            "revision": detector.revision,
            "n_parameters": detector.n_parameters,
            "reads_label_evidence": detector.reads_label_evidence,
            **({"training": self._training} if self._training else {}),
            **about,
        }
        columns = {field: pa.array(np.concatenate(part)) for field, part in self._parts.items()}
        text = json.dumps(said, sort_keys=True)
        return pa.table(columns).replace_schema_metadata({METADATA: text.encode()})

    def _put(self, field: str, values: NDArray) -> None:
        self._parts.setdefault(field, []).append(values)


def save_scores(table: pa.Table, path: str | Path) -> Path:
    """Write scores as Parquet, whole or not at all.

    Raises:
        InputError: as :func:`check_target` does.
    """
    import pyarrow.parquet as pq

    path = check_target(path)
    with open_atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")
    return path


def _in_unit_interval(given: object, n: int, detector: str, field: str) -> NDArray[np.float64]:
    try:
        found = np.asarray(given)
        if found.dtype.kind in "USc":
            raise TypeError(f"type {found.dtype}")
        values = found.astype(np.float64)
    except (TypeError, ValueError) as error:
        message, got = "no numbers", reason_of(error)
        raise InputError(message, file=detector, field=field, got=got) from error
    if values.shape != (n,):
        message = "one value a trace is needed"
        raise InputError(message, file=detector, field=field, expected=(n,), got=values.shape)
    bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if bad.size:
        row, got = int(bad[0]), values[bad[0]]
        message = "out of range"
        raise InputError(message, file=detector, row=row, field=field, expected="[0, 1]", got=got)
    return values
