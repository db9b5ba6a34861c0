"""Every detector on one dataset, in one table. A detector that is done is not run again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from faithshift_bench.detectors.registry import list_detectors, load_detector
from faithshift_bench.detectors.runs import Say, Watch, run_detector, silent, unwatched
from faithshift_bench.detectors.scored import save_scores
from faithshift_bench.detectors.training import seed_warnings
from faithshift_bench.evaluation import data_hash, evaluate_scores, frame_of
from faithshift_bench.metrics.separation import separation
from faithshift_bench.score_files import about_of
from faithshift_bench.score_stream import match_scores
from faithshift_bench.studies.reach import REACHES, carry, has_reaches
from faithshift_data.atomic import canonical_json, json_sha256, write_text
from faithshift_data.errors import InputError, reason_of
from faithshift_data.withheld import need_labels

if TYPE_CHECKING:
    import pyarrow as pa

    from faithshift_bench.report import Report
    from faithshift_data import FaithShift

STUDY_VERSION = 2
POINTS = ("ivr", "as", "hm")


@dataclass(frozen=True)
class Plan:
    """What is run.

    Attributes:
        seeds: training seeds.
        detectors: names, all registered ones where empty.
        once: detectors that get the first seed alone.
        alpha: of the certificates.
        delta: of the certificates.
        n_resamples: of the intervals.
    """

    seeds: tuple[int, ...] = (0, 1, 2, 3)
    detectors: tuple[str, ...] = ()
    once: tuple[str, ...] = ("sift_t7",)
    alpha: float = 0.25
    delta: float = 0.05
    n_resamples: int = 1000

    def __post_init__(self) -> None:
        """Refuse what no detector could be run with."""
        if not self.seeds or len(set(self.seeds)) != len(self.seeds) or min(self.seeds) < 0:
            expected = "different seeds, 0 or more"
            raise InputError("bad seeds", field="seeds", expected=expected, got=list(self.seeds))

    def names(self) -> tuple[str, ...]:
        """The detectors, in the registry's order.

        Raises:
            InputError: one that is not registered.
        """
        known = list_detectors()
        for field, names in (("--detectors", self.detectors), ("--once", self.once)):
            for name in names:
                if name not in known:
                    expected = ", ".join(known)
                    raise InputError("no such detector", field=field, expected=expected, got=name)
        return tuple(name for name in known if name in (self.detectors or known))

    def seeds_of(self, name: str) -> tuple[int, ...]:
        """The seeds of one detector."""
        return self.seeds[:1] if name in self.once else self.seeds


def study_detectors(
    data: FaithShift,
    out: str | Path,
    plan: Plan,
    *,
    progress: Say = silent,
    watch: Watch = unwatched,
) -> dict[str, Any]:
    """Run, evaluate and tabulate; a kill loses the detector that was being run.

    Writes ``scores/NAME.parquet``, ``reports/NAME.json`` and ``rows/NAME.json`` of each detector
    into ``out``, and ``detectors.json``, ``.csv`` and ``.md`` at the end. A row of the same data,
    revision, seeds and settings is taken as it is. A detector that cannot be run is a row with
    the reason, and is tried again the next time.

    Args:
        data: an open dataset with labels.
        out: folder to write into.
        plan: what is run.
        progress: called with lines.
        watch: as of `run_detector`.

    Returns:
        ``data``, ``settings``, ``machine`` and ``rows``, plain values. ``seconds`` are processor
        time of fitting and scoring, all seeds together.

    Raises:
        InputError: unknown detectors, or withheld labels.
    """
    from faithshift_bench import __version__
    from faithshift_bench.studies.detectors_table import markdown, to_csv

    need_labels(data)
    out = Path(out)
    names, manifest = plan.names(), data.manifest
    rows = []
    for name in names:
        place = out / "rows" / f"{name}.json"
        row = _done(place, _key(name, data, plan))
        if row is None:
            row = _row(name, data, out, plan, progress, watch)
            if row["failed"] is None:
                write_text(place, canonical_json({"key": _key(name, data, plan), "row": row}))
        else:
            progress(f"{name}: done before")
        if row["failed"] is not None:
            progress(f"{name}: left out: {row['failed']}")
        rows.append(row)
    whole = {
        "study": "detectors",
        "study_version": STUDY_VERSION,
        "faithshift": __version__,
        "data": {
            "name": manifest.name,
            "version": manifest.version,
            "hash": data_hash(manifest.files),
        },
        "settings": {
            "seeds": list(plan.seeds),
            "once": [name for name in plan.once if name in names],
            "alpha": plan.alpha,
            "delta": plan.delta,
            "n_resamples": plan.n_resamples,
            "reaches": list(REACHES) if has_reaches(data) else [],
        },
        "machine": {"cores": len(os.sched_getaffinity(0)), "processor": platform.machine()},
        "rows": rows,
    }
    write_text(out / "detectors.json", canonical_json(whole))
    write_text(out / "detectors.csv", to_csv(whole))
    write_text(out / "detectors.md", markdown(whole))
    return whole


def why_empty(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Why no row has a figure, by its first row; None where one has.

    What learns nothing runs on data without labels, too, and has then no figure.
    """
    reasons = []
    for row in rows:
        reason = row["failed"] or row["auroc"]["reason"]
        if not reason or any(row[name]["value"] is not None for name in POINTS if name in row):
            return None
        reasons.append(reason)
    return reasons[0]


