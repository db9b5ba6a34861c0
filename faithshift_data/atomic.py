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


def json_sha256(value: object) -> str:
    """Hex sha256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


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
    """Yield a temporary path in the same folder; on success it becomes ``path``.

    Where ``path`` is a link, the file that it points to is replaced and the link is kept.

    Raises:
        InputError: ``path`` exists and is no regular file, or cannot be written.
    """
    with _named_by_user(Path(path)) as (target, hidden):
        if target.exists() and not target.is_file():
            raise InputError("not a regular file", file=path)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        os.close(handle)
        temporary = Path(name)
        hidden.append(name)
        try:
            yield temporary
            temporary.chmod(0o644)
            _fsync(temporary)
            os.replace(temporary, target)
            _fsync(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


def is_free(folder: Path) -> bool:
    """Whether a new folder can stand there: nothing does, or an empty folder."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


@contextmanager
def new_folder(folder: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary folder beside ``folder``; on success it becomes ``folder``.

    Where ``folder`` is a link, the folder that it points to is replaced and the link is kept.

    Raises:
        InputError: the folder exists, is not empty, and ``overwrite`` is false; it is no folder;
            or it cannot be written.
    """
    with _named_by_user(Path(folder)) as (target, hidden):
        if target.exists() and not target.is_dir():
            raise InputError("already exists, and is no folder", file=folder)
        if target.exists() and not overwrite and any(target.iterdir()):
            raise InputError("already exists", file=folder, expected="a new or empty folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        name = tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        temporary = Path(name)
        hidden.append(name)
        old = temporary.with_suffix(".old")
        try:
            temporary.chmod(0o755)
            yield temporary
            for path in sorted(temporary.rglob("*"), reverse=True):
                _fsync(path)
            _fsync(temporary)
            if target.exists():
                os.replace(target, old)
            os.replace(temporary, target)
            _fsync(target.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            if old.exists() and not target.exists():
                os.replace(old, target)
            shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _named_by_user(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """What ``path`` points to; an OSError inside becomes one line that names ``path``.

    Temporary names that are put into the list are replaced in the line.
    """
    hidden: list[str] = []
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    try:
        if target.is_symlink():
            raise InputError("a link to itself", file=path)
        yield target, hidden
    except OSError as error:
        reason = error.strerror or str(error)
        for name in hidden:
            reason = reason.replace(name, str(path))
        raise InputError(f"cannot be written: {reason}", file=path) from None


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
