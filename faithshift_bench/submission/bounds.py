"""Files of strangers: how large they may be, asked before a byte of content is unpacked.

A file that is small may unpack to one that is not, so that the sizes which it states are held
against what the data need. A file may lie about them; a board reads it in a confined process.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from faithshift_bench.scores import COLUMNS
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = (".parquet", ".csv", ".jsonl")
MAX_BYTES = 32 * 2**20
MAX_SEEDS = 32
MAX_LINE = 1000
MAX_ID = 200
MAX_FOOTER = 2**20
# Bytes of a row in memory: an id, a seed, a score, a confidence, and what Arrow adds.
ROW_BYTES = MAX_ID + 4 * 8
SLACK_BYTES = 2**20


def open_regular(path: Path) -> IO[bytes]:
    """Open a plain file, and nothing that a link, a pipe or a device puts in its place.

    Raises:
        InputError: it is no plain file, or cannot be opened.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        got = "a link" if path.is_symlink() else error.strerror
        raise InputError("cannot be read", file=path.name, expected="a file", got=got) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        got = "a folder" if path.is_dir() else "a pipe or device"
        os.close(handle)
        raise InputError("not a plain file", file=path.name or path, expected="a file", got=got)
    return os.fdopen(handle, "rb")


def read_small(path: Path, most: int) -> bytes:
    """The bytes of a plain file that has at most ``most``.

    Raises:
        InputError: no plain file, or a larger one.
    """
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError("too large", file=path.name, expected=f"{most} bytes at most")
    return data


def check_bounds(path: Path, n_traces: int, source: str) -> None:
    """Refuse a scores file that is larger than the data could need.

    Args:
        path: of the file.
        n_traces: all traces of the data, those of train too.
        source: what messages call the file.

    Raises:
        InputError: another kind of file; too many bytes, rows, columns, or bytes a row; nested or
            binary columns.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        got = suffix or "no ending"
        raise InputError("unknown kind of file", file=source, expected=" | ".join(FORMATS), got=got)
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            expected = f"{MAX_BYTES} bytes at most"
            raise InputError("too large", file=source, expected=expected, got=size)
        if size == 0:
            raise InputError("empty", file=source, expected="scores", got="0 bytes")
        rows = n_traces * MAX_SEEDS
        if suffix == ".parquet":
            _parquet(file, size, rows, source)
        else:
            lines = _lines(file, rows + 1, source)
            for row, line in enumerate(lines):
                if suffix == ".jsonl" and line.strip():
                    _object(line, row, source)


def _lines(file: IO[bytes], most: int, source: str) -> Iterator[bytes]:
    for row, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b"")):
        if len(line) > MAX_LINE:
            expected = f"{MAX_LINE} bytes a line at most"
            raise InputError("a line is too long", file=source, row=row, expected=expected)
        if b"\0" in line:
            raise InputError("not text", file=source, row=row, expected="text", got="a zero byte")
        if row > most:
            _too_many(source, most, "more")
        yield line


def _object(line: bytes, row: int, source: str) -> None:
    """One JSON object with our columns, each once; a decoder would keep the last of two."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in found]
        for name in names:
            if name not in COLUMNS:
                expected = " | ".join(COLUMNS)
                _refuse("unknown column", source, row, ascii(name)[1:-1], expected, "another")
            if names.count(name) > 1:
                _refuse("repeated column", source, row, name, "each column once", "it twice")
        return dict(found)

    try:
        json.loads(line, object_pairs_hook=pairs)
    except UnicodeDecodeError as error:
        _refuse("not UTF-8", source, row, "bytes", "UTF-8 text", f"byte {error.start}")
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deep"
        _refuse("not JSON", source, row, "line", "a JSON object", reason)


def _parquet(file: IO[bytes], size: int, rows: int, source: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    _footer(file, size, source)
    try:
        with pq.ParquetFile(file, thrift_string_size_limit=MAX_FOOTER) as found:
            about = found.metadata
            if about.num_rows > rows:
                _too_many(source, rows, about.num_rows)
            _types(found.schema_arrow, source)
            groups = [about.row_group(k) for k in range(about.num_row_groups)]
            chunks = [g.column(c) for g in groups for c in range(g.num_columns)]
            unpacked = sum(chunk.total_uncompressed_size for chunk in chunks)
            most = ROW_BYTES * max(about.num_rows, 0) + SLACK_BYTES
            if not 0 <= unpacked <= most or min((g.num_rows for g in groups), default=0) < 0:
                expected = f"{most} bytes at most for {about.num_rows} rows"
                raise InputError("unpacks too large", file=source, expected=expected, got=unpacked)
            _short_ids(found, source)
    except (pa.ArrowException, OSError, MemoryError) as error:
        got = " ".join(str(error).split()) or "out of memory"
        raise InputError("not a Parquet file", file=source, expected="Parquet", got=got) from None


def _footer(file: IO[bytes], size: int, source: str) -> None:
    """A footer that is stated to be larger than its limit is not read at all."""
    file.seek(max(size - 8, 0))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] == b"PAR1" and length > MAX_FOOTER:
        expected = f"a footer of {MAX_FOOTER} bytes at most"
        raise InputError("footer too large", file=source, expected=expected, got=length)
    file.seek(0)


def _types(schema: pa.Schema, source: str) -> None:
    import pyarrow.types as kinds

    names = schema.names
    for name in names:
        if name not in COLUMNS:
            shown, expected = ascii(name)[1:-1][:80], " | ".join(COLUMNS)
            raise InputError("unknown column", file=source, field=shown, expected=expected)
        if names.count(name) > 1:
            expected = "each column once"
            raise InputError("repeated column", file=source, field=name, expected=expected)
    for field in schema:
        kind = field.type.value_type if kinds.is_dictionary(field.type) else field.type
        text = kinds.is_string(kind) or kinds.is_large_string(kind)
        number = kinds.is_integer(kind) or kinds.is_floating(kind)
        if not (text if field.name == "trace_id" else number):
            expected = "text" if field.name == "trace_id" else "numbers"
            got = str(field.type)
            raise InputError("bad type", file=source, field=field.name, expected=expected, got=got)


def _short_ids(found: Any, source: str) -> None:
    """An array of text is as wide as its longest value: one long id would cost that for each."""
    import pyarrow.compute as pc

    if "trace_id" not in found.schema_arrow.names:
        return
    start = 0
    for batch in found.iter_batches(2**16, columns=["trace_id"]):
        column = batch.column(0)
        if hasattr(column, "dictionary"):
            column = column.dictionary_decode()
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        if longest > MAX_ID:
            row = start + pc.index(pc.binary_length(column), longest).as_py()
            expected = f"{MAX_ID} bytes at most"
            _refuse("too long", source, row, "trace_id", expected, longest)
        start += batch.num_rows


def _too_many(source: str, most: int, got: object) -> None:
    expected = f"{most} at most: each trace once a seed, {MAX_SEEDS} seeds at most"
    raise InputError("too many rows", file=source, field="trace_id", expected=expected, got=got)


def _refuse(message: str, source: str, row: int, field: str, expected: object, got: object) -> None:
    raise InputError(message, file=source, row=row, field=field, expected=expected, got=got)