def _key(name: str, data: FaithShift, plan: Plan) -> str:
    """What a row has to agree in to be taken as it is; empty for a detector that cannot be made."""
    from faithshift_bench import __version__

    try:
        detector = load_detector(name)
    except Exception:  # noqa: BLE001 - `_row` says why
        return ""
    parts = (name, detector.revision, detector.params, plan.seeds_of(name))
    settings = (plan.alpha, plan.delta, plan.n_resamples, __version__, STUDY_VERSION)
    return json_sha256([*parts, *settings, data_hash(data.manifest.files)])


def _done(place: Path, key: str) -> dict[str, Any] | None:
    try:
        found = json.loads(place.read_text("utf-8"))
        return found["row"] if key and found["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _row(
    name: str, data: FaithShift, out: Path, plan: Plan, progress: Say, watch: Watch
) -> dict[str, Any]:
    """Figures of one detector, or why there are none."""
    seeds = plan.seeds_of(name)
    row: dict[str, Any] = {"detector": name, "seeds": list(seeds), "failed": None}
    try:
        detector = load_detector(name)
        row.update(revision=detector.revision, reads_label_evidence=detector.reads_label_evidence)
        started = process_time()
        table = run_detector(name, data, seeds, progress=progress, watch=watch)
        row["seconds"] = process_time() - started
        report = evaluate_scores(
            save_scores(table, out / "scores" / f"{name}.parquet"),
            data,
            alpha=plan.alpha,
            delta=plan.delta,
            n_resamples=plan.n_resamples,
        )
        write_text(out / "reports" / f"{name}.json", report.to_json())
        row.update(_figures(report), **_trained(table))
        row["auroc"] = _auroc(table, data, plan.n_resamples)
        row["reach"] = {}
        if has_reaches(data):
            row["reach"] = carry(name, data, seeds, n_resamples=plan.n_resamples, progress=progress)
    except InputError as error:
        row["failed"] = " ".join(str(error).split())
    except Exception as error:  # noqa: BLE001 - a plug-in may fail in any way
        row["failed"] = reason_of(error)
    return row


def _figures(report: Report) -> dict[str, Any]:
    full, certified = report.full, report.certified
    spans = full["intervals"]
    return {
        **{name: {"value": full[name], "interval": spans.get(name)} for name in POINTS},
        "mfs": {"value": certified["mfs"], "interval": certified["intervals"].get("mfs")},
        "coverage": certified["coverage"],
        "seeds_certified": certified.get("seeds_certified"),
        "why_not": None if certified["certified"] else certified["reason"],
    }


def _trained(table: pa.Table) -> dict[str, Any]:
    about = about_of(table.schema.metadata)
    return {
        "n_parameters": about["n_parameters"],
        "warnings": seed_warnings(about.get("training")),
    }


def _auroc(table: pa.Table, data: FaithShift, n_resamples: int) -> dict[str, Any]:
    """On labelled traces of test, the mean over seeds."""
    frame, train = frame_of(data)
    scores = match_scores(table, frame.trace_id, train)[0].scores
    rows = frame.rows("test", labelled=True)
    return separation(
        scores[:, rows], frame.label[rows], frame.items[frame.item[rows]], n_resamples=n_resamples
    )
