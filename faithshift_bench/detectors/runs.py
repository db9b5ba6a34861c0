"""Fit a detector on train, score validation and test, once a seed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.registry import load_detector
from faithshift_bench.detectors.transfer import check_transfer, share_interventions
from faithshift_bench.targets import check_folder, check_target
from faithshift_data.atomic import open_atomic
from faithshift_data.errors import InputError
from faithshift_data.schema import SPLITS

if TYPE_CHECKING:
    import pyarrow as pa

    from faithshift_data import FaithShift, View

SCORED = ("validation", "test")
METADATA = b"faithshift"


def run_detector(
    name: str,
    data: FaithShift,
    seeds: Sequence[int] = (0, 1, 2, 3),
    *,
    fit_on: FaithShift | None = None,
    params: dict[str, float | int | str] | None = None,
    save: str | Path | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> pa.Table:
    """Scores of every trace of validation and test, once a seed.

    Traces that `faithshift measure` could not measure get no score from a detector that reads
    descriptors or states.

    Args:
        name: a detector's name.
        data: an open dataset.
        seeds: training seeds, all different.
        fit_on: another dataset to fit on, by its train split; traces of train are then scored, too.
            Both must hold the same descriptors, and interventions that only one holds are left out.
        params: parameters of the detector.
        save: folder for the fitted detectors, ``save/seed-0`` and so on, each with what it was
            fitted on.
        progress: called with a line at the start of each seed, and where something is left out.

    Returns:
        Columns trace_id, seed, score in [0, 1] (probability that the trace is faithful) and, where
        the detector has one of its own, confidence in [0, 1]. Its schema's metadata names the
        detector.

    Raises:
        InputError: unknown detector or parameter, repeated seeds, data without the parts that the
            detector needs or of another shape, or scores outside [0, 1].
    """
    import pyarrow as pa

    if save is not None:
        check_folder(Path(save))
    if not seeds or len(set(seeds)) != len(seeds) or min(seeds) < 0:
        expected = "different seeds, 0 or more"
        raise InputError("bad seeds", field="seeds", expected=expected, got=list(seeds))
    params = params or {}
    detector = load_detector(name, **params)
    if fit_on is not None:
        check_transfer(fit_on, data, detector.needs, progress)
    train = (fit_on or data).view("train", needs=detector.needs)
    scored = SCORED if fit_on is None else SPLITS
    views = [data.view(split, needs=detector.needs) for split in scored]
    if fit_on is not None and "interventions" in detector.needs:
        train, views = share_interventions(train, views, progress)
    left_out = sum(data.table("traces", split).num_rows for split in scored) - sum(map(len, views))
    if left_out:
        progress(f"not measured, and without a score: {left_out} traces")
    parts: dict[str, list[NDArray]] = {}
    for seed in seeds:
        progress(f"{name}: seed {seed}")
        detector = load_detector(name, **params).fit(train, seed=seed)
        if save is not None:
            detector.fitted = {**_fitted_on(fit_on or data, train), "seed": seed}
            detector.save(Path(save) / f"seed-{seed}")
        for view in views:
            columns = {"score": detector.score(view), "confidence": detector.confidence(view)}
            parts.setdefault("trace_id", []).append(view.trace_ids.astype(object))
            parts.setdefault("seed", []).append(np.full(len(view), seed, dtype=np.int64))
            for field, values in columns.items():
                if values is not None:
                    checked = _in_unit_interval(values, len(view), name, field)
                    parts.setdefault(field, []).append(checked)
    about = {
        "detector": name,
        "revision": detector.revision,
        "params": params,
        **({} if fit_on is None else {"fit_on": fit_on.name}),
        "reads_label_evidence": detector.reads_label_evidence,
    }
    table = pa.table({field: pa.array(np.concatenate(part)) for field, part in parts.items()})
    return table.replace_schema_metadata({METADATA: json.dumps(about, sort_keys=True).encode()})


def _fitted_on(data: FaithShift, train: View) -> dict[str, Any]:
    """What a saved detector says of the data it was fitted on."""
    from faithshift_bench import __version__
    from faithshift_bench.evaluation import data_hash

    manifest = data.manifest
    labels = {"faithful": 1, "unfaithful": 0, "unknown": -1}
    return {
        "data": manifest.name,
        "version": manifest.version,
        "hash": data_hash(manifest.files),
        "licence": manifest.licence,
        "models": [model.model_id for model in manifest.models],
        "label_rule": manifest.label_rule,
        "traces": {name: int((train.labels == label).sum()) for name, label in labels.items()},
        "faithshift": __version__,
    }


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


def _in_unit_interval(values: NDArray, n: int, detector: str, field: str) -> NDArray[np.float64]:
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (n,):
        message = "one value a trace is needed"
        raise InputError(message, file=detector, field=field, expected=(n,), got=values.shape)
    bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if bad.size:
        row, got = int(bad[0]), values[bad[0]]
        message = "out of range"
        raise InputError(message, file=detector, row=row, field=field, expected="[0, 1]", got=got)
    return values
