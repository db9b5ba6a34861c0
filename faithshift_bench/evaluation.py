"""evaluate_scores: from a scores file and a dataset to a report."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import faithshift_bench
from faithshift_bench.about import check_name
from faithshift_bench.core import DEFAULT, MIN_PAIRS, Protocol, evaluate_arrays
from faithshift_bench.detectors.training import seed_warnings
from faithshift_bench.frame import Frame, build_frame
from faithshift_bench.report import Report
from faithshift_bench.score_stream import match_scores
from faithshift_data.schema import Kind
from faithshift_data.withheld import need_labels

if TYPE_CHECKING:
    from faithshift_data import FaithShift


def evaluate_scores(
    scores: Any,
    data: str | Path | FaithShift = "mini",
    *,
    alpha: float = 0.25,
    delta: float = 0.05,
    n_resamples: int = 1000,
    seed: int = 0,
    threshold: float | str = "youden",
    unit: str = DEFAULT.unit,
    bound: str = DEFAULT.bound,
    multiplicity: str = DEFAULT.multiplicity,
    grid: str | ArrayLike = DEFAULT.grid,
    min_pairs: int = MIN_PAIRS,
    name: str | None = None,
) -> Report:
    """What a detector's scores are worth: at full coverage, and certified at ``alpha``.

    Tune sets the verdict threshold, calib certifies, test reports; S eq. 6-8 at both operating
    points.

    Args:
        scores: a path (.parquet, .csv, .jsonl), ScoreTable, pyarrow Table, data frame or dict of
            columns trace_id, seed, score, confidence; see :mod:`faithshift_bench.scores`.
        data: name or path of a dataset, or an open one.
        alpha: risk target of the certificates, in (0, 1).
        delta: their error probability for each seed, in (0, 1).
        n_resamples: bootstrap resamples of test items.
        seed: of the bootstrap. The draw seed of ``one_per_item`` belongs to the data version.
        threshold: ``youden`` on tune, or a number in [0, 1].
        unit: see :func:`certify`; likewise bound, multiplicity and grid (``q5``, ``k/20`` or
            numbers).
        bound: of the certificate.
        multiplicity: of the certificate.
        grid: of the certificate.
        min_pairs: verified test pairs an axis needs to enter the macro mean.
        name: what to call the detector; from the file where omitted.

    Raises:
        InputError: in one line with file, row and field, where the scores do not fit the data or
            an option is unknown or out of range.
    """
    import faithshift_data as fd

    ds = fd.open(data) if isinstance(data, str | Path) else data
    frame, train = frame_of(ds)
    aligned, source, about = match_scores(scores, frame.trace_id, train)
    detector = check_name(str(name or about.get("detector") or source.rsplit(".", 1)[0]))
    chosen: str | tuple[float, ...] = (
        grid if isinstance(grid, str) else tuple(float(t) for t in np.asarray(grid))
    )
    evaluation = evaluate_arrays(
        frame,
        aligned.scores,
        aligned.confidence,
        seeds=aligned.seeds,
        threshold=threshold,
        alpha=alpha,
        delta=delta,
        protocol=Protocol(unit, bound, chosen, multiplicity),
        n_resamples=n_resamples,
        seed=seed,
        draw_seed=ds.manifest.draw_seed,
        min_pairs=min_pairs,
    )
    evaluation.data.update(
        name=ds.manifest.name,
        version=ds.manifest.version,
        hash=data_hash(ds.manifest.files),
        n_train_rows_ignored=aligned.n_ignored,
    )
    evaluation.flags.extend(seed_warnings(about.get("training")))
    return Report.of(
        evaluation,
        detector=detector,
        revision=None if about.get("revision") is None else str(about["revision"]),
        reads_label_evidence=bool(about.get("reads_label_evidence", False)),
        version=faithshift_bench.__version__,
    )


def frame_of(ds: FaithShift, labels: Mapping[str, int] | None = None) -> tuple[Frame, list[str]]:
    """The arrays an evaluation needs from an open dataset, and the ids of its train traces.

    Args:
        ds: the dataset.
        labels: trace_id -> 1, 0 or -1 (unknown), in the place of the dataset's own. A pair with two
            known labels is then of the kind that they make it.

    Raises:
        InputError: the dataset withholds labels.
    """
    need_labels(ds)
    traces = ds.table("traces").select(["trace_id", "item_id", "split", "fold", "domain", "label"])
    column = {name: traces[name].to_pylist() for name in traces.column_names}
    split = np.array(column["split"], dtype=np.str_)
    keep = np.flatnonzero(split != "train")
    fold = [
        "test" if s == "test" else (f or "")
        for s, f in zip(column["split"], column["fold"], strict=True)
    ]
    label = [-1 if value is None else value for value in column["label"]]
    if labels is not None:
        label = [labels[trace] for trace in column["trace_id"]]
    pairs = ds.table("pairs").select(
        ["axis", "kind", "mode", "anchor_id", "partner_id", "split", "verified", "dropped_because"]
    )
    pair = {name: pairs[name].to_pylist() for name in pairs.column_names}
    if labels is not None:
        ends = zip(pair["kind"], pair["anchor_id"], pair["partner_id"], strict=True)
        pair["kind"] = [_kind(kind, labels[a], labels[b]) for kind, a, b in ends]
    here = [i for i, s in enumerate(pair["split"]) if s != "train"]
    reasons = [
        "" if pair["verified"][i] else (pair["dropped_because"][i] or "unverified") for i in here
    ]
    frame = build_frame(
        *(np.array(c)[keep] for c in (column["trace_id"], column["item_id"], label)),
        fold=np.array(fold)[keep],
        domain=np.array(column["domain"])[keep],
        anchor_id=[pair["anchor_id"][i] for i in here],
        partner_id=[pair["partner_id"][i] for i in here],
        axis=[pair["axis"][i] for i in here],
        kind=[pair["kind"][i] for i in here],
        mode=[pair["mode"][i] or "" for i in here],
        dropped_because=reasons,
        source=str(ds.path),
    )
    return frame, [column["trace_id"][i] for i in np.flatnonzero(split == "train")]


def _kind(kind: str, anchor_label: int, partner_label: int) -> str:
    if kind not in (Kind.PRESERVING, Kind.ALTERING) or min(anchor_label, partner_label) < 0:
        return kind
    return str(Kind.PRESERVING if anchor_label == partner_label else Kind.ALTERING)


def data_hash(files: Any) -> str:
    """One sha256 for the data: over the path and sha256 of each file of the manifest."""
    lines = [f"{path} {files[path].sha256}\n" for path in sorted(files)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
