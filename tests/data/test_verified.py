"""What is read is what the manifest says: sha256 of each file, once, when it is first read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import faithshift_data as fd
from faithshift_data import verified
from tests.synthetic import write_synthetic

SHARD = "trajectories/descriptors-00000-of-00002.safetensors"


@pytest.fixture
def copy(synthetic: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(synthetic, tmp_path / "copy"))


def relabel(folder: Path, name: str, **change: Any) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"].setdefault(name, {"sha256": "0" * 64, "bytes": 0}).update(change)
    path.write_text(json.dumps(manifest))


READERS: dict[str, Callable[[fd.FaithShift], object]] = {
    "traces/test.parquet": lambda ds: ds.table("traces"),
    "pairs/test.parquet": lambda ds: ds.pairs,
    "interventions/test.parquet": lambda ds: ds.view("test", needs=("interventions",)),
    "trajectories/index.parquet": lambda ds: ds.trajectories,
    SHARD: lambda ds: ds.trajectories.get("psi", ds.trajectories.trace_ids),
}


@pytest.mark.parametrize("name", READERS)
def test_other_content_is_refused_where_it_is_read(copy: Path, name: str) -> None:
    expected = fd.open(copy).manifest.files[name].sha256
    data = (copy / name).read_bytes()
    READERS[name](fd.open(copy))
    relabel(copy, name, sha256="0" * 64)
    with pytest.raises(fd.InputError) as error:
        READERS[name](fd.open(copy))
    line = str(error.value)
    assert line.startswith(f"{copy / name}, field sha256: ")
    assert "`faithshift check` shows all" in line
    assert line.endswith(f"(expected {'0' * 64}, got {expected})")
    relabel(copy, name, sha256=expected)
    (copy / name).write_bytes(data + b" ")
    with pytest.raises(fd.InputError, match="other content"):
        READERS[name](fd.open(copy))


def test_corrupt_bytes_inside_a_shard(tmp_path: Path) -> None:
    ds = fd.open(write_synthetic(tmp_path / "d", 20, corrupt_shard=True))
    with pytest.raises(fd.InputError, match="other content"):
        ds.trajectories.get("psi", ds.trajectories.trace_ids)


def test_each_file_is_hashed_once(synthetic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []
    plain = verified.sha256_file
    monkeypatch.setattr(verified, "sha256_file", lambda path: hashed.append(path) or plain(path))
    ds = fd.open(synthetic)
    assert hashed == []
    for _ in range(2):
        ds.table("traces")
        ds.view("train", needs=("states", "descriptors"))
    assert len(hashed) == len(set(hashed)) > 4


def test_embedded_data_are_verified(
    synthetic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faithshift_data import dataset

    copy = shutil.copytree(synthetic, tmp_path / "e" / "tiny")
    monkeypatch.setattr(dataset, "EMBEDDED", tmp_path / "e")
    relabel(copy, "traces/train.parquet", sha256="0" * 64)
    with pytest.raises(fd.InputError, match="other content"):
        fd.open("tiny").table("traces")


def test_a_manifest_that_does_not_fit_the_folder_is_not_opened(copy: Path) -> None:
    relabel(copy, "../outside.parquet")
    with pytest.raises(fd.InputError, match="path outside the folder"):
        fd.open(copy)
    assert any("path outside" in str(problem) for problem in fd.check(copy))


def test_a_missing_file_is_refused_at_open(copy: Path) -> None:
    (copy / "pairs/test.parquet").unlink()
    with pytest.raises(fd.InputError, match=r"pairs/test\.parquet: no such file"):
        fd.open(copy)
    assert any("not in the folder" in str(problem) for problem in fd.check(copy))


def test_a_file_that_the_manifest_does_not_name_is_not_read(copy: Path) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["files"]["traces/test.parquet"]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(fd.InputError, match=r"traces/test\.parquet: not in the manifest"):
        fd.open(copy).table("traces")
