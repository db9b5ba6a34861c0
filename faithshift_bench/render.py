"""Reports as Markdown and as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from faithshift_bench.board import (
    CERTIFIED_COLUMNS,
    FULL_COLUMNS,
    board_notes,
    board_order,
    certified_row,
    figure,
    full_row,
    headline,
    span,
    uncertified,
)
from faithshift_bench.report import Report

AXIS_COLUMNS = ("axis", "kind", "value", "95%", "pairs", "counted", "items", "flag")
SEED_COLUMNS = ("seed", "tau", "IVR", "AS", "HM", "certified at", "coverage", "MFS", "why")
QUALITY_TITLES = (
    ("AUROC", "auroc"),
    ("AP", "ap"),
    ("Brier", "brier"),
    ("ECE", "ece"),
    ("AURC", "aurc"),
    ("AUGRC", "augrc"),
    ("AS where the anchor is right", "as_cond"),
    ("AS by score", "as_score"),
)
NOISE_COLUMNS = (
    *("axis", "raw", "95%", "floor_gen", "95%", "excess", "95%", "floor_train", "95%"),
    *("pairs", "no repeat", "flag"),
)
BESIDE_COLUMNS = ("protocol", "seeds", "coverage", "IVR", "AS", "MFS", "why")


def report_markdown(report: Report) -> str:
    """One report as Markdown: both blocks, axes, seeds, other protocols, notes."""
    data, settings = report.data, report.settings
    parts = [
        f"# {report.detector} on {data.get('name', 'data')} {data.get('version', '')}".rstrip(),
        f"Headline: {headline(report)}.",
        "## At full coverage",
        _table(FULL_COLUMNS, [full_row(report)]),
        f"## Certified at alpha {settings['alpha']:g}, delta {settings['delta']:g}",
        _table(CERTIFIED_COLUMNS, [certified_row(report)]),
    ]
    if reason := uncertified(report):
        parts.append(f"Nothing certified: {reason}.")
    parts += [
        "## By axis, at full coverage",
        _table(AXIS_COLUMNS, axis_rows(report.full)),
    ]
    if noise := noise_rows(report.full):
        parts += ["## Instability and noise floor", _table(NOISE_COLUMNS, noise)]
    parts += [
        "## By seed",
        _table(SEED_COLUMNS, seed_rows(report)),
    ]
    if report.beside:
        parts += [
            f"## Other certificates (counted: {settings['protocol']})",
            _table(BESIDE_COLUMNS, beside_rows(report)),
        ]
    lines = [*report.flags, *details(report), *board_notes([report])]
    parts += ["## Notes", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join(parts) + "\n"


def reports_html(reports: Sequence[Report]) -> str:
    """A board and each report as one page without outside resources; needs jinja2.

    Raises:
        ImportError: with the extra to install, where jinja2 is absent.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError("HTML reports need jinja2: pip install 'faithshift[report]'") from error
    text = (files("faithshift_bench") / "templates" / "report.html.j2").read_text("utf-8")
    page = Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
    ordered = board_order(reports)
    return page.render(
        reports=ordered,
        full=(FULL_COLUMNS, [full_row(r) for r in ordered]),
        certified=(CERTIFIED_COLUMNS, [certified_row(r) for r in ordered]),
        reasons=[(r.detector, reason) for r in ordered if (reason := uncertified(r))],
        notes=board_notes(ordered) if ordered else [],
        bars=[_bars(r) for r in ordered],
        sections=[
            {
                "report": r,
                "headline": headline(r),
                "axes": (AXIS_COLUMNS, axis_rows(r.full)),
                "noise": (NOISE_COLUMNS, noise_rows(r.full)),
                "seeds": (SEED_COLUMNS, seed_rows(r)),
                "beside": (BESIDE_COLUMNS, beside_rows(r)),
                "lines": [*r.flags, *details(r)],
            }
            for r in ordered
        ],
    )


def axis_rows(point: dict[str, Any]) -> list[tuple[str, ...]]:
    """Cells of the per-axis table: IVR of preserving axes, AS of altering ones."""
    rows: list[tuple[str, ...]] = []
    for kind, key in (("IVR", "ivr_by_axis"), ("AS", "as_by_axis")):
        for row in point[key]:
            counted = "/".join(map(str, sorted(set(row["n_counted"]))))
            rows.append(
                (
                    row["axis"],
                    kind,
                    figure(row["value"]),
                    span(row["interval"]),
                    str(row["n_pairs"]),
                    counted,
                    str(row["n_items"]),
                    row["flag"],
                )
            )
    return rows


