"""Rows of a shard by their bytes: the same arrays as from the whole file, and no more bytes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save

import faithshift_data as fd
from faithshift_data.manifest import DescriptorInfo
from faithshift_data.ranges import FIRST, LONGEST_HEADER, ShardRanges

STEP = DescriptorInfo("step", "float16", (3,))
TRACE = DescriptorInfo("trace", "float32", (2, 2))
LENGTHS = (2, 0, 5, 1)


class Source:
    """Bytes, and which of them were asked for."""

    def __init__(self, data: bytes) -> None:
        self.data, self.asked = data, []

    def __call__(self, start: int, stop: int) -> bytes:
        self.asked.append((start, stop))
        return self.data[start:stop]


def shard(metadata: dict[str, str] | None = None) -> tuple[Source, dict[str, np.ndarray]]:
    offsets = np.cumsum([0, *LENGTHS]).astype(np.int64)
    tensors = {
        "offsets": offsets,
        "psi": np.arange(offsets[-1] * 3, dtype=np.float16).reshape(-1, 3),
        "state": np.arange(len(LENGTHS) * 4, dtype=np.float32).reshape(-1, 2, 2),
    }
    return Source(save(tensors, metadata)), tensors


@pytest.mark.parametrize("metadata", [None, {"format": "x" * 2 * FIRST}])
def test_rows_are_those_of_the_file(metadata: dict[str, str] | None) -> None:
    source, tensors = shard(metadata)
    ranges = ShardRanges("s", "offsets", source)
    offsets = tensors["offsets"]
    for number, array in zip((2, 0, 1, 3), ranges.rows("psi", STEP, (2, 0, 1, 3)), strict=True):
        assert np.array_equal(array, tensors["psi"][offsets[number] : offsets[number + 1]])
        assert array.dtype == np.float16 and array.shape == (LENGTHS[number], 3)
        array += 1  # as writable as what comes from a file
    for number, array in enumerate(ranges.rows("state", TRACE, range(4))):
        assert np.array_equal(array, tensors["state"][number])


def test_only_the_rows_bytes_are_asked_for() -> None:
    source, _ = shard()
    ranges = ShardRanges("s", "offsets", source)
    ranges.rows("psi", STEP, [2])
    header, bounds, row = source.asked
    assert header == (0, FIRST)
    assert (bounds[1] - bounds[0], row[1] - row[0]) == (16, LENGTHS[2] * 3 * 2)
    ranges.rows("state", TRACE, [0])
    assert len(source.asked) == 4, "the header is read once"
    assert np.diff(source.asked[3]).tolist() == [16]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no header"),
        ((LONGEST_HEADER + 1).to_bytes(8, "little"), "no header"),
        ((4).to_bytes(8, "little") + b"nope", "cannot be read"),
        ((2).to_bytes(8, "little") + b"[]", "cannot be read"),
        ((2).to_bytes(8, "little") + b"{}", "rows outside (s, field offsets)"),
    ],
)
def test_what_is_no_shard_is_one_line(data: bytes, said: str) -> None:
    with pytest.raises(fd.InputError) as error:
        ShardRanges("s", "offsets", Source(data)).rows("psi", STEP, [0])
    assert str(error.value).startswith("s") and "\n" not in str(error.value)
    assert said.partition(" (")[0] in str(error.value)


def test_rows_outside_and_cut_files_are_refused() -> None:
    source, _ = shard()
    with pytest.raises(fd.InputError, match="field offsets: shard cannot be read: rows outside"):
        ShardRanges("s", "offsets", source).rows("psi", STEP, [4])
    with pytest.raises(fd.InputError, match="field state: shard cannot be read: rows outside"):
        ShardRanges("s", "offsets", source).rows("state", TRACE, [4])
    cut = Source(source.data[:-1])
    # The last tensor of the file is the one of the smallest dtype.
    with pytest.raises(fd.InputError, match=r"another part came \(expected 6 bytes, got 5 bytes\)"):
        ShardRanges("s", "offsets", cut).rows("psi", STEP, [3])


def test_hostile_offsets_do_not_leave_their_tensor() -> None:
    header = {
        "offsets": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
        "psi": {"dtype": "F16", "shape": [1, 3], "data_offsets": [16, 22]},
    }
    text = json.dumps(header).encode()
    body = np.array([-1, 1], "<i8").tobytes() + bytes(6)
    source = Source(len(text).to_bytes(8, "little") + text + body)
    with pytest.raises(fd.InputError, match="field psi: shard cannot be read: rows outside"):
        ShardRanges("s", "offsets", source).rows("psi", STEP, [0])
