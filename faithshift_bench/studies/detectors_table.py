"""The table of detectors as Markdown and CSV, from what `study_detectors` returns."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from faithshift_bench.board import MARK, figure, span

Row = Mapping[str, Any]
HEADER = ("detector", "IVR", "AS", "HM", "MFS", "coverage", "certified", "AUROC")
COSTS = ("parameters", "seconds a seed")


def header(study: Mapping[str, Any]) -> list[str]:
    """Titles of the columns."""
    reaches = [f"AUROC, {reach}" for reach in study["settings"]["reaches"]]
    return [*HEADER, *reaches, *COSTS]


def table_rows(study: Mapping[str, Any]) -> list[list[str]]:
    """Cells of each detector that ran; a figure has its 95% interval over items."""
    return [_cells(row, study) for row in study["rows"] if row["failed"] is None]


def notes(study: Mapping[str, Any]) -> list[str]:
    """How to read the table, what could not be run and what hardly learned."""
    settings = study["settings"]
    seeds, once = settings["seeds"], settings["once"]
    alone = f", of {', '.join(once)} {seeds[0]} alone" if once and len(seeds) > 1 else ""
    lines = [
        f"Means over training seeds {', '.join(map(str, seeds))}{alone}. IVR, AS and HM with "
        f"every verdict committed; MFS and coverage certified at alpha {settings['alpha']:g}, "
        f"delta {settings['delta']:g}, 0 for a seed without a certificate. Intervals are 95 %, "
        "over items of test; seconds are processor time.",
        f"{MARK} reads evidence of the kind that constructed labels rest on; not ranked against "
        "the others.",
    ]
    if settings["reaches"]:
        lines.append(
            "AUROC after training on all models of train, then after training on one model alone "
            "and judging it on test: on its own traces, on those of another seed of its "
            "architecture, on those of other architectures (traces with a cue; several fits of "
            "one trace are pooled)."
        )
    for row in study["rows"]:
        if row["failed"]:
            lines.append(f"{row['detector']} could not be run: {row['failed']}")
        elif told := row["warnings"]:
            more = f" ({len(told)} such trainings)" if len(told) > 1 else ""
            lines.append(f"{row['detector']}: {told[0]}{more}.")
    return lines


def markdown(study: Mapping[str, Any]) -> str:
    """The table and its notes."""
    data, titles = study["data"], header(study)
    rows = [titles, ["---"] * len(titles), *table_rows(study)]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    text = "\n".join(lines)
    remarks = "\n".join(f"- {line}".replace("*", "\\*") for line in notes(study))
    return f"# Detectors on {data['name']} {data['version']}\n\n{text}\n\n{remarks}\n"


def to_csv(study: Mapping[str, Any]) -> str:
    """One line a detector, a number a column; what is undefined is empty."""
    reaches = study["settings"]["reaches"]
    lines = [_flat(row, reaches) for row in study["rows"]]
    file = io.StringIO()
    writer = csv.DictWriter(file, lines[0] if lines else ["detector"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


def _cells(row: Row, study: Mapping[str, Any]) -> list[str]:
    return [
        row["detector"] + MARK * row["reads_label_evidence"],
        *(_with_span(row[name]["value"], row[name]["interval"]) for name in ("ivr", "as", "hm")),
        _with_span(row["mfs"]["value"], row["mfs"]["interval"]),
        figure(row["coverage"]),
        row["seeds_certified"] or "-",
        _separation(row["auroc"]),
        *(_separation(row["reach"][reach]) for reach in study["settings"]["reaches"]),
        f"{row['n_parameters']:,}",
        f"{row['seconds'] / len(row['seeds']):.1f}",
    ]


def _separation(found: Row) -> str:
    known = found["low"] is not None
    return _with_span(found["auroc"], (found["low"], found["high"]) if known else None)


def _with_span(value: float | None, interval: Sequence[float] | None) -> str:
    return figure(value) if interval is None else f"{figure(value)} {span(interval)}"


def _flat(row: Row, reaches: Sequence[str]) -> dict[str, Any]:
    """Every column, whether the detector ran or not."""
    flat = {"detector": row["detector"], "revision": row.get("revision")}
    flat["reads_label_evidence"] = row.get("reads_label_evidence")
    flat["seeds"] = " ".join(map(str, row["seeds"]))
    for name in ("ivr", "as", "hm", "mfs"):
        found = row.get(name) or {"value": None, "interval": None}
        flat[name] = found["value"]
        flat[f"{name}_low"], flat[f"{name}_high"] = found["interval"] or (None, None)
    for name in ("coverage", "seeds_certified"):
        flat[name] = row.get(name)
    for title, found in {
        "auroc": row.get("auroc"),
        **{
            f"auroc_{reach.replace(' ', '_')}": row.get("reach", {}).get(reach) for reach in reaches
        },
    }.items():
        for end, key in (("", "auroc"), ("_low", "low"), ("_high", "high")):
            flat[title + end] = (found or {}).get(key)
    for name in ("n_parameters", "seconds", "failed"):
        flat[name] = row.get(name)
    return flat
