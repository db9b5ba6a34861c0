"""Evaluation of 10 million scores streamed from Parquet, against a bare scan of the same file.

500,000 traces of 25,000 items, 20 seeds; the same at a quarter and at half of the traces, to see
whether time is linear in rows. The scan reads every column of the file and does nothing with it.
Seconds are processor time, over all threads, so that a busy machine does not count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np

N_ROWS, N_SEEDS = 20, 20
SIZES = (6250, 12_500, 25_000)  # items: 2.5, 5 and 10 million scores
AXES = ("paraphrase", "language", "budget", "cue_injection", "cue_verbalization", "truncation")
CHILD = """
import json, sys
from benchmarks.evaluate import timed
print(json.dumps(timed(sys.argv[1])))
"""


def run() -> dict[str, Any]:
    """Each size in a process of its own, so that its memory is its own."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for n_items in SIZES:
            place = Path(folder) / str(n_items)
            write(place, n_items)
            argv = [sys.executable, "-c", CHILD, str(place)]
            done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
            found.append(json.loads(done.stdout))
    sizes = np.log([each["rows"] for each in found])
    slope = np.polyfit(sizes, np.log([each["seconds"] for each in found]), 1)[0]
    return {
        **found[-1],
        "exponent_of_rows": float(slope),
        "seconds_by_rows": {str(each["rows"]): each["seconds"] for each in found},
    }


def missed(found: dict[str, Any]) -> list[str]:
    """Targets that were missed."""
    wanted = {
        "ten million rows": found["rows"] >= 10_000_000,
        "under 2 GB": found["peak_mb"] < 2000,
        "time linear in rows": found["exponent_of_rows"] < 1.15,
    }
    return [name for name, met in wanted.items() if not met]


def timed(place: str) -> dict[str, Any]:
    """The evaluation first, so that its peak is not the scan's; then the scan, file cached."""
    import pyarrow.parquet as pq

    from benchmarks.memory import peak_mb
    from faithshift_bench import evaluate_scores

    data, scores = Stored(Path(place)), Path(place) / "scores.parquet"
    started = process_time()
    report = evaluate_scores(scores, data)
    seconds = process_time() - started
    memory = peak_mb()
    started = process_time()
    rows = sum(batch.num_rows for batch in pq.ParquetFile(scores).iter_batches())
    scan = process_time() - started
    return {
        "ratio": seconds / scan,
        "seconds": seconds,
        "seconds_of_scan": scan,
        "rows": rows,
        "traces": rows // N_SEEDS,
        "seeds": N_SEEDS,
        "file_mb": scores.stat().st_size / 2**20,
        "peak_mb": memory,
        "mfs": report.headline["mfs"],
    }


class Stored:
    """What an evaluation reads of a dataset, from two Parquet files."""

    def __init__(self, place: Path) -> None:
        """``place`` holds traces.parquet and pairs.parquet."""
        self.path = place
        about = {"name": "large", "version": "0", "draw_seed": 0, "files": {}}
        self.manifest = SimpleNamespace(**about, withheld=None)

    def table(self, config: str) -> Any:
        """The table of traces or of pairs."""
        import pyarrow.parquet as pq

        return pq.read_table(self.path / f"{config}.parquet")


def write(place: Path, n_items: int) -> None:
    """Half of the items are test, a third calib, the rest tune; ids are in no order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place.mkdir()
    rng = np.random.default_rng(0)
    item, row = np.repeat(np.arange(n_items), N_ROWS), np.tile(np.arange(N_ROWS), n_items)
    keys = rng.choice(2**48, size=len(item), replace=False)
    trace = np.array([f"t-{key:016x}" for key in keys], dtype=object)
    part = np.array(["test", "test", "test", "calib", "calib", "tune"])[item % 6]
    label = (row % 2).astype(np.int8)
    traces = {
        "trace_id": trace,
        "item_id": np.array([f"i-{i:016x}" for i in range(n_items)], dtype=object)[item],
        "split": np.where(part == "test", "test", "validation"),
        "fold": pa.array(part, mask=part == "test"),
        "domain": np.array(["a", "b", "c", "d"])[item // 6 % 4],
        "label": label,
    }
    pq.write_table(pa.table(traces), place / "traces.parquet")
    partner = np.flatnonzero(row > 1)
    axis = row[partner] % len(AXES)
    altering = axis >= 3
    anchor = item[partner] * N_ROWS + np.where(altering, 1 - label[partner], label[partner])
    pairs = {
        "axis": np.array(AXES)[axis],
        "kind": np.where(altering, "altering", "preserving"),
        "mode": np.full(len(axis), "regen"),
        "anchor_id": trace[anchor],
        "partner_id": trace[partner],
        "split": traces["split"][partner],
        "verified": np.ones(len(partner), bool),
        "dropped_because": pa.nulls(len(partner), pa.string()),
    }
    pq.write_table(pa.table(pairs), place / "pairs.parquet")
    schema = pa.schema({"trace_id": pa.string(), "seed": pa.int64(), "score": pa.float64()})
    with pq.ParquetWriter(place / "scores.parquet", schema) as file:
        for seed in range(N_SEEDS):
            score = 1 / (1 + np.exp(-(2.0 * label - 1) - rng.normal(size=len(trace))))
            columns = [trace, np.full(len(trace), seed), score]
            file.write_table(pa.table(dict(zip(schema.names, columns, strict=True)), schema))
