"""Where results may be written: not over what is read, and into a folder that takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from faithshift_data.atomic import is_free
from faithshift_data.errors import InputError
from faithshift_data.manifest import MANIFEST

if TYPE_CHECKING:
    from faithshift_data import FaithShift


def files_of(dataset: FaithShift) -> list[Path]:
    """The files that a dataset is read from."""
    return [Path(dataset.path) / name for name in (MANIFEST, *dataset.manifest.files)]


def spare(targets: Mapping[str, str | Path | None], inputs: Sequence[Path]) -> None:
    """Refuse to write over what is read, into a dataset's folder, or twice to one file.

    Args:
        targets: an option's name and the file it names; None and ``-`` (stdout) are passed over.
        inputs: files that are read.

    Raises:
        InputError: naming the option.
    """
    taken = {os.path.realpath(path) for path in inputs}
    folders = [Path(path).parent for path in taken if Path(path).name == MANIFEST]
    for option, target in targets.items():
        if target is None or target == "-":
            continue
        real = os.path.realpath(target)
        if real in taken:
            raise InputError("would overwrite", field=option, expected="a new file", got=target)
        if any(Path(real).is_relative_to(folder) for folder in folders):
            message = "would lie among the dataset's files"
            raise InputError(message, field=option, expected="a place elsewhere", got=target)
        taken.add(real)


def check_target(path: str | Path) -> Path:
    """The path, if scores could be written there; asked before a detector is fitted.

    Raises:
        InputError: another ending than ``.parquet`` (a CSV file could not name the detector), a
            folder, or a place that cannot be written to.
    """
    path = Path(path)
    if path.suffix.lower() != ".parquet":
        message = "scores are written as Parquet"
        raise InputError(message, file=path, expected=".parquet", got=path.suffix or "no ending")
    if path.is_dir():
        raise InputError("is a folder", file=path, expected="a file")
    check_folder(path.parent)
    return path


def check_free(folder: str | Path) -> Path:
    """The folder, if a new one could be written there; asked before anything is computed.

    Raises:
        InputError: it holds something, is a file, or cannot be made.
    """
    folder = Path(folder)
    if not is_free(folder):
        raise InputError("already exists", file=folder, expected="a new or empty folder")
    check_folder(folder.parent)
    return folder


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, or made."""
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise InputError("cannot be written to", file=there, expected="a folder to write into")
