"""What is done of a long run: one file a row, named by all that it follows from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from faithshift_data.atomic import json_sha256, write_bytes
from faithshift_data.errors import InputError

ENDING = ".row"


def key_of(inputs: Mapping[str, Any]) -> str:
    """The name of the row that follows from ``inputs``: 32 hex digits."""
    return json_sha256(inputs)[:32]


class Store:
    """A work folder. A file is written whole or not at all, and carries its sha256.

    As a context it deletes its rows once the work is done, and keeps them where it is not.
    """

    def __init__(self, folder: Path) -> None:
        """Make the folder.

        Raises:
            InputError: it cannot be made.
        """
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=folder) from None

    @classmethod
    def beside(cls, folder: Path) -> Store:
        """The store of what is to become ``folder``: ``folder.work``."""
        whole = folder.absolute()
        return cls(whole.with_name(f"{whole.name}.work"))

    def get(self, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Values and arrays under a key; None where there are none, or none that are whole."""
        from safetensors.numpy import load

        try:
            digest, values, arrays = self._path(key).read_bytes().split(b"\n", 2)
        except (OSError, ValueError):
            return None
        if digest.decode("ascii", "replace") != _digest(values, arrays):
            return None
        return json.loads(values), load(arrays)

    def put(self, key: str, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Keep plain JSON values and arrays under a key."""
        from safetensors.numpy import save

        text, binary = json.dumps(values, allow_nan=False).encode(), save(dict(arrays))
        digest = _digest(text, binary).encode()
        write_bytes(self._path(key), b"\n".join([digest, text, binary]))

    def __enter__(self) -> Store:
        """The store itself."""
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        """Delete the rows if nothing failed, and the folder if it is empty then."""
        for path in self.folder.glob(f"*{ENDING}") if failed is None else ():
            path.unlink(missing_ok=True)
        try:
            self.folder.rmdir()
        except OSError:
            return

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{ENDING}"


def _digest(values: bytes, arrays: bytes) -> str:
    return hashlib.sha256(values + b"\n" + arrays).hexdigest()
