"""Rows to Arrow tables by the fixed schema, and tables to Parquet files and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from faithshift_data.errors import InputError
from faithshift_data.schema import ENUMS, schema_of

ID = {"traces": "trace_id", "pairs": "pair_id", "interventions": "intervention_id"}
ROW_GROUP_BYTES = 32 * 2**20

Rows: TypeAlias = pa.Table | Iterable[Mapping[str, Any]]


def to_table(config: str, rows: Rows, *, file: object = None, withheld: bool = False) -> pa.Table:
    """Rows as an Arrow table with exactly the schema of ``config``, sorted by id.

    Missing optional columns become null; unknown columns, nulls in required columns and values
    of another type are refused. ``withheld``: see ``schema_of``.

    Raises:
        InputError: one line with row and field.
    """
    schema, file = schema_of(config, withheld=withheld), file or config
    if isinstance(rows, pa.Table):
        _known(rows.column_names, schema, file, None)
        table = _from_table(rows, schema, file)
    else:
        rows = list(rows)
        for number, row in enumerate(rows):
            _known(row, schema, file, number)
        table = _from_rows(rows, schema, file)
    check_values(config, table, file)
    return table.sort_by([(ID[config], "ascending")])


def check_values(config: str, table: pa.Table, file: object) -> None:
    """Refuse nulls in required columns and lists, empty ids, and values outside a vocabulary."""
    for field in table.schema:
        column = table[field.name]
        if not field.nullable and column.null_count:
            row = column.to_pylist().index(None)
            raise InputError("required", file=file, row=row, field=field.name, got="null")
        if pa.types.is_list(field.type) and pc.list_flatten(column).null_count:
            row = next(n for n, values in enumerate(column.to_pylist()) if None in (values or ()))
            raise InputError("null in a list", file=file, row=row, field=field.name)
        if field.name.endswith("_id") and pc.any(pc.equal(column, "")).as_py():
            row = column.to_pylist().index("")
            raise InputError("empty id", file=file, row=row, field=field.name)
        # An intervention's kind is open; the closed `kind` is that of a pair.
        if field.name in ENUMS and (field.name != "kind" or config == "pairs"):
            allowed = [str(value) for value in ENUMS[field.name]]
            for value in column.unique().to_pylist():
                if value is not None and value not in allowed:
                    row = column.to_pylist().index(value)
                    raise InputError(
                        "not allowed",
                        file=file,
                        row=row,
                        field=field.name,
                        expected=allowed,
                        got=value,
                    )


def write_table(path: Path, table: pa.Table) -> None:
    """Write Parquet: zstd, row groups of about 32 MB, page index, no run-dependent metadata."""
    per_row = max(1, table.nbytes // max(1, table.num_rows))
    pq.write_table(
        table.replace_schema_metadata(None),
        path,
        compression="zstd",
        row_group_size=max(1, ROW_GROUP_BYTES // per_row),
        write_page_index=True,
    )


def read_table(path: Path, config: str, *, withheld: bool = False) -> pa.Table:
    """Read a Parquet file and insist on the schema that ``schema_of`` gives."""
    schema = schema_of(config, withheld=withheld)
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"cannot be read: {error}", file=path) from None
    for field in schema:
        if field.name not in table.column_names:
            raise InputError("column missing", file=path, field=field.name)
        got = table.schema.field(field.name).type
        if got != field.type:
            raise InputError(
                "wrong type", file=path, field=field.name, expected=field.type, got=got
            )
        if not field.nullable and table[field.name].null_count:
            row = table[field.name].to_pylist().index(None)
            raise InputError("required", file=path, row=row, field=field.name, got="null")
    _known(table.column_names, schema, path, None)
    return table.select(schema.names).cast(schema)


def _known(names: Iterable[str], schema: pa.Schema, file: object, row: int | None) -> None:
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise InputError("unknown column", file=file, row=row, field=unknown[0])


def _from_rows(rows: list[Mapping[str, Any]], schema: pa.Schema, file: object) -> pa.Table:
    columns = [_column([row.get(field.name) for row in rows], field, file) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _from_table(table: pa.Table, schema: pa.Schema, file: object) -> pa.Table:
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
        elif table[field.name].type == field.type:
            columns.append(table[field.name])
        else:
            columns.append(_column(table[field.name].to_pylist(), field, file))
    return pa.Table.from_arrays(columns, schema=schema)


def _column(values: list[Any], field: pa.Field, file: object) -> pa.Array:
    column = _array(values, field.type)
    if column is None:
        row = next(i for i, value in enumerate(values) if _array([value], field.type) is None)
        expected, got = field.type, repr(values[row])
        raise InputError(
            "wrong type", file=file, row=row, field=field.name, expected=expected, got=got
        )
    for row, (value, kept) in enumerate(zip(values, column.to_pylist(), strict=True)):
        lost = _lost(value, kept, field.name)
        if lost is not None:
            name, message, stored, given = lost
            raise InputError(message, file=file, row=row, field=name, expected=stored, got=given)
    return column


def _array(values: list[Any], dtype: pa.DataType) -> pa.Array | None:
    # Arrow takes a string for a list of its characters.
    if pa.types.is_list(dtype) and any(isinstance(value, str) for value in values):
        return None
    try:
        return pa.array(values, dtype)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None


def _lost(value: Any, kept: Any, name: str) -> tuple[str, str, object, object] | None:
    """Field, message, expected and got of the first part of a value that Arrow did not keep."""
    if isinstance(kept, dict) and isinstance(value, Mapping):
        unknown = [key for key in value if key not in kept]
        if unknown:
            return f"{name}.{unknown[0]}", "unknown key", list(kept), None
        parts = ((value.get(key), kept[key], f"{name}.{key}") for key in kept)
    elif isinstance(kept, list) and len(value) == len(kept):
        parts = ((each, stored, name) for each, stored in zip(value, kept, strict=True))
    elif (value is None) == (kept is None) and (value == kept or value != value):
        return None
    else:
        return name, "changes when stored", f"as stored, {kept!r}", repr(value)
    return next((lost for part in parts if (lost := _lost(*part)) is not None), None)
