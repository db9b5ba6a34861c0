"""A dataset folder whose files were changed, and whose manifest agrees with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from faithshift_data.folder import file_table

Rows = list[dict[str, Any]]


def change(path: Path, how: Callable[[Rows], Rows | None]) -> None:
    """Put ``how(rows)`` into a table, or into each one of a folder; None: changed in place."""
    for file in sorted(path.rglob("*.parquet")) if path.is_dir() else [path]:
        table = pq.read_table(file)
        rows = table.to_pylist()
        changed = how(rows)
        made = pa.Table.from_pylist(rows if changed is None else changed, table.schema)
        pq.write_table(made, file)


def agree(folder: Path) -> None:
    """Write hashes and row counts of the files into the manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"] = {name: vars(info) for name, info in file_table(folder).items()}
    for config in ("traces", "pairs", "interventions"):
        for split in manifest["counts"][config]:
            rows = manifest["files"][f"{config}/{split}.parquet"]["rows"]
            manifest["counts"][config][split] = rows
    (folder / "manifest.json").write_text(json.dumps(manifest))
