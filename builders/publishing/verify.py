"""A published commit is downloaded into an empty cache, hashed, and loaded as users load it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from builders.publishing.parcel import Parcel
from builders.publishing.repository import Repository
from faithshift_data.atomic import sha256_file
from faithshift_data.checks import ATTRIBUTES
from faithshift_data.errors import InputError
from faithshift_data.manifest import MANIFEST, Manifest
from faithshift_data.schema import CONFIGS


def verify(repository: Repository, parcel: Parcel, commit: str) -> str:
    """Check a commit; what was checked, in a few words.

    Raises:
        InputError: a file is missing, too many or different, or the version cannot be loaded.
    """
    with tempfile.TemporaryDirectory() as cache:
        folder = repository.download(commit, Path(cache) / "hub")
        _hashes(repository, parcel, folder)
        said = f"{len(parcel.files)} files by sha256"
        if parcel.kind == "dataset":
            said += f", {_load(repository, commit, folder, Path(cache))} rows by load_dataset"
        elif parcel.kind == "detector":
            from faithshift_bench.detectors import load_saved

            said += f", {load_saved(folder).name} by load"
    return said


def _hashes(repository: Repository, parcel: Parcel, folder: Path) -> None:
    expected = parcel.sha256
    got = {
        path.relative_to(folder).as_posix(): sha256_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ATTRIBUTES
    }
    for name in sorted(expected.keys() | got.keys()):
        if expected.get(name) != got.get(name):
            message = "the Hub holds other bytes than were sent; the version gets no tag"
            place = f"{repository.name}/{name}"
            found = {
                "expected": expected.get(name, "no such file"),
                "got": got.get(name, "no file"),
            }
            raise InputError(message, file=place, field="sha256", **found)


def _load(repository: Repository, commit: str, folder: Path, cache: Path) -> int:
    """Load every config of the commit by its name on the Hub; the number of rows."""
    import datasets

    counts = Manifest.read(folder / MANIFEST).counts
    total = 0
    for config in CONFIGS:
        expected = {split: rows for split, rows in counts[config].items() if rows}
        if not expected:
            continue
        loaded = repository.patience.call(
            "load_dataset",
            lambda config=config: datasets.load_dataset(
                repository.name,
                config,
                revision=commit,
                token=repository.patience.token,
                cache_dir=str(cache / "datasets"),
            ),
        )
        got = {split: table.num_rows for split, table in loaded.items()}
        if got != expected:
            message = "load_dataset gives other rows; the version gets no tag"
            raise InputError(
                message, file=repository.name, field=config, expected=expected, got=got
            )
        total += sum(got.values())
    return total
