"""One build on several machines: who does which chunk, and bringing the chunks together."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builders.chunk import BrokenChunk, load
from faithshift_data.atomic import write_bytes
from faithshift_data.manifest import MANIFEST


@dataclass(frozen=True)
class Shard:
    """Shard ``index`` of ``count``, counted from 1."""

    index: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``"2/3"`` is the second of three.

        Raises:
            ValueError: anything else, in one line.
        """
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        shard = cls(*map(int, found.groups())) if found else cls(0, 0)
        if not 1 <= shard.index <= shard.count:
            raise ValueError(f"--shard: expected i/n with 1 <= i <= n, got {text!r}")
        return shard

    def takes(self, number: int) -> bool:
        """Whether chunk ``number``, counted from 0, is this shard's."""
        return number % self.count == self.index - 1


@dataclass
class Merged:
    """Chunks copied, already there, already there with other contents, and broken."""

    copied: int = 0
    there: int = 0
    differing: int = 0
    broken: int = 0


def merge(sources: Sequence[Path], into: Path) -> Merged:
    """Copy the sound chunks of several work folders into one.

    A chunk that is there and sound is left alone; where another machine's has other contents
    (its arithmetic rounds otherwise) the difference is counted.

    Args:
        sources: work folders.
        into: a work folder; made where there is none.

    Raises:
        ValueError: a source is no folder, or a dataset's instead of its ``.work``.
    """
    for source in sources:
        if not source.is_dir():
            raise ValueError(f"{source}: expected a work folder")
    for folder in (*sources, into):
        if (folder / MANIFEST).exists():
            raise ValueError(f"{folder}: expected a work folder (DIR.work), got a dataset")
    into.mkdir(parents=True, exist_ok=True)
    found = Merged()
    for path in (path for source in sources for path in sorted(source.glob("*.json"))):
        target = into / path.name
        try:
            chunk = _rows(path)
        except BrokenChunk:
            found.broken += 1
            continue
        try:
            differs = _rows(target) != chunk
        except BrokenChunk:
            _copy(path, target)
            found.copied += 1
        else:
            found.there += 1
            found.differing += differs
    return found


def _rows(path: Path) -> tuple[str, str | None]:
    """The verified sha256 of a chunk's rows and arrays."""
    load(path)
    head = json.loads(path.read_text("utf-8"))
    return head["rows_sha256"], head["arrays_sha256"]


def _copy(path: Path, target: Path) -> None:
    arrays = path.with_suffix(".npz")
    if arrays.exists():
        write_bytes(target.with_suffix(".npz"), arrays.read_bytes())
    write_bytes(target, path.read_bytes())
    load(target)
