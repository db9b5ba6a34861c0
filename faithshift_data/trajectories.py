"""Descriptor shards: one tensor a descriptor, an offsets table, and an index by trace.

A *step* descriptor has one row a reasoning step; the rows of all traces of a shard lie in one
tensor and ``offsets`` (n + 1,) says where each trace begins. A *trace* descriptor has one row
a trace. ``index.parquet`` gives shard, row and number of steps of each trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from faithshift_data.errors import InputError
from faithshift_data.manifest import DescriptorInfo
from faithshift_data.ranges import ShardRanges
from faithshift_data.verified import VerifiedFiles

FOLDER = "trajectories"
INDEX = "index.parquet"
OFFSETS = "offsets"
SHARD_BYTES = 64 * 2**20
# So many rows of a shard that is not here are fetched alone; for more, the shard is.
FEW = 8
INDEX_SCHEMA = pa.schema(
    [
        pa.field("trace_id", pa.string(), nullable=False),
        pa.field("split", pa.string(), nullable=False),
        pa.field("shard", pa.string(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("n_steps", pa.int32(), nullable=False),
    ]
)


def write_shards(
    folder: Path,
    arrays: Mapping[str, Mapping[str, np.ndarray]],
    splits: Mapping[str, str],
    descriptors: Mapping[str, DescriptorInfo],
    *,
    shard_bytes: int = SHARD_BYTES,
) -> None:
    """Write ``descriptors-*.safetensors`` and ``index.parquet`` into ``folder``, then reopen them.

    Args:
        folder: the trajectories folder.
        arrays: trace_id -> descriptor name -> array; (n_steps, *shape) for step resolution,
            (*shape) for trace resolution.
        splits: trace_id -> split.
        descriptors: what each descriptor must look like; dtype is the stored dtype.
        shard_bytes: a shard is closed once it holds this many bytes.

    Raises:
        InputError: a missing descriptor, a wrong shape, or a value that is not finite as stored.
    """
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    shards: list[list[tuple[str, dict[str, np.ndarray]]]] = [[]]
    size = 0
    for trace_id in sorted(arrays, key=lambda t: (splits[t], t)):
        row = {
            name: _stored(trace_id, name, arrays[trace_id], info)
            for name, info in descriptors.items()
        }
        size += sum(array.nbytes for array in row.values())
        if size > shard_bytes and shards[-1]:
            shards.append([])
            size = 0
        shards[-1].append((trace_id, row))
    index: list[dict[str, Any]] = []
    for number, rows in enumerate(shards):
        if not rows:
            continue
        name = f"descriptors-{number:05d}-of-{len(shards):05d}.safetensors"
        lengths = [_n_steps(trace_id, row, descriptors) for trace_id, row in rows]
        tensors = {OFFSETS: np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)}
        for descriptor, info in descriptors.items():
            join = np.concatenate if info.resolution == "step" else np.stack
            tensors[descriptor] = np.ascontiguousarray(join([row[descriptor] for _, row in rows]))
        save_file(tensors, folder / name, metadata={"format": "faithshift-descriptors-1"})
        (folder / name).chmod(0o644)
        _reopen(folder / name, tensors)
        index += [
            {"trace_id": t, "split": splits[t], "shard": name, "row": i, "n_steps": n}
            for i, ((t, _), n) in enumerate(zip(rows, lengths, strict=True))
        ]
    table = pa.Table.from_pylist(index, schema=INDEX_SCHEMA)
    pq.write_table(table, folder / INDEX, compression="zstd")


def _stored(
    trace_id: str, name: str, row: Mapping[str, np.ndarray], info: DescriptorInfo
) -> np.ndarray:
    if name not in row:
        raise InputError("descriptor missing", file=FOLDER, row=trace_id, field=name)
    with np.errstate(over="ignore"):
        array = np.asarray(row[name]).astype(info.dtype)
    shape = array.shape[1:] if info.resolution == "step" else array.shape
    if shape != tuple(info.shape):
        raise InputError(
            "wrong shape", file=FOLDER, row=trace_id, field=name, expected=info.shape, got=shape
        )
    if not np.isfinite(array).all():
        raise InputError(f"not finite as {info.dtype}", file=FOLDER, row=trace_id, field=name)
    return array


def _n_steps(
    trace_id: str, row: Mapping[str, np.ndarray], descriptors: Mapping[str, DescriptorInfo]
) -> int:
    lengths = {len(row[name]) for name, info in descriptors.items() if info.resolution == "step"}
    if len(lengths) > 1:
        raise InputError("descriptors differ in steps", file=FOLDER, row=trace_id, got=lengths)
    return lengths.pop() if lengths else 0


def _reopen(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    from safetensors.numpy import load_file

    read = load_file(path)
    if set(read) != set(tensors) or any(
        not np.array_equal(read[name], tensors[name]) for name in tensors
    ):
        raise OSError(f"{path}: the shard does not read back as written")


class Trajectories:
    """The descriptors of a dataset folder, by trace_id. Nothing is read until asked for.

    Of a dataset on the Hub, a shard is downloaded and verified when more than ``FEW`` of its
    traces are asked for at once. For fewer, the bytes of their rows are fetched alone; those are
    of the commit that was opened, and cannot be verified.
    """

    def __init__(self, files: VerifiedFiles, descriptors: Mapping[str, DescriptorInfo]) -> None:
        """Open the ``trajectories/`` of a folder; ``descriptors`` comes from the manifest."""
        self._files, self.descriptors = files, dict(descriptors)
        self._ranges: dict[str, ShardRanges] = {}
        path = files.path(f"{FOLDER}/{INDEX}")
        try:
            index = pq.read_table(path, schema=INDEX_SCHEMA)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"cannot be read: {error}", file=path) from None
        self._place = {
            trace_id: (shard, row)
            for trace_id, shard, row in zip(
                index["trace_id"].to_pylist(),
                index["shard"].to_pylist(),
                index["row"].to_pylist(),
                strict=True,
            )
        }

    def __len__(self) -> int:
        """Number of traces that have descriptors."""
        return len(self._place)

    def __contains__(self, trace_id: object) -> bool:
        """Whether a trace has descriptors."""
        return trace_id in self._place

    @property
    def trace_ids(self) -> list[str]:
        """The traces that have descriptors, sorted."""
        return sorted(self._place)

    def get(self, name: str, trace_ids: Sequence[str]) -> list[np.ndarray]:
        """A descriptor of some traces, in their order, as stored.

        Args:
            name: a descriptor of the manifest.
            trace_ids: any traces that have descriptors.

        Returns:
            One array a trace: (n_steps, *shape) at step resolution, (*shape) at trace resolution.

        Raises:
            InputError: an unknown descriptor or trace, or a shard that cannot be read.
        """
        if name not in self.descriptors:
            raise InputError("no such descriptor", expected=list(self.descriptors), got=name)
        info = self.descriptors[name]
        wanted: dict[str, list[int]] = {}
        for at, trace_id in enumerate(trace_ids):
            if trace_id not in self._place:
                raise InputError("no descriptors for this trace", file=FOLDER, row=trace_id)
            wanted.setdefault(self._place[trace_id][0], []).append(at)
        found: dict[int, np.ndarray] = {}
        for shard, places in wanted.items():
            numbers = [self._place[trace_ids[at]][1] for at in places]
            if len(places) <= FEW and not self._files.is_here(f"{FOLDER}/{shard}"):
                rows = self._elsewhere(shard).rows(name, info, numbers)
            else:
                data, offsets = self._read(shard, name)
                step = info.resolution == "step"
                rows = [data[offsets[n] : offsets[n + 1]] if step else data[n] for n in numbers]
            found.update(zip(places, rows, strict=True))
        return [found[at] for at in range(len(trace_ids))]

    def padded(
        self, name: str, trace_ids: Sequence[str], n_steps: int = 16
    ) -> tuple[np.ndarray, np.ndarray]:
        """A step descriptor, zero padded, and its mask.

        Returns:
            values float32 (n, n_steps, *shape) and mask bool (n, n_steps); longer traces are cut.
        """
        rows = self.get(name, trace_ids)
        values = np.zeros((len(rows), n_steps, *self.descriptors[name].shape), np.float32)
        mask = np.zeros((len(rows), n_steps), bool)
        for i, row in enumerate(rows):
            length = min(len(row), n_steps)
            values[i, :length], mask[i, :length] = row[:length], True
        return values, mask

    def _elsewhere(self, shard: str) -> ShardRanges:
        if shard not in self._ranges:
            file = f"{FOLDER}/{shard}"
            self._ranges[shard] = ShardRanges(file, OFFSETS, partial(self._files.part, file))
        return self._ranges[shard]

    def _read(self, shard: str, name: str) -> tuple[np.ndarray, np.ndarray]:
        from safetensors import SafetensorError, safe_open

        path = self._files.path(f"{FOLDER}/{shard}")
        try:
            with safe_open(str(path), framework="np") as file:
                return file.get_tensor(name), file.get_tensor(OFFSETS)
        except (SafetensorError, OSError) as error:
            raise InputError(f"shard cannot be read: {error}", file=path) from None
