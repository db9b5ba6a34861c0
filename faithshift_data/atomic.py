"""Files that are either whole or absent: write under a temporary name, fsync, rename."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faithshift_data.errors import InputError


def canonical_json(value: object) -> str:
    """JSON with sorted keys, two spaces and a final newline; NaN and infinities are refused."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def sha256_file(path: Path) -> str:
    """Hex sha256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_bytes(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` so that no reader ever sees a part of it."""
    with open_atomic(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    write_bytes(path, text.encode())


@contextmanager
def open_atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; on success it becomes ``path``."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        _fsync(temporary)
        os.replace(temporary, path)
        _fsync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary folder beside ``folder``; on success it becomes ``folder``.

    Raises:
        InputError: the folder exists, is not empty, and ``overwrite`` is false.
    """
    folder = Path(folder)
    if folder.exists() and not overwrite and (folder.is_file() or any(folder.iterdir())):
        raise InputError("already exists", file=folder, expected="a new or empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".tmp"))
    old = temporary.with_suffix(".old")
    try:
        temporary.chmod(0o755)
        yield temporary
        for path in sorted(temporary.rglob("*"), reverse=True):
            _fsync(path)
        _fsync(temporary)
        if folder.exists():
            os.replace(folder, old)
        os.replace(temporary, folder)
        _fsync(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if old.exists() and not folder.exists():
            os.replace(old, folder)
        shutil.rmtree(old, ignore_errors=True)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
