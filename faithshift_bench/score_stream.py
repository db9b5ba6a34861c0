"""Scores matched to traces batch by batch, so that a large Parquet file is never held whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.about import check_about
from faithshift_bench.score_files import about_of
from faithshift_bench.scores import COLUMNS, MAX_SEED, Aligned, ScoreTable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_ROWS = 2**20


class Matched(NamedTuple):
    """Scores aligned with traces, what messages call them, and what they say of themselves."""

    aligned: Aligned
    source: str
    about: dict[str, Any]


def match_scores(scores: Any, trace_id: NDArray[np.str_], ignore: Sequence[str] = ()) -> Matched:
    """Load scores and match them against the traces to be scored: once each, for every seed.

    A sound Parquet file is streamed. Anything else, and anything odd in such a file, goes through
    :class:`ScoreTable`, whose messages name the row and field.

    Args:
        scores: what :meth:`ScoreTable.load` takes.
        trace_id: (n,) distinct ids, ascending.
        ignore: ids (of train) whose rows are left out and counted.

    Raises:
        InputError: as :meth:`ScoreTable.load`, :meth:`ScoreTable.align` and
            :func:`~faithshift_bench.about.check_about` do.
    """
    if isinstance(scores, str | Path) and Path(scores).suffix.lower() == ".parquet":
        found = _stream(Path(scores), trace_id, ignore)
        if found is not None:
            return found._replace(about=check_about(found.about, found.source))
    table = ScoreTable.load(scores)
    about = check_about(table.about, table.source)
    return Matched(table.align(trace_id, ignore), table.source, about)


def _stream(path: Path, trace_id: NDArray[np.str_], ignore: Sequence[str]) -> Matched | None:
    """The scores of a sound file, or None where anything about it is odd."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            return _place(path, file, trace_id, ignore) if _plain(file) else None
    except (pa.ArrowException, OSError):
        return None


def _plain(file: pq.ParquetFile) -> bool:
    import pyarrow.types as kinds

    schema = file.schema_arrow
    names = schema.names
    if not {"trace_id", "score"} <= set(names) <= set(COLUMNS) or len(set(names)) < len(names):
        return False
    return all(
        kinds.is_string(field.type)
        if field.name == "trace_id"
        else kinds.is_integer(field.type)
        if field.name == "seed"
        else kinds.is_float32(field.type) or kinds.is_float64(field.type)
        for field in schema
    )


def _place(
    path: Path, file: pq.ParquetFile, trace_id: NDArray[np.str_], ignore: Sequence[str]
) -> Matched | None:
    """Every score in its cell; a seed has a block of (n,) cells, NaN where none has come yet."""
    import pyarrow as pa

    n = len(trace_id)
    most = file.metadata.num_rows // n if n else 0
    ids, train = pa.array(trace_id, pa.string()), pa.array(list(ignore), pa.string())
    names = [name for name in ("score", "confidence") if name in file.schema_arrow.names]
    blocks: dict[int, dict[str, NDArray[np.float64]]] = {}
    n_ignored = n_placed = 0
    for batch in file.iter_batches(BATCH_ROWS):
        at, known = _rows(batch["trace_id"], ids, train)
        if at is None or batch["trace_id"].null_count:
            return None
        n_ignored += len(known) - len(at)
        n_placed += len(at)
        seeds = np.zeros(len(known), np.int64)
        if "seed" in batch.schema.names:
            if batch["seed"].null_count:
                return None
            seeds = batch["seed"].to_numpy(zero_copy_only=False)
        columns = {}
        for name in names:
            columns[name] = batch[name].to_numpy(zero_copy_only=False).astype(float)
            if not ((columns[name] >= 0) & (columns[name] <= 1)).all():
                return None
        for seed in np.unique(seeds).tolist():
            if not 0 <= seed <= MAX_SEED or (seed not in blocks and len(blocks) == most):
                return None
            block = blocks.setdefault(seed, {name: np.full(n, np.nan) for name in names})
            here = seeds[known] == seed
            for name in names:
                block[name][at[here]] = columns[name][known][here]
    # Each cell once: as many rows as cells, and none left empty.
    full = all(not np.isnan(block["score"]).any() for block in blocks.values())
    if not blocks or n_placed != n * len(blocks) or not full:
        return None
    order = sorted(blocks)
    confidence = None
    if "confidence" in names:
        confidence = np.array([blocks[seed].pop("confidence") for seed in order])
    values = np.empty((len(order), n))
    for row, seed in enumerate(order):
        values[row] = blocks.pop(seed)["score"]
    aligned = Aligned(tuple(order), values, confidence, n_ignored)
    return Matched(aligned, path.name, about_of(file.schema_arrow.metadata))


def _rows(
    names: pa.Array, ids: pa.Array, train: pa.Array
) -> tuple[NDArray[np.intp] | None, NDArray[np.bool_]]:
    """Positions in ``ids`` of the rows that are there, and which those are; None: a strange id."""
    import pyarrow.compute as pc

    found = pc.index_in(names, value_set=ids)
    known = found.is_valid().to_numpy(zero_copy_only=False)
    if not known.all():
        others = names.filter(found.is_null())
        if not pc.all(pc.is_in(others, value_set=train)).as_py():
            return None, known
    return found.drop_null().to_numpy(zero_copy_only=False), known