def noise_rows(point: dict[str, Any]) -> list[tuple[str, ...]]:
    """Cells of the noise-floor table: the macro mean, then each axis; none where not measured."""
    found = point.get("decomposition")
    if found is None:
        return []
    rows = []
    for row in ({**found, "axis": "mean of axes", "flag": "-"}, *found["by_axis"]):
        cells = [row["axis"]]
        for name in ("raw", "floor_gen", "excess", "floor_train"):
            cells.append(figure(row["parts"][name]["value"]))
            cells.append(span(row["parts"][name]["interval"]))
        rows.append((*cells, str(row["n_pairs"]), str(row["n_unmatched"]), row["flag"]))
    return rows


def seed_rows(report: Report) -> list[tuple[str, ...]]:
    """Cells of the per-seed table."""
    rows: list[tuple[str, ...]] = []
    for seed in report.seeds:
        full, certified = seed["full"], seed["certified"]
        why = seed["certificate"]["reason"] if seed["certificate"] else "-"
        rows.append(
            (
                str(seed["seed"]),
                figure(seed["tau"]),
                figure(full["ivr"]),
                figure(full["as"]),
                figure(full["hm"]),
                figure(certified["threshold"]),
                figure(certified["coverage"]),
                figure(certified["mfs"]),
                why,
            )
        )
    return rows


def beside_rows(report: Report) -> list[tuple[str, ...]]:
    """Cells of the table of other certificate protocols."""
    return [
        (
            row["protocol"],
            row["seeds_certified"],
            figure(row["coverage"]),
            figure(row["ivr"]),
            figure(row["as"]),
            figure(row["mfs"]),
            row["reason"],
        )
        for row in report.beside
    ]


def details(report: Report) -> list[str]:
    """Risk, other coverages, stability and data, one line each."""
    certified, data = report.certified, report.data
    lines = [
        f"Risk on test: {figure(report.full['risk'])} at full coverage "
        f"({figure(report.full['risk_faithful'])} of faithful, "
        f"{figure(report.full['risk_unfaithful'])} of unfaithful traces), "
        f"{figure(certified['risk'])} certified.",
        f"Certified coverage of rows {figure(certified['coverage_traces'])}, with unknown labels "
        f"{figure(certified['coverage_all'])}, of pairs {figure(certified['coverage_pair'])}; "
        f"MFS with pair coverage {figure(certified['mfs_pair'])}; with an abstaining partner "
        f"counted against the detector IVR {figure(certified['base_strict']['ivr'])}, "
        f"AS {figure(certified['base_strict']['as'])}.",
    ]
    if "auroc" in report.full:
        named = ", ".join(f"{title} {figure(report.full[key])}" for title, key in QUALITY_TITLES)
        lines.append(f"On test rows at full coverage: {named}.")
    if "decomposition" in report.full:
        lines.append(_noise(report.full["decomposition"]))
    if certified.get("p_certify") is not None:
        lines.append(
            f"Stability: {certified['p_certify']:.2f} of half-size re-draws of the "
            "calibration items certify."
        )
    dropped = ", ".join(f"{reason} {n}" for reason, n in data["dropped"].items())
    lines.append(
        f"Pairs verified: {data['n_preserving_verified']} preserving, "
        f"{data['n_altering_verified']} altering; dropped {data['n_dropped']}"
        + (f" ({dropped})." if dropped else ".")
    )
    if "hash" in data:
        lines.append(
            f"Data {data['name']} {data['version']}, hash {data['hash'][:16]}; "
            f"faithshift {report.version}; "
            f"{data['n_train_rows_ignored']} train rows ignored."
        )
    return lines


def _noise(found: dict[str, Any] | None) -> str:
    if found is None:
        return "Noise floor undefined: test has no pair of repeated generations."
    return (
        f"Noise floor from {found['n_repeat']} repeat pairs: excess = raw - floor_gen, and may be "
        "negative; floor_gen is 0 where an axis edits; floor_train needs two detector seeds."
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in lines)


def _bars(report: Report) -> dict[str, Any]:
    point = report.full
    parts = (
        ("1 - IVR", None if point["ivr"] is None else 1 - point["ivr"]),
        ("AS", point["as"]),
        ("HM", point["hm"]),
        ("MFS", report.headline["mfs"]),
    )
    return {"name": report.detector, "parts": [(name, value) for name, value in parts]}
