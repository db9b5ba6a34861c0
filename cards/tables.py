"""Tables of detectors that belong into a dataset's card: what a study found, committed as JSON.

`faithshift study detectors --data NAME -o DIR` writes ``DIR/detectors.json``; it is committed as
``cards/tables/NAME.json``. A card shows a table only of the data that it was made on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cards.render import table
from faithshift_bench.evaluation import data_hash
from faithshift_bench.studies.detectors_table import header, notes, table_rows
from faithshift_data.errors import InputError

TABLES = Path(__file__).parent / "tables"


def detectors_table(manifest: Any) -> dict[str, Any] | None:
    """The table of detectors and its notes; None where there is none of exactly this data.

    Args:
        manifest: of a dataset.
    """
    study = _study(manifest.name)
    if study is None or study["data"]["hash"] != data_hash(manifest.files):
        return None
    return {"table": table(header(study), table_rows(study)), "notes": notes(study)}


def stale_table(manifest: Any) -> str | None:
    """What is wrong with the committed table of a dataset; None if nothing is, or there is none."""
    study = _study(manifest.name)
    if study is None or study["data"]["hash"] == data_hash(manifest.files):
        return None
    name = manifest.name
    return (
        f"cards/tables/{name}.json is of other data than {name} {manifest.version}; "
        f"`faithshift study detectors --data {name} -o DIR` makes DIR/detectors.json anew"
    )


def _study(name: str) -> dict[str, Any] | None:
    path = TABLES / f"{name}.json"
    if not path.is_file():
        return None
    try:
        study = json.loads(path.read_text("utf-8"))
        header(study), table_rows(study), study["data"]["hash"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"not a study of detectors: {error!r}", file=path) from None
    return study
