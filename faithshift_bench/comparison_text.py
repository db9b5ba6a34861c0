"""A comparison as aligned text: two blocks, each with its table, gaps and first place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from faithshift_bench.board import MARK, figure, span, text_table

if TYPE_CHECKING:
    from faithshift_bench.comparison import Comparison

ROWS = ("detector", "seeds", "coverage", "IVR", "AS", "HM", "MFS", "95%")
GAPS = ("gap in MFS, first - second", "gap", "95%", "p", "adjusted", "resolvable")


def comparison_text(comparison: Comparison) -> str:
    """Both blocks and the notes. Gaps between two controls are left to the JSON."""
    settings = comparison.settings
    own = (
        f"certified at alpha {settings['alpha']:g}, delta {settings['delta']:g}"
        if settings["own"] == "certified"
        else "everything committed, no calib rows"
    )
    lines = [
        f"{comparison.data['name']} {comparison.data['version']}, "
        f"{comparison.data['n_items']} test items",
        "",
        f"At own operating points ({own})",
        *_block(comparison.own),
        "",
        f"At matched coverage {settings['coverage']:g} (set on tune and calib, without labels; "
        f"MFS = {settings['coverage']:g} x HM)",
        *_block(comparison.matched),
        "",
    ]
    if any(d["reads_label_evidence"] for d in comparison.detectors):
        lines.append(
            f"{MARK} reads evidence of the kind that constructed labels rest on; "
            "not ranked against the others."
        )
    return "\n".join(lines + comparison.notes)


def _block(block: dict[str, Any]) -> list[str]:
    lines = text_table(ROWS, [_row(row) for row in block["rows"]]) if block["rows"] else []
    lines += [f"  {each['detector']}: {each['reason']}" for each in block["not_comparable"]]
    controls = {row["detector"] for row in block["rows"] if row["control"]}
    gaps = [_gap(p) for p in block["pairs"] if not {p["first"], p["second"]} <= controls]
    if gaps:
        lines += ["", *text_table(GAPS, gaps)]
    lines += ["", block["sentence"]]
    if not block["rows"]:
        return lines
    if block["smallest_resolvable_gap"] is not None:
        lines.append(
            f"Smallest gap that every one of these comparisons can resolve: "
            f"{figure(block['smallest_resolvable_gap'])}."
        )
    lines.append(
        "Axes in common: IVR "
        + (", ".join(block["axes"]["ivr"]) or "none")
        + "; AS "
        + (", ".join(block["axes"]["as"]) or "none")
        + "."
    )
    lines += [
        f"Left out: {each['axis']} ({each['kind']}; {each['because']})."
        for each in block["axes_left_out"]
    ]
    if block["n_not_tested"]:
        lines.append(f"{block['n_not_tested']} comparison(s) not tested.")
    return lines


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    name = row["detector"] + (MARK if row["reads_label_evidence"] else "")
    return (
        name + (" (control)" if row["control"] else ""),
        f"{row['n_seeds_live']} of {row['n_seeds']}",
        *(figure(row[key]) for key in ("coverage", "ivr", "as", "hm", "mfs")),
        span(row["interval"]),
    )


def _gap(pair: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{pair['first']} - {pair['second']}",
        "-" if pair["gap"] is None else f"{pair['gap']:+.3f}",
        span(pair["interval"]),
        _p(pair["p"]),
        _p(pair["p_adjusted"]),
        figure(pair["resolvable"]),
    )


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
