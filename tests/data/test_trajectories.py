"""Shards are read again after they are written, and hold what they were given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import safetensors.numpy

from faithshift_data.manifest import DescriptorInfo
from faithshift_data.trajectories import write_shards

INFO = {
    "psi": DescriptorInfo("step", "float16", (3,), ("a", "b", "c")),
    "scalars": DescriptorInfo("trace", "float16", (2,), ("x", "y")),
}


def rows() -> dict[str, dict[str, np.ndarray]]:
    """Trace k has k + 1 steps; arrays are views of a larger one, as a batch leaves them."""
    batch = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)
    return {f"t{k}": {"psi": batch[k, : k + 1, ::2], "scalars": batch[k, 0, 1:3]} for k in range(4)}


def test_shards_give_back_what_they_were_given(tmp_path: Path) -> None:
    given = rows()
    splits = {"t0": "train", "t1": "train", "t2": "test", "t3": "train"}
    write_shards(tmp_path, given, splits, INFO, shard_bytes=40)
    index = pq.read_table(tmp_path / "index.parquet").to_pylist()
    shards = {row["shard"] for row in index}
    assert shards == {path.name for path in tmp_path.glob("*.safetensors")} and len(shards) > 1
    assert {row["trace_id"]: row["split"] for row in index} == splits
    for row in index:
        stored = safetensors.numpy.load_file(tmp_path / row["shard"])
        a, b = stored["offsets"][row["row"] : row["row"] + 2]
        assert b - a == row["n_steps"] == len(given[row["trace_id"]]["psi"])
        np.testing.assert_array_equal(stored["psi"][a:b], given[row["trace_id"]]["psi"])
        scalars = stored["scalars"][row["row"]]
        np.testing.assert_array_equal(scalars, given[row["trace_id"]]["scalars"])
        assert stored["psi"].dtype == np.float16


@pytest.mark.parametrize("fault", ["value", "missing"])
def test_a_shard_that_does_not_read_back_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    save = safetensors.numpy.save_file

    def torn(tensors: dict[str, np.ndarray], path: Path, metadata: Any) -> None:
        if fault == "missing":
            tensors = {name: each for name, each in tensors.items() if name != "scalars"}
        else:
            tensors = {**tensors, "psi": tensors["psi"] + np.float16(1)}
        save(tensors, path, metadata=metadata)

    monkeypatch.setattr(safetensors.numpy, "save_file", torn)
    with pytest.raises(OSError, match="does not read back as written"):
        write_shards(tmp_path, rows(), dict.fromkeys(rows(), "train"), INFO)
