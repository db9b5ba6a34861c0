"""The board as one page, and as CSV: pure functions of the entries."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from faithshift_bench.submission.card import DECLARATIONS, WHITE_BOX
from leaderboard.limits import Limits, fitting_gain
from leaderboard.ranking import Entry, Row, Table, tables

TEMPLATES = Path(__file__).parent / "templates"
TITLES = {
    "ranked": "Ranked: hidden labels",
    "declared": "Declared: ranked among their like",
    "open": "Open labels: trials, without ranks",
    "old": "Other versions of data or metric, without ranks",
}
# Title, and whether numbers stand there; MFS is what the order follows.
COLUMNS = (
    *(("place", True), ("group", False), ("detector", False), ("MFS", True), ("coverage", True)),
    *(("IVR", True), ("AS", True), ("certificate", False), ("IVR, all", True), ("AS, all", True)),
    *(("HM, all", True), ("reads", False), ("n", True), ("submitted", False)),
)
CSV_COLUMNS = (
    *("table", "data", "metric", "first_place", "last_place", "group", "detector", "revision"),
    *("control", "declared", "reads", "mfs", "mfs_low", "mfs_high", "coverage", "ivr", "as"),
    *("seeds_certified", "ivr_all", "as_all", "hm_all", "n_items", "n_preserving", "n_altering"),
    *("submitted", "id"),
)


def render(entries: Sequence[Entry]) -> str:
    """The page; the same entries in any order give the same bytes.

    Raises:
        ImportError: with the extra to install, where jinja2 is absent.
    """
    style, script = ((TEMPLATES / name).read_text("utf-8") for name in ("board.css", "board.js"))
    return _template().render(
        style=style,
        script=script,
        style_hash=_sha256(style),
        script_hash=_sha256(script),
        columns=COLUMNS,
        tables=[
            {
                "title": TITLES[table.kind],
                "table": table,
                "rows": [_cells(row) for row in table.rows],
                "details": [_details(row.entry) for row in table.rows],
                "told": _told(table),
                "controls": any(row.entry["control"] for row in table.rows),
            }
            for table in tables(_sorted(entries))
        ],
    )


def board_csv(entries: Sequence[Entry]) -> str:
    """The tables as CSV; undefined figures are empty, and no cell is a formula."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(CSV_COLUMNS)
    for table in tables(_sorted(entries)):
        for row in table.rows:
            lines.writerow([_safe(cell) for cell in _flat(table, row)])
    return out.getvalue()


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError("the page needs jinja2: pip install 'faithshift[report]'") from error
    text = (TEMPLATES / "board.html.j2").read_text("utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)


def _sorted(entries: Sequence[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry["id"])


def _flat(table: Table, row: Row) -> list[Any]:
    entry, certified, full, n = row.entry, row.entry["certified"], row.entry["full"], row.entry["n"]
    card = entry["card"]
    return [
        *(table.kind, table.data, table.metric, *(row.places or ("", "")), row.group),
        *(card["name"], card["revision"], "yes" if entry["control"] else "no"),
        *(" ".join(_declared(entry)), " ".join(card["reads"]), certified["mfs"]),
        *(certified["intervals"]["mfs"] or ("", "")),
        *(certified["coverage"], certified["ivr"], certified["as"], entry["seeds_certified"]),
        *(full["ivr"], full["as"], full["hm"], n["items"], n["preserving"], n["altering"]),
        *(entry["submitted"], entry["id"]),
    ]


def _safe(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    if isinstance(cell, str) and cell.lstrip()[:1] in tuple("=+-@") and cell.lstrip():
        return f"'{cell}"
    return "" if cell is None else cell


def _cells(row: Row) -> list[dict[str, Any]]:
    """Text and sort key of each cell, in the order of ``COLUMNS``."""
    entry, certified, full, n = row.entry, row.entry["certified"], row.entry["full"], row.entry["n"]
    reads = entry["card"]["reads"]
    return [
        _cell(_places(row.places), row.places[0] if row.places else ""),
        _cell(row.group or "-"),
        _cell(entry["card"]["name"]) | {"note": _note(entry)},
        _figure(certified, "mfs"),
        _figure(certified, "coverage"),
        _figure(certified, "ivr"),
        _figure(certified, "as"),
        _cell(_certificate(entry)),
        _figure(full, "ivr"),
        _figure(full, "as"),
        _figure(full, "hm"),
        _cell(("white box: " if set(reads) & set(WHITE_BOX) else "black box: ") + ", ".join(reads)),
        _cell(str(n["items"]), n["items"])
        | {"note": f"{n['preserving']}/{n['altering']} pairs, {n['seeds']} seeds"},
        _cell(entry["submitted"]),
    ]


def _cell(text: str, key: Any = None) -> dict[str, Any]:
    return {"text": text, "key": text if key is None else key, "note": ""}


def _figure(point: dict[str, Any], name: str) -> dict[str, Any]:
    value, span = point[name], point["intervals"].get(name)
    if value is None:
        return _cell("-", "")
    note = "" if span is None else f"{span[0]:.2f} to {span[1]:.2f}"
    return _cell(f"{value:.2f}", value) | {"note": note}


def _places(places: tuple[int, int] | None) -> str:
    if places is None:
        return "-"
    first, last = places
    return str(first) if first == last else f"{first} to {last}"


def _certificate(entry: Entry) -> str:
    settings, certified = entry["settings"], entry["certified"]
    if entry["seeds_certified"] is None:
        return "no calibration rows"
    if not certified["certified"]:
        return "none"
    seeds = entry["seeds_certified"]
    return f"risk at most {settings['alpha']:g} in {seeds}, from confidence {_at(certified)}"


def _at(certified: dict[str, Any]) -> str:
    return "-" if certified["threshold"] is None else f"{certified['threshold']:.2f}"


def _note(entry: Entry) -> str:
    marks = ["control"] * entry["control"]
    marks += [f"declared: {', '.join(_declared(entry))}"] * bool(_declared(entry))
    return "; ".join([entry["card"]["revision"], *marks])


def _declared(entry: Entry) -> list[str]:
    return [name for name in DECLARATIONS if entry["card"]["declares"][name]]


def _details(entry: Entry) -> dict[str, Any]:
    card = entry["card"]
    axes = [
        f"{kind} {axis} {'-' if value is None else format(value, '.2f')}"
        for kind, title in (("IVR", "ivr"), ("AS", "as"))
        for axis, value in sorted(entry["axes"][title].items())
    ]
    lines = [
        f"trained on: {', '.join(card['training_data']) or 'nothing'}",
        *(f"declared: {DECLARATIONS[name]}" for name in _declared(entry)),
        *([f"nothing certified: {entry['why']}"] if entry["why"] else []),
        f"by axis, at full coverage: {'; '.join(axes)}",
        f"submission {entry['id']}",
    ]
    return {"name": card["name"], "revision": card["revision"], "url": card["url"], "lines": lines}


def _told(table: Table) -> str:
    """How far answers could have been fitted to: what the rules promise, for this table."""
    hidden = [row.entry for row in table.rows if row.entry["data"]["hidden"]]
    if table.kind not in ("ranked", "declared") or not hidden:
        return ""
    bits, items = max(e["bits"] for e in hidden), hidden[0]["n"]["items"]
    most = Limits().of_submitter
    gain = fitting_gain(bits * most, items)
    return (
        f"An answer tells at most {bits:.0f} bits of the hidden labels. By {most} answers, what "
        f"one submitter may have, a mean over {items} test items could be raised by at most "
        f"{gain:.2f} (with probability 0.95)."
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
