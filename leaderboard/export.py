"""The tables of a board as CSV, Parquet and JSON: pure functions of the entries."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

from faithshift_data.atomic import canonical_json
from faithshift_data.spreadsheets import no_formula
from leaderboard.ranking import Entry, Row, Table, tables
from leaderboard.rows import declared

TEXT, WHOLE, SHARE = "string", "int64", "float64"
COLUMNS = {
    **{name: TEXT for name in ("table", "data", "metric")},
    **{name: WHOLE for name in ("first_place", "last_place")},
    **{name: TEXT for name in ("group", "detector", "revision")},
    **{name: TEXT for name in ("control", "declared", "reads")},
    **{name: SHARE for name in ("mfs", "mfs_low", "mfs_high", "coverage", "ivr", "as")},
    "seeds_certified": TEXT,
    **{name: SHARE for name in ("ivr_all", "as_all", "hm_all")},
    **{name: WHOLE for name in ("n_items", "n_preserving", "n_altering")},
    **{name: TEXT for name in ("submitted", "id")},
}


def records(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """One record an entry and table, with the keys of ``COLUMNS``; None is undefined."""
    found = tables(sorted(entries, key=lambda entry: entry["id"]))
    return [
        dict(zip(COLUMNS, _flat(table, row), strict=True)) for table in found for row in table.rows
    ]


def board_csv(entries: Sequence[Entry]) -> str:
    """As CSV; undefined figures are empty, and no cell is a formula."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(COLUMNS)
    for record in records(entries):
        lines.writerow([_safe(cell) for cell in record.values()])
    return out.getvalue()


def board_json(entries: Sequence[Entry]) -> str:
    """As a JSON list of records."""
    return canonical_json(records(entries))


def board_parquet(entries: Sequence[Entry]) -> bytes:
    """As a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records(entries), schema), out)
    return out.getvalue()


def _flat(table: Table, row: Row) -> list[Any]:
    entry, certified, full, n = row.entry, row.entry["certified"], row.entry["full"], row.entry["n"]
    card = entry["card"]
    return [
        *(table.kind, table.data, table.metric, *(row.places or (None, None)), row.group),
        *(card["name"], card["revision"], "yes" if entry["control"] else "no"),
        *(" ".join(declared(entry)), " ".join(card["reads"]), certified["mfs"]),
        *(certified["intervals"]["mfs"] or (None, None)),
        *(certified["coverage"], certified["ivr"], certified["as"], entry["seeds_certified"]),
        *(full["ivr"], full["as"], full["hm"], n["items"], n["preserving"], n["altering"]),
        *(entry["submitted"], entry["id"]),
    ]


def _safe(cell: Any) -> Any:
    """What is undefined is empty, and a text is no formula."""
    return "" if cell is None else no_formula(cell) if isinstance(cell, str) else cell


FILES: dict[str, tuple[str, Callable[[Sequence[Entry]], str | bytes]]] = {
    "board.csv": ("text/csv", board_csv),
    "board.json": ("application/json", board_json),
    "board.parquet": ("application/vnd.apache.parquet", board_parquet),
}
