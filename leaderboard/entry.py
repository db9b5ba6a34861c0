"""An entry: the figures of one submission in a fixed form, and no row of the data.

On hidden labels figures are rounded, and sentences that hold counts of errors are left out, since
each answer tells a little of the labels.
"""

from __future__ import annotations

from typing import Any

import faithshift_bench
from faithshift_bench.board import uncertified
from faithshift_bench.report import REPORT_VERSION, Report
from faithshift_bench.submission import Package, Validated
from leaderboard.breakdown import COVERAGES
from leaderboard.limits import DECIMALS, PART_DECIMALS, bits_told

VERSION = 2
FULL = ("ivr", "as", "hm")
CERTIFIED = ("mfs", "coverage", "ivr", "as")
# Each with two ends of an interval; and the threshold, whether there is one, in how many seeds.
FIGURES = 3 * (len(FULL) + len(CERTIFIED)) + 3 + len(COVERAGES)
OPEN_DECIMALS = 6
SECRET = "nothing certified"


def metric_version() -> str:
    """Of the package and of its reports; figures of two versions are not put into one table."""
    return f"{faithshift_bench.__version__}/{REPORT_VERSION}"


def entry_of(
    name: str,
    package: Package,
    receipt: dict[str, Any],
    report: Report,
    validated: Validated,
    parts: dict[str, Any],
    *,
    hidden: bool,
) -> dict[str, Any]:
    """What the board keeps and shows of a submission.

    Args:
        name: its id.
        package: its card, and what it scored.
        receipt: when it came, and whether it is a control.
        report: its evaluation.
        validated: what its check found.
        parts: its figures by domain, and its risks (:func:`leaderboard.breakdown.breakdown`).
        hidden: whether the labels are.

    Returns:
        Plain values; figures in [0, 1] or None, which is undefined.
    """
    decimals = DECIMALS if hidden else OPEN_DECIMALS
    part_decimals = PART_DECIMALS if hidden else OPEN_DECIMALS
    full = _point(report.full, FULL, decimals)
    certified = _point(report.certified, CERTIFIED, decimals) | {
        "certified": bool(report.certified["certified"]),
        "threshold": _round(report.certified.get("threshold"), decimals),
    }
    axes = {
        kind: {row["axis"]: _round(row["value"], part_decimals) for row in report.full[key]}
        for kind, key in (("ivr", "ivr_by_axis"), ("as", "as_by_axis"))
    }
    domains = {
        domain: {name: _round(value, part_decimals) for name, value in rates.items()}
        for domain, rates in parts["domains"].items()
    }
    bits = bits_told(FIGURES, decimals)
    bits += bits_told(sum(map(len, [*axes.values(), *domains.values()])), part_decimals)
    why = uncertified(report)
    return {
        "version": VERSION,
        "id": name,
        "card": {key: v for key, v in package.card.to_dict().items() if key != "contact"},
        "control": bool(receipt["control"]),
        "submitted": receipt["at"][:10],
        "data": {**package.data, "hidden": hidden},
        "metric": metric_version(),
        "settings": {key: report.settings[key] for key in ("alpha", "delta", "protocol")},
        "full": full,
        "certified": certified,
        "seeds_certified": report.certified.get("seeds_certified"),
        "why": None if why is None else SECRET if hidden else why,
        "axes": axes,
        "domains": domains,
        "risk": [_round(value, decimals) for value in parts["risk"]],
        "n": {
            "items": report.full["n_items"],
            "preserving": report.full["n_preserving"],
            "altering": report.full["n_altering"],
            "seeds": len(validated.seeds),
        },
        "validation_auroc": _round(validated.auroc, OPEN_DECIMALS),
        "bits": round(bits, 1),
    }


def _point(point: dict[str, Any], names: tuple[str, ...], decimals: int) -> dict[str, Any]:
    intervals = {
        name: None if span is None else [_round(end, decimals) for end in span]
        for name, span in point["intervals"].items()
        if name in names
    }
    return {**{name: _round(point[name], decimals) for name in names}, "intervals": intervals}


def _round(value: float | None, decimals: int) -> float | None:
    return None if value is None else round(float(value), decimals)
