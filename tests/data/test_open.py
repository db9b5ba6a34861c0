"""open(), path() and the manifest: what is found, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import faithshift_data as fd
from faithshift_data.manifest import Manifest, inside

HEAVY = ("torch", "transformers", "datasets", "evaluate", "sklearn", "matplotlib")


def test_import_and_open_load_nothing_heavy(synthetic: Path) -> None:
    code = (
        "import sys, faithshift_data as fd\n"
        f"view = fd.open({str(synthetic)!r}).view('train', needs=('text', 'states'))\n"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_open_and_load(synthetic: Path) -> None:
    ds = fd.open(synthetic)
    assert (ds.name, ds.path) == ("synthetic", synthetic)
    assert fd.load(synthetic)["train"].num_rows == ds.table("traces", "train").num_rows
    assert fd.load_pairs(synthetic)["test"].num_rows == ds.table("pairs", "test").num_rows
    assert ds.table("traces").num_rows == len(fd.load_trajectories(synthetic)) == 560
    assert ds.traces is ds.traces


def test_what_cannot_be_opened(tmp_path: Path, synthetic: Path) -> None:
    with pytest.raises(fd.InputError, match="no such dataset"):
        fd.open("no-such-name")
    with pytest.raises(fd.InputError, match=r"manifest\.json: no such file"):
        fd.open(tmp_path)
    with pytest.raises(fd.InputError, match="only a Hub dataset has revisions"):
        fd.open(synthetic, revision="v1")
    with pytest.raises(fd.InputError, match="no such embedded dataset"):
        fd.path("no-such-name")
    with pytest.raises(fd.InputError, match="field config"):
        fd.open(synthetic).table("answers")


def test_trajectories_in_any_order_and_cut(synthetic: Path) -> None:
    found = fd.load_trajectories(synthetic)
    ids = found.trace_ids
    straight = found.get("psi", ids)
    for a, b in zip(straight, reversed(found.get("psi", ids[::-1])), strict=True):
        assert np.array_equal(a, b)
    values, mask = found.padded("psi", ids, n_steps=2)
    lengths = np.array([len(row) for row in straight])
    assert np.array_equal(mask.sum(axis=1), np.minimum(lengths, 2))
    assert lengths.max() > 2
    assert np.array_equal(values[0, 0], straight[0][0].astype(np.float32))
    assert ids[0] in found and "trace-none" not in found
    with pytest.raises(fd.InputError, match="row trace-none"):
        found.get("psi", ["trace-none"])
    with pytest.raises(fd.InputError, match="no such descriptor"):
        found.get("phi", ids)


def test_manifest_round_trip_is_canonical(synthetic: Path) -> None:
    manifest = Manifest.read(synthetic / "manifest.json")
    again = Manifest.from_dict(json.loads(manifest.to_json()))
    assert again == manifest
    assert again.to_json() == manifest.to_json()
    assert list(json.loads(manifest.to_json())) == sorted(json.loads(manifest.to_json()))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"colour": 1}, "field colour: unknown key"),
        ({"models": [{"model_id": "m", "size": 1}]}, "field models.size: unknown key"),
        ({"axes": [{"name": "a", "kind": "odd"}]}, "field axes.kind: not allowed"),
        ({"files": {"x": {"sha256": ""}}}, "field files.x.bytes: missing key"),
        ({"manifest_version": 2}, "field manifest_version: made by a newer version"),
        ({"manifest_version": 2, "colour": "red"}, "field manifest_version: made by a newer"),
        ({"manifest_version": None}, "field manifest_version: made by another version"),
        ({"schema_version": 0}, "field schema_version: made by another version"),
        ({"models": 3}, "not a manifest"),
    ],
)
def test_manifests_refused(tmp_path: Path, change: dict, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"name": "n", "version": "1", **change}))
    with pytest.raises(fd.InputError) as error:
        Manifest.read(path)
    assert text in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": "n"}'])
def test_not_a_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(fd.InputError, match=r"manifest\.json"):
        fd.open(tmp_path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_a_manifest_nested_deeply(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(fd.InputError, match=r"manifest\.json: not a manifest: nested too deeply"):
        fd.open(tmp_path)


def test_a_manifest_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(fd.InputError, match=r"manifest\.json: cannot be read"):
        fd.open(tmp_path)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x"])
def test_inside(tmp_path: Path, name: str) -> None:
    assert inside(tmp_path, "a/../b") == tmp_path / "a/../b"
    with pytest.raises(fd.InputError, match="path outside the folder"):
        inside(tmp_path, name)


def test_a_snapshot_of_the_hub_links_into_its_blobs(synthetic: Path, tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "snapshots" / "abc", tmp_path / "blobs"
    blobs.mkdir()
    for number, file in enumerate(sorted(p for p in synthetic.rglob("*") if p.is_file())):
        (blobs / str(number)).write_bytes(file.read_bytes())
        link = snapshot / file.relative_to(synthetic)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blobs / str(number))
    assert fd.open(snapshot).table("traces").num_rows == 560
    assert fd.check(snapshot) == []
    (tmp_path / "other").touch()
    (snapshot / "out").symlink_to(tmp_path / "other")
    for name in ("../../blobs/0", "../def/x", "out"):
        with pytest.raises(fd.InputError, match="path outside the folder"):
            inside(snapshot, name)
