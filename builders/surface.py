"""What is not content of a withheld trace, as numbers: ids, places, nulls, counts and bytes."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from faithshift_data.errors import InputError
from faithshift_data.leakage import normalise
from faithshift_data.manifest import MANIFEST, Manifest
from faithshift_data.schema import SPLITS
from faithshift_data.trajectories import FOLDER, INDEX
from faithshift_data.views import TEXT
from faithshift_data.withheld import part_of, probe_name

CONTENT = {
    "traces": {*TEXT, "answer_status"},
    "pairs": set(),
    "interventions": {"response", "answer", "answer_status", "changed", "injection_verified"},
}
# What the groups below are made by.
FACTS = {"split", "fold", "question", "kind", "fraction"}
NOWHERE = (-1, "", -1)
Row = dict[str, Any]
Placed = tuple[int, Row]


def surface(public: Path) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """What is not content of every withheld trace.

    Args:
        public: the folder; its files are read as they lie, in their own order.

    Returns:
        Ids (n), names of features (k), and features (n, k); those of one value are left out.

    Raises:
        InputError: the folder withholds nothing.
    """
    withheld = Manifest.read(public / MANIFEST).withheld
    if withheld is None:
        raise InputError("withholds nothing", file=public, field="withheld")
    paired, index = _paired(public), _index(public)
    rng = np.random.default_rng(0)
    features: dict[str, dict[str, float]] = {}
    for part in withheld.parts:
        split = "test" if part == "test" else "validation"
        rows = _read(public, "traces", split)
        rows = [row for row in rows if part_of(row["split"], row["fold"]) == part]
        probes: dict[str, list[Placed]] = defaultdict(list)
        for place, row in enumerate(_read(public, "interventions", split)):
            probes[row["trace_id"]].append((place, row))
        shared = Counter(text for row in rows for text in _texts(row, "traces").items())
        for row in rows:
            name = row["trace_id"]
            texts = _texts(row, "traces")
            features[name] = {
                **_id(name, "trace"),
                **_id(row["item_id"], "item"),
                **_columns(texts, "traces"),
                **{f"{c} shared": shared[c, text] / len(rows) for c, text in texts.items()},
                **_probes(probes[name]),
                "pairs": paired[name],
                "pairs of item": paired[row["item_id"]],
                "in the index": float(name in index),
            }
        for order, ranks in _ranks(rows, probes, index, rng).items():
            for name, rank in ranks.items():
                features[name][order] = rank
    ids = sorted(features)
    columns = sorted({column for row in features.values() for column in row})
    x = np.array([[features[name].get(column, -1.0) for column in columns] for name in ids])
    varies = x.std(axis=0) > 0
    return ids, [name for name, kept in zip(columns, varies, strict=True) if kept], x[:, varies]


def _read(public: Path, config: str, split: str) -> list[Row]:
    path = public / config / f"{split}.parquet"
    skipped = CONTENT[config] - FACTS
    names = [name for name in pq.read_schema(path).names if name not in skipped]
    return pq.read_table(path, columns=names).to_pylist()


def _paired(public: Path) -> Counter[str]:
    """How often an id is named in the pairs."""
    rows = (row for split in SPLITS for row in _read(public, "pairs", split))
    return Counter(row[name] for row in rows for name in ("anchor_id", "partner_id", "item_id"))


def _index(public: Path) -> dict[str, tuple[int, str, int]]:
    """Place in the index, shard and row in it, by trace_id."""
    path = public / FOLDER / INDEX
    rows = pq.read_table(path).to_pylist() if path.is_file() else []
    return {row["trace_id"]: (at, row["shard"], row["row"]) for at, row in enumerate(rows)}


def _ranks(
    rows: Sequence[Row],
    probes: Mapping[str, list[Placed]],
    index: Mapping[str, tuple[int, str, int]],
    rng: np.random.Generator,
) -> dict[str, dict[str, float]]:
    """Where a trace comes in each order of the files: of its part, and of those of its question.

    A rank is uniform in [0, 1) under a random order, whatever the size of the group, since that
    size follows from the question.
    """
    names = [row["trace_id"] for row in rows]
    asked = {row["trace_id"]: normalise(row["question"]) for row in rows}
    orders = {
        "table": names,
        "ids": sorted(names),
        "index": sorted(names, key=lambda name: index.get(name, NOWHERE)[0]),
        "shards": sorted(names, key=lambda name: index.get(name, NOWHERE)[1:]),
        "probes": sorted(names, key=lambda name: min((at for at, _ in probes[name]), default=-1)),
    }
    # Two ranks in one order would tell by their difference how large a group is.
    different = {tuple(order): name for name, order in reversed(orders.items())}
    found: dict[str, dict[str, float]] = {}
    for order, what in different.items():
        groups: dict[str, list[str]] = defaultdict(list)
        for name in order:
            groups[asked[name]].append(name)
        found[f"{what} rank"] = {name: at / len(order) for at, name in enumerate(order)}
        found[f"{what} rank of question"] = {
            name: (at + rng.random()) / len(group)
            for group in groups.values()
            for at, name in enumerate(group)
        }
    return found


def _id(name: str, what: str) -> dict[str, float]:
    """An id as its length, its characters and the number that its digits are."""
    tail = name.rpartition("-")[2]
    hexadecimal = bool(tail) and set(tail) <= set("0123456789abcdef")
    number = int(tail, 16) / 16 ** len(tail) if hexadecimal else -1.0
    letters = {f"{what} {place:02}": float(ord(each)) for place, each in enumerate(name[:40])}
    return {f"{what} length": float(len(name)), f"{what} number": number, **letters}


def _texts(row: Row, config: str) -> dict[str, str]:
    """What stands in the columns that are not content, ids apart."""
    return {
        name: json.dumps(value, sort_keys=True)
        for name, value in row.items()
        if name not in CONTENT[config] | FACTS and name not in ("trace_id", "item_id")
    }


def _columns(texts: Mapping[str, str], config: str) -> dict[str, float]:
    """Whether a column is null, its bytes, and its value as a number."""
    found: dict[str, float] = {}
    for name, text in texts.items():
        found[f"{config}.{name} null"] = float(text == "null")
        found[f"{config}.{name} bytes"] = float(len(text.encode()))
        found[f"{config}.{name} value"] = float(sum(map(ord, text)))
    return found


def _probes(rows: Sequence[Placed]) -> dict[str, float]:
    """How many interventions of which kind, and what is not content in them."""
    found: Counter[str] = Counter({"interventions": len(rows)})
    for _, row in rows:
        found[f"interventions {probe_name(row['kind'], row['fraction'])}"] += 1
        texts = _texts(row, "interventions")
        texts.pop("intervention_id")
        found.update(_columns(texts, "interventions"))  # type: ignore[arg-type]
    first = _id(rows[0][1]["intervention_id"], "intervention") if rows else {}
    return {**{name: float(value) for name, value in found.items()}, **first}
