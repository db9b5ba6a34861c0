"""Single rows of a safetensors shard that lies elsewhere, by the bytes they take."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from faithshift_data.errors import InputError
from faithshift_data.manifest import DescriptorInfo

# Enough for the header of a shard, which names its few tensors.
FIRST = 4096
LONGEST_HEADER = 2**20


class ShardRanges:
    """A shard of which only the header and the bytes of wanted rows are read."""

    def __init__(self, name: str, offsets: str, read: Callable[[int, int], bytes]) -> None:
        """Nothing is read yet.

        Args:
            name: of the file, for errors.
            offsets: name of the int64 tensor (n + 1,) that says where each trace begins.
            read: the bytes [start, stop) of the file.
        """
        self.name, self.offsets, self.read = name, offsets, read

    def rows(
        self, descriptor: str, info: DescriptorInfo, numbers: Sequence[int]
    ) -> list[np.ndarray]:
        """Rows of a descriptor, as ``Trajectories.get`` gives them.

        Raises:
            InputError: what comes is not a shard with this descriptor.
        """
        dtype = np.dtype(info.dtype)
        width = math.prod(info.shape) * dtype.itemsize
        found = []
        for number in numbers:
            first, last = number, number + 1
            if info.resolution == "step":
                bounds = self._bytes(self.offsets, 8 * number, 8 * (number + 2))
                first, last = np.frombuffer(bounds, "<i8").tolist()
            data = self._bytes(descriptor, first * width, last * width)
            shape = (-1, *info.shape) if info.resolution == "step" else info.shape
            found.append(np.frombuffer(data, dtype).reshape(shape).copy())
        return found

    def _bytes(self, tensor: str, start: int, stop: int) -> bytes:
        """Bytes [start, stop) of a tensor."""
        begin, end = self._places.get(tensor, (0, 0))
        if not 0 <= start <= stop <= end - begin:
            raise InputError("shard cannot be read: rows outside", file=self.name, field=tensor)
        data = self.read(begin + start, begin + stop) if stop > start else b""
        if len(data) != stop - start:
            expected, got = f"{stop - start} bytes", f"{len(data)} bytes"
            raise InputError("another part came", file=self.name, expected=expected, got=got)
        return data

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """Where each tensor begins and ends in the file."""
        start = self.read(0, FIRST)
        length = int.from_bytes(start[:8], "little")
        if len(start) < 8 or length > LONGEST_HEADER:
            raise InputError("shard cannot be read: no header", file=self.name)
        if 8 + length > len(start):
            start += self.read(len(start), 8 + length)
        try:
            header: Mapping[str, Any] = json.loads(start[8 : 8 + length])
            places = {
                name: [8 + length + offset for offset in entry["data_offsets"]]
                for name, entry in header.items()
                if name != "__metadata__"
            }
            return {name: (int(begin), int(end)) for name, (begin, end) in places.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"shard cannot be read: {error}", file=self.name) from None
