"""The two blocks of the board: at full coverage, and certified. Rows sort by MFS, then HM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faithshift_bench.report import Report

MARK = "*"


def board_order(reports: Sequence[Report]) -> list[Report]:
    """Reports by the MFS of their headline, then by HM at full coverage, both descending."""

    def key(report: Report) -> tuple[float, float, str]:
        mfs, hm = report.headline["mfs"], report.full["hm"]
        return (-1.0 if mfs is None else mfs, -1.0 if hm is None else hm, report.detector)

    ordered = sorted(reports, key=lambda report: report.detector)
    return sorted(ordered, key=lambda report: key(report)[:2], reverse=True)


def render_board(reports: Sequence[Report]) -> str:
    """The board as aligned text, both blocks in the same order of rows."""
    ordered = board_order(reports)
    if not ordered:
        return "no reports"
    first = ordered[0]
    lines = [f"At full coverage ({first.data.get('name', 'data')}; every verdict committed)"]
    lines += text_table(FULL_COLUMNS, [full_row(r) for r in ordered])
    settings = first.settings
    lines += [
        "",
        f"Certified at alpha {settings['alpha']:g}, delta {settings['delta']:g} "
        f"({settings['protocol']})",
    ]
    lines += text_table(CERTIFIED_COLUMNS, [certified_row(r) for r in ordered])
    lines += [f"  {r.detector}: none: {reason}" for r in ordered if (reason := uncertified(r))]
    if first.beside:
        lines += ["", "Other certificates, one trace drawn an item"]
        rows = [beside_row(r, place) for r in ordered for place in range(len(r.beside))]
        lines += text_table(BESIDE_COLUMNS, rows)
    lines += ["", *(f"{r.detector}: {flag}." for r in ordered for flag in r.flags)]
    lines += board_notes(ordered)
    return "\n".join(lines)


FULL_COLUMNS = ("detector", "IVR", "95%", "AS", "95%", "HM", "95%", "pairs p/a", "items")
BESIDE_COLUMNS = ("detector", "grid/multiplicity", "seeds", "coverage", "MFS", "why")
CERTIFIED_COLUMNS = ("detector", "seeds", "threshold", "coverage", "IVR", "AS", "MFS", "95%")


def full_row(report: Report) -> tuple[str, ...]:
    """Cells of the first block."""
    point, spans = report.full, report.full["intervals"]
    return (
        marked(report),
        figure(point["ivr"]),
        span(spans["ivr"]),
        figure(point["as"]),
        span(spans["as"]),
        figure(point["hm"]),
        span(spans["hm"]),
        f"{point['n_preserving']}/{point['n_altering']}",
        str(point["n_items"]),
    )


def certified_row(report: Report) -> tuple[str, ...]:
    """Cells of the second block."""
    point = report.certified
    return (
        marked(report),
        point.get("seeds_certified", "-"),
        figure(point.get("threshold")),
        figure(point["coverage"]),
        figure(point["ivr"]),
        figure(point["as"]),
        figure(point["mfs"]),
        span(point["intervals"]["mfs"]),
    )


def beside_row(report: Report, place: int) -> tuple[str, ...]:
    """Cells of another certificate of the same detector, named once."""
    row = report.beside[place]
    return (
        "" if place else marked(report),
        row["protocol"].removeprefix("one_per_item/exact/"),
        row["seeds_certified"],
        figure(row["coverage"]),
        figure(row["mfs"]),
        row["reason"],
    )


def uncertified(report: Report) -> str | None:
    """Why nothing is certified, with what would have been needed; None if a seed certified."""
    point = report.certified
    if point["certified"]:
        return None
    parts = [point["reason"]]
    if point.get("least_n") is not None:
        if "needed" not in point["reason"]:
            parts.append(f"at least {point['least_n']} items needed without an error")
        least = point["least_alpha_exploratory"]
        parts.append(f"smallest alpha that could have been certified {least:.2f} (exploratory)")
    return "; ".join(parts)


def headline(report: Report) -> str:
    """The point that counts and its MFS; an MFS of 0 for want of a certificate is called that."""
    name, mfs = report.headline["operating_point"], report.headline["mfs"]
    if name == "certified" and not report.headline["certified"]:
        return f"nothing certified, MFS {figure(mfs)}"
    return f"{name}, MFS {figure(mfs)}"


def board_notes(reports: Sequence[Report]) -> list[str]:
    """Chance levels, trivial certificates, thin axes, marks, and what is covered."""
    first = reports[0]
    fold = first.data["folds"]["test"]
    notes = []
    if any(r.reads_label_evidence for r in reports):
        notes.append(
            f"{MARK} reads evidence of the kind that constructed labels rest on; "
            "not ranked against the others."
        )
    notes.append(
        f"Label prior {figure(fold['label_prior'])} faithful; a constant verdict errs at "
        f"{figure(fold['trivial_risk'])}"
        + (": a constant certifies." if first.data["trivial_certifies"] else ".")
    )
    shares = [
        f"{r.detector} {figure(r.full['chance']['ivr'])}/{figure(r.full['chance']['as'])}"
        for r in reports
    ]
    notes.append("Chance IVR/AS at the same share of faithful verdicts: " + ", ".join(shares) + ".")
    rows = [*first.full["ivr_by_axis"], *first.full["as_by_axis"]]
    for flag, text in (
        ("few", "under 30 pairs"),
        ("thin", "too few pairs, left out"),
        ("undefined", "no pair"),
    ):
        named = [f"{row['axis']} ({row['n_pairs']})" for row in rows if row["flag"] == flag]
        if named:
            notes.append(f"{text[0].upper()}{text[1:]}: {', '.join(named)}.")
    notes += first.notes
    if prespecified := first.settings.get("hypotheses"):
        notes.append(f"Prespecified hypotheses: sha256 {prespecified}.")
    return notes


def marked(report: Report) -> str:
    """The detector's name, marked where it reads label evidence."""
    return report.detector + (MARK if report.reads_label_evidence else "")


def figure(value: Any) -> str:
    """A number with three decimals; a dash where undefined."""
    return "-" if value is None else f"{value:.3f}"


def span(interval: Any) -> str:
    """An interval with two decimals; a dash where undefined."""
    return "-" if interval is None else f"[{interval[0]:.2f}, {interval[1]:.2f}]"


def counted(n: int, noun: str) -> str:
    """A number with its noun, which takes an s but for 1."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Left-aligned first column, the rest right-aligned."""
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]
    return [
        "  ".join(
            cell.ljust(w) if k == 0 else cell.rjust(w)
            for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]
