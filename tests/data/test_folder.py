"""Writing a folder: round trip, `datasets`, reproducible bytes, all or nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import faithshift_data as fd
from faithshift_data.dataset import write_folder
from faithshift_data.schema import CONFIGS, SCHEMAS, SPLITS


def parts(folder: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The arguments of write_folder that describe an existing folder."""
    ds = fd.open(folder)
    fields = json.loads(ds.manifest.to_json())
    fields.pop("files")
    tables = {c: {s: ds.table(c, s).to_pylist() for s in SPLITS} for c in CONFIGS}
    ids = ds.trajectories.trace_ids
    arrays = {
        trace_id: {"psi": psi, "state": state}
        for trace_id, psi, state in zip(
            ids, ds.trajectories.get("psi", ids), ds.trajectories.get("state", ids), strict=True
        )
    }
    return fields, tables, arrays


@pytest.fixture(scope="module")
def written(synthetic: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written") / "faithshift"
    return write_folder(folder, *parts(synthetic), card="# Card\n\nText.")


def test_round_trip(synthetic: Path, written: Path) -> None:
    assert fd.check(written) == []
    old, new = fd.open(synthetic), fd.open(written)
    for config in CONFIGS:
        for split in SPLITS:
            key = SCHEMAS[config].names[0]
            assert new.table(config, split).equals(old.table(config, split).sort_by(key))
            assert new.table(config, split).schema == SCHEMAS[config]
    ids = old.trajectories.trace_ids
    assert new.trajectories.trace_ids == ids
    for name in ("psi", "state"):
        for a, b in zip(
            old.trajectories.get(name, ids), new.trajectories.get(name, ids), strict=True
        ):
            assert np.array_equal(a, b)


def test_bytes_do_not_depend_on_row_order(synthetic: Path, written: Path, tmp_path: Path) -> None:
    fields, tables, arrays = parts(synthetic)
    shuffled = {c: {s: rows[::-1] for s, rows in by.items()} for c, by in tables.items()}
    other = write_folder(
        tmp_path / "o", fields, shuffled, dict(reversed(arrays.items())), card="# Card\n\nText."
    )
    names = sorted(p.relative_to(written) for p in written.rglob("*") if p.is_file())
    assert names == sorted(p.relative_to(other) for p in other.rglob("*") if p.is_file())
    for name in names:
        assert (written / name).read_bytes() == (other / name).read_bytes(), name


def test_counts_are_counted(written: Path) -> None:
    manifest, ds = fd.open(written).manifest, fd.open(written)
    rows = ds.table("traces", "test").to_pylist()
    assert manifest.label_counts["test"]["faithful"] == sum(r["label"] == 1 for r in rows)
    assert manifest.label_counts["test"]["unknown"] == sum(r["label"] is None for r in rows)
    assert manifest.counts["items_by_fold"] == {"calib": 8, "tune": 4}
    pairs = ds.table("pairs").to_pylist()
    no_ops = sum(r["axis"] == "paraphrase" and r["dropped_because"] == "no-op" for r in pairs)
    assert manifest.drops["paraphrase"] == {"no-op": no_ops}


@pytest.mark.parametrize("config", CONFIGS)
def test_load_dataset_gives_the_same_rows(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str
) -> None:
    import datasets

    monkeypatch.chdir(written.parent)
    ours = {"traces": fd.load, "pairs": fd.load_pairs, "interventions": fd.load_interventions}
    mine = ours[config](written)
    for name in ("faithshift", str(written)):
        theirs = datasets.load_dataset(name, config, cache_dir=str(tmp_path))
        assert list(theirs) == list(mine) == list(SPLITS)
        for split in SPLITS:
            assert theirs[split].features == mine[split].features
            assert theirs[split].to_list() == mine[split].to_list()
            assert mine[split].to_list() == fd.open(written).table(config, split).to_pylist()


def test_traces_are_the_default_config(written: Path, tmp_path: Path) -> None:
    import datasets

    found = datasets.load_dataset(str(written), cache_dir=str(tmp_path))
    assert found["test"].column_names == SCHEMAS["traces"].names
    assert (written / "README.md").read_text().endswith("---\n\n# Card\n\nText.\n")


def test_row_groups_and_no_dates(written: Path) -> None:
    meta = pq.read_metadata(written / "traces/train.parquet")
    assert all(meta.row_group(i).total_byte_size < 100 * 2**20 for i in range(meta.num_row_groups))
    assert meta.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda r: r.update(label="yes"), "field label: wrong type (expected int8, got 'yes')"),
        (lambda r: r.update(colour=1), "field colour: unknown column"),
        (lambda r: r.pop("item_id"), "field item_id: required (got null)"),
        (lambda r: r.update(split="dev"), "field split: not allowed"),
        (lambda r: r.update(steps="one"), "field steps: wrong type"),
    ],
)
def test_bad_rows_leave_nothing_behind(
    synthetic: Path, tmp_path: Path, change: Any, text: str
) -> None:
    fields, tables, _ = parts(synthetic)
    change(tables["traces"]["test"][5])
    with pytest.raises(fd.InputError) as error:
        write_folder(tmp_path / "d", fields, tables)
    assert text in str(error.value)
    assert "traces/test.parquet, row 5" in str(error.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("psi", np.zeros((2, 31)), "wrong shape"),
        ("state", np.full(24, 7e4), "not finite as float16"),
        ("state", None, "descriptor missing"),
    ],
)
def test_bad_descriptors_leave_nothing_behind(
    synthetic: Path, tmp_path: Path, name: str, value: Any, text: str
) -> None:
    fields, tables, arrays = parts(synthetic)
    first = next(iter(arrays))
    arrays[first] = {k: v for k, v in {**arrays[first], name: value}.items() if v is not None}
    with pytest.raises(fd.InputError, match=f"row {first}, field {name}: {text}"):
        write_folder(tmp_path / "d", fields, tables, arrays)
    assert os.listdir(tmp_path) == []


def test_an_existing_folder_is_kept_unless_told(synthetic: Path, tmp_path: Path) -> None:
    fields, tables, _ = parts(synthetic)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "mine.txt").write_text("mine")
    with pytest.raises(fd.InputError, match="already exists"):
        write_folder(tmp_path / "d", fields, tables)
    assert os.listdir(tmp_path / "d") == ["mine.txt"]
    fields["descriptors"] = {}
    write_folder(tmp_path / "d", fields, tables, overwrite=True)
    assert fd.check(tmp_path / "d") == []
    assert os.listdir(tmp_path) == ["d"]
