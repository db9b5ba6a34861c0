"""A fitted detector's card: README.md of its folder, from what was saved and its report."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cards.render import fill, table
from faithshift_bench.board import (
    CERTIFIED_COLUMNS,
    FULL_COLUMNS,
    board_notes,
    certified_row,
    full_row,
    uncertified,
)
from faithshift_bench.detectors import Detector, load_saved
from faithshift_bench.detectors.base import REPORT
from faithshift_bench.detectors.ensemble import member_folder
from faithshift_bench.detectors.training import closing_line, warnings
from faithshift_bench.render import AXIS_COLUMNS, SEED_COLUMNS, axis_rows, details, seed_rows
from faithshift_bench.report import Report
from faithshift_data.errors import InputError

# Longer values of parameters (fitted lists) are not shown.
SHOWN = 60


def detector_card(folder: str | Path) -> str:
    """The whole README.md of a saved detector: YAML front matter, then the card.

    Args:
        folder: what ``faithshift detect --save`` wrote, one seed's. A ``report.json`` in it, from
            ``faithshift evaluate --json``, gives the card its figures.

    Raises:
        InputError: no saved detector, or a report on another one.
    """
    detector = load_saved(folder)
    report = _report(Path(folder) / REPORT, detector)
    return fill(
        "detector.md",
        detector=detector,
        fitted=detector.fitted,
        training=[*filter(None, [closing_line(detector.training)]), *warnings(detector.training)],
        about=" ".join(_first_paragraph(detector).split()),
        params=table(
            ["parameter", "value"],
            (
                (f"`{name}`", text)
                for name, value in sorted(detector.params.items())
                if len(text := json.dumps(value)) <= SHOWN
            ),
        ),
        arrays=table(
            ["array", "shape", "dtype"],
            (
                (f"`{name}`", " x ".join(map(str, array.shape)) or "scalar", array.dtype)
                for name, array in sorted(_arrays(detector))
            ),
        ),
        report=None if report is None else _figures(report),
    )


def _arrays(detector: Detector, place: str = "") -> Iterator[tuple[str, NDArray]]:
    """Names as in the folder: those of an ensemble's members lie in folders of their own."""
    yield from ((place + name, array) for name, array in detector.arrays.items())
    for number, member in enumerate(getattr(detector, "members", ())):
        yield from _arrays(member, f"{place}{member_folder(number)}/")


def _first_paragraph(detector: Detector) -> str:
    return (inspect.getdoc(type(detector)) or "").partition("\n\n")[0]


def _report(path: Path, detector: Detector) -> Report | None:
    if not path.is_file():
        return None
    try:
        report = Report.from_json(path.read_text("utf-8"))
    except InputError as error:
        raise InputError(error.message, file=path, field=error.field) from None
    for field in ("name", "revision"):
        expected = getattr(detector, field)
        got = report.detector if field == "name" else report.revision
        if got != expected:
            message = "a report on another detector"
            raise InputError(message, file=path, field=field, expected=expected, got=got)
    return report


def _figures(report: Report) -> dict[str, Any]:
    return {
        "data": f"{report.data['name']} {report.data['version']}",
        "settings": report.settings,
        "full": table(FULL_COLUMNS, [full_row(report)]),
        "certified": table(CERTIFIED_COLUMNS, [certified_row(report)]),
        "why_not": uncertified(report),
        "axes": table(AXIS_COLUMNS, axis_rows(report.full)),
        "seeds": table(SEED_COLUMNS, seed_rows(report)),
        "lines": [*report.flags, *details(report), *board_notes([report])],
    }
