"""Files of scores: raw columns from Parquet, CSV and JSON lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from faithshift_data.errors import InputError

METADATA = b"faithshift"
Columns = tuple[dict[str, list[Any]], dict[str, Any]]


def read_columns(path: Path, source: str) -> Columns:
    """The raw columns of a .parquet, .csv or .jsonl file, and what a Parquet file says of itself.

    Raises:
        InputError: no such file, another kind of file, or one that cannot be parsed.
    """
    readers = {".parquet": _read_parquet, ".csv": _read_csv, ".jsonl": _read_jsonl}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            "unknown kind of file",
            file=source,
            field="name",
            expected=" | ".join(readers),
            got=path.suffix or "no ending",
        )
    if not path.is_file():
        raise InputError(
            "no such file",
            file=path,
            field="name",
            expected="a file",
            got="a folder" if path.is_dir() else "nothing",
        )
    try:
        return reader(path, source)
    except UnicodeDecodeError as error:
        raise InputError(
            "not UTF-8",
            file=source,
            field="bytes",
            expected="UTF-8 text",
            got=f"byte {error.start}",
        ) from None


def _read_parquet(path: Path, source: str) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            "not a Parquet file", file=source, field="bytes", expected="Parquet", got=str(error)
        ) from None
    names = table.column_names
    _each_once(names, source)
    return table.to_pydict(), about_of(table.schema.metadata)


def _each_once(names: list[str], source: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            "repeated column",
            file=source,
            field=twice,
            expected="each column once",
            got=names.count(twice),
        )


def _read_csv(path: Path, source: str) -> Columns:
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines: Iterator[list[str]] = csv.reader(file, strict=True)
        try:
            header = next(lines, [])
            rows = [line for line in lines if line]
        except csv.Error as error:
            raise InputError(
                "not CSV", file=source, field="line", expected="CSV", got=str(error)
            ) from None
    _each_once(header, source)
    for row, line in enumerate(rows):
        if len(line) != len(header):
            raise InputError(
                "ragged row",
                file=source,
                row=row,
                field=header[-1] if header else "",
                expected=f"{len(header)} fields",
                got=len(line),
            )
    return {name: [line[k] for line in rows] for k, name in enumerate(header)}, {}


def _read_jsonl(path: Path, source: str) -> Columns:
    rows: list[dict[str, Any]] = []
    with open(path, encoding="utf-8") as file:
        for row, line in enumerate(file):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(
                    "not JSON",
                    file=source,
                    row=row,
                    field="line",
                    expected="a JSON object",
                    got=str(error),
                ) from None
            if not isinstance(value, dict):
                raise InputError(
                    "not an object",
                    file=source,
                    row=row,
                    field="line",
                    expected="a JSON object",
                    got=type(value).__name__,
                )
            rows.append(value)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}, {}


def about_of(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """What the metadata of a table says of the detector; empty where it says nothing."""
    try:
        value = json.loads((metadata or {}).get(METADATA, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
