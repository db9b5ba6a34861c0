"""Write a complete dataset folder: tables, shards, manifest, card. All or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from faithshift_data.atomic import new_folder, sha256_file
from faithshift_data.errors import InputError
from faithshift_data.front_matter import front_matter
from faithshift_data.manifest import MANIFEST, FileInfo, Manifest, inside
from faithshift_data.schema import CONFIGS, SPLITS
from faithshift_data.tables import Rows, to_table, write_table
from faithshift_data.trajectories import FOLDER, write_shards
from faithshift_data.withheld import check_withheld, hidden

CARD = "README.md"


def write_folder(
    folder: str | Path,
    manifest_fields: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Rows]],
    trajectories: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    *,
    card: str | Callable[[Path], str] = "",
    files: Mapping[str, Path] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a dataset folder under a temporary name, then rename it into place.

    ``counts``, ``label_counts``, ``drops`` and ``files`` of the manifest are counted from what is
    written; entries of ``counts`` in ``manifest_fields`` are kept beside them.

    Args:
        folder: where to; must be new or empty unless ``overwrite``.
        manifest_fields: the manifest's other keys; ``name`` and ``version`` at least.
        tables: config -> split -> rows (dicts or an Arrow table). Missing ones are written empty.
        trajectories: trace_id -> descriptor -> array, as the manifest's ``descriptors`` say.
        card: text of the README under its YAML front matter; or what makes the whole README of
            a folder with tables, shards and manifest, such as ``cards.dataset_card``.
        files: relative name -> a file to copy there, such as the weights of the traces' models.
        overwrite: replace an existing folder.

    Returns:
        The folder.

    Raises:
        InputError: rows or descriptors that do not fit the schema, or that tell of a label that
            the manifest says is withheld.
    """
    manifest = Manifest.from_dict(manifest_fields)
    made = {
        config: {
            split: to_table(
                config,
                tables.get(config, {}).get(split, ()),
                file=f"{config}/{split}.parquet",
                withheld=manifest.withheld is not None,
            )
            for split in SPLITS
        }
        for config in CONFIGS
    }
    if manifest.withheld is not None:
        for problem in check_withheld(made, manifest.withheld):
            raise InputError(str(problem))
    folder = Path(folder)
    with new_folder(folder, overwrite=overwrite) as new:
        for config, by_split in made.items():
            (new / config).mkdir()
            for split, table in by_split.items():
                write_table(new / config / f"{split}.parquet", table)
        if trajectories is not None:
            splits = {
                trace_id: split
                for split, table in made["traces"].items()
                for trace_id in table["trace_id"].to_pylist()
            }
            write_shards(new / FOLDER, trajectories, splits, manifest.descriptors)
        for name, source in (files or {}).items():
            target = inside(new, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        counts = {**manifest.counts, **count_rows(made)}
        manifest = replace(
            manifest,
            counts=counts,
            label_counts=count_labels(made["traces"]),
            drops=count_drops(made["pairs"]),
            files=file_table(new),
        )
        manifest.write(new / MANIFEST)
        text = card(new) if callable(card) else plain_card(manifest, card)
        (new / CARD).write_text(text, "utf-8")
    return folder


def file_table(folder: Path) -> dict[str, FileInfo]:
    """sha256, bytes and rows of every data file of a folder, by relative path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in (CARD, MANIFEST):
            table = path.suffix == ".parquet"
            rows = pq.read_metadata(path).num_rows if table else None
            found[name] = FileInfo(sha256_file(path), path.stat().st_size, rows)
    return found


def count_rows(tables: Mapping[str, Mapping[str, pa.Table]]) -> dict[str, Any]:
    """Rows by config and split, items by split and fold, traces by condition, pairs by axis.

    A trace whose label is withheld counts as a row and no more; items are None where some are of
    such traces.
    """
    counts: dict[str, Any] = {
        config: {split: table.num_rows for split, table in by_split.items()}
        for config, by_split in tables.items()
    }
    traces, pairs = tables["traces"], tables["pairs"]
    counts["items"] = {s: _items(t) for s, t in traces.items()}
    validation = traces["validation"]
    counts["items_by_fold"] = {
        fold: _items(validation.filter(pc.equal(validation["fold"], fold)))
        for fold in ("tune", "calib")
    }
    seen = {s: t.filter(pc.invert(hidden(t))) for s, t in traces.items()}
    counts["traces_by_condition"] = {s: _tally(t, "condition") for s, t in seen.items()}
    counts["traces_by_domain"] = {s: _tally(t, "domain") for s, t in seen.items()}
    counts["verified_pairs_by_axis"] = {
        s: _tally(t.filter(t["verified"]), "axis") for s, t in pairs.items()
    }
    return counts


def count_labels(traces: Mapping[str, pa.Table]) -> dict[str, dict[str, int]]:
    """Traces by split and label: faithful, unfaithful, unknown, and withheld where there are."""
    names = {1: "faithful", 0: "unfaithful", None: "unknown"}
    found = {}
    for split, table in traces.items():
        tally = dict.fromkeys(names.values(), 0)
        gone = hidden(table)
        for row in table.filter(pc.invert(gone))["label"].value_counts().to_pylist():
            tally[names.get(row["values"], "unknown")] += row["counts"]
        withheld = pc.sum(gone).as_py()
        found[split] = {**tally, "withheld": withheld} if withheld else tally
    return found


def count_drops(pairs: Mapping[str, pa.Table]) -> dict[str, dict[str, int]]:
    """Unverified pairs by axis and reason, over all splits."""
    drops: dict[str, dict[str, int]] = {}
    for table in pairs.values():
        dropped = table.filter(pc.invert(table["verified"]))
        for axis, reason in zip(
            dropped["axis"].to_pylist(), dropped["dropped_because"].to_pylist(), strict=True
        ):
            by_reason = drops.setdefault(axis, {})
            by_reason[reason or "unstated"] = by_reason.get(reason or "unstated", 0) + 1
    return drops


def _items(traces: pa.Table) -> int | None:
    return None if pc.any(hidden(traces)).as_py() else len(traces["item_id"].unique())


def _tally(table: pa.Table, column: str) -> dict[str, int]:
    return {row["values"]: row["counts"] for row in table[column].value_counts().to_pylist()}


def plain_card(manifest: Manifest, text: str = "") -> str:
    """README.md: the front matter, then ``text``."""
    body = text or f"# {manifest.name} {manifest.version}\n"
    return "\n".join([front_matter(manifest), body.rstrip("\n"), ""])
