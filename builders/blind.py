"""Whether what is not content tells of withheld labels: models on it must be at chance.

Not content: ids, places in the files, which columns are null, how many rows there are, bytes of the
columns that no detector reads. A model that beats chance on these has found a leak.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import faithshift_data as fd
from builders.content import separation
from faithshift_data.leakage import normalise
from faithshift_data.manifest import MANIFEST, Manifest
from faithshift_data.schema import SPLITS
from faithshift_data.trajectories import FOLDER, INDEX
from faithshift_data.views import TEXT
from faithshift_data.withheld import part_of, probe_name

CONTENT = {
    "traces": {*TEXT, "answer_status", "split", "fold"},
    "interventions": {
        "kind",
        "fraction",
        "response",
        "answer",
        "answer_status",
        "changed",
        "injection_verified",
    },
}
MODELS = ("linear", "boosting")
FOLDS, LEAK = 5, 0.01
Row = dict[str, Any]


@dataclass(frozen=True)
class Blindness:
    """How well one model tells one target; ``leaks`` where even the low end is over chance.

    Attributes:
        target: ``label``, ``anchor`` (or partner), or ``kind`` (of a partner's pair).
        model: ``linear`` or ``boosting``.
        auroc, low, high: with an interval wide enough that all targets and models together
            pass by chance with probability 0.99; None where the target has one class.
        n: traces.
    """

    target: str
    model: str
    auroc: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def leaks(self) -> bool:
        """Whether the target can be told from what is not content."""
        return self.low is not None and self.low > 0.5

    def __str__(self) -> str:
        """One line."""
        if self.auroc is None or self.low is None:
            return f"{self.target} by {self.model}: undefined, {self.n} traces"
        return (
            f"{self.target} by {self.model}: AUROC {self.auroc:.3f} "
            f"[{self.low:.3f}, {self.high:.3f}], {self.n} traces{', LEAKS' * self.leaks}"
        )


def blindness(public: str | Path, key: str | Path) -> list[Blindness]:
    """Fit every model to every target, out of fold by item.

    Args:
        public: a folder that withholds labels.
        key: its key.
    """
    whole = fd.open(key)
    ids, x = surface(Path(public))
    traces = {row["trace_id"]: row for row in whole.table("traces").to_pylist()}
    items = np.array([traces[each]["item_id"] for each in ids])
    confidence = 1 - LEAK / (len(MODELS) * 3)
    found = []
    for target, labels in _targets(whole, ids, traces).items():
        rows = np.flatnonzero(labels >= 0)
        for model in MODELS:
            scores = np.zeros(len(ids))
            scores[rows] = _out_of_fold(model, x[rows], labels[rows], items[rows])
            told = separation(scores, labels, items, confidence=confidence)
            found.append(
                Blindness(target, model, told["auroc"], told["low"], told["high"], len(rows))
            )
    return found


def surface(public: Path) -> tuple[list[str], NDArray[np.float64]]:
    """What is not content of every withheld trace.

    Args:
        public: the folder; its files are read as they lie, in their own order.

    Returns:
        Ids (n), and features (n, k), columns of one value left out.
    """
    parts = (Manifest.read(public / MANIFEST).withheld or _refuse(public)).parts
    probes = {split: _by_trace(_read(public, "interventions", split)) for split in SPLITS}
    paired = _paired(public)
    index, index_rows = _index(public)
    rng = np.random.default_rng(0)
    features: dict[str, dict[str, float]] = {}
    for split in SPLITS:
        rows = _read(public, "traces", split)
        groups: dict[str, list[Row]] = defaultdict(list)
        for place, row in enumerate(rows):
            if part_of(row["split"], row["fold"]) in parts:
                groups[part_of(row["split"], row["fold"])].append(row)
                features[row["trace_id"]] = {"place": place / len(rows)}
        for group in groups.values():
            names = [row["trace_id"] for row in group]
            orders = {
                "table": names,
                "ids": sorted(names),
                "index": sorted(names, key=lambda name: index_rows.get(name, -1)),
                "probes": sorted(names, key=lambda name: probes[split].get(name, [(-1, {})])[0][0]),
            }
            asked = {row["trace_id"]: normalise(row["question"]) for row in group}
            for order, ordered in orders.items():
                _ranks(features, order, ordered, asked, rng)
        for row in (row for group in groups.values() for row in group):
            name = row["trace_id"]
            features[name] |= _id(name, "trace") | _id(row["item_id"], "item")
            features[name] |= _columns(row, CONTENT["traces"], "traces")
            features[name] |= _rows(probes[split].get(name, []))
            features[name] |= {"pairs": paired[name], "of item": paired[row["item_id"]]}
            features[name] |= index.get(name, {"no index": 1.0})
    ids = sorted(features)
    columns = sorted({column for row in features.values() for column in row})
    x = np.array([[features[name].get(column, -1.0) for column in columns] for name in ids])
    return ids, x[:, x.std(axis=0) > 0]


def _refuse(public: Path) -> Any:
    raise fd.InputError("withholds nothing", file=public, field="withheld")


def _read(public: Path, config: str, split: str) -> list[Row]:
    return pq.read_table(public / config / f"{split}.parquet").to_pylist()


def _by_trace(rows: Sequence[Row]) -> dict[str, list[tuple[int, Row]]]:
    found: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    for place, row in enumerate(rows):
        found[row["trace_id"]].append((place, row))
    return found


def _paired(public: Path) -> Counter[str]:
    """How often an id is named in the pairs."""
    named = ("anchor_id", "partner_id", "item_id")
    rows = (row for split in SPLITS for row in _read(public, "pairs", split))
    return Counter(row[name] for row in rows for name in named)


def _index(public: Path) -> tuple[dict[str, dict[str, float]], dict[str, int]]:
    path = public / FOLDER / INDEX
    rows = pq.read_table(path).to_pylist() if path.is_file() else []
    shards = sorted({row["shard"] for row in rows})
    where = {
        row["trace_id"]: {"shard": float(shards.index(row["shard"])), "shard row": row["row"]}
        for row in rows
    }
    return where, {row["trace_id"]: place for place, row in enumerate(rows)}


def _ranks(
    features: dict[str, dict[str, float]],
    order: str,
    names: Sequence[str],
    asked: dict[str, str],
    rng: np.random.Generator,
) -> None:
    """Where a trace comes in an order, of all and of those with its question.

    A rank is uniform in [0, 1) under a random order, whatever the size of the group, since that
    size follows from the question.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for place, name in enumerate(names):
        groups[asked[name]].append(name)
        features[name][f"{order} rank"] = place / len(names)
    for group in groups.values():
        for place, name in enumerate(group):
            features[name][f"{order} rank of question"] = (place + rng.random()) / len(group)


def _id(name: str, what: str) -> dict[str, float]:
    """An id as its length, its characters and the number that its digits are."""
    tail = name.rpartition("-")[2]
    number = int(tail, 16) / 16 ** len(tail) if _hexadecimal(tail) else -1.0
    letters = {f"{what} {place:02}": float(ord(each)) for place, each in enumerate(name[:40])}
    return {f"{what} length": len(name), f"{what} number": number, **letters}


def _hexadecimal(text: str) -> bool:
    return bool(text) and set(text) <= set("0123456789abcdef")


def _columns(row: Row, content: set[str], what: str) -> dict[str, float]:
    """Whether a column that is not content is null, its bytes, and its value as a number."""
    found: dict[str, float] = {}
    for column, value in row.items():
        if column in content or column.endswith("_id"):
            continue
        text = json.dumps(value, sort_keys=True, default=str)
        found[f"{what}.{column} null"] = float(value is None)
        found[f"{what}.{column} bytes"] = len(text.encode())
        found[f"{what}.{column} value"] = float(sum(map(ord, text)))
    return found


def _rows(rows: Sequence[tuple[int, Row]]) -> dict[str, float]:
    """How many interventions of which kind, and what is not content in them."""
    found: Counter[str] = Counter({"rows": len(rows)})
    for _, row in rows:
        found[f"rows {probe_name(row['kind'], row['fraction'])}"] += 1
        found.update(_columns(row, CONTENT["interventions"], "interventions"))
    first = _id(rows[0][1]["intervention_id"], "intervention") if rows else {}
    return {**{name: float(value) for name, value in found.items()}, **first}


def _targets(
    whole: fd.FaithShift, ids: Sequence[str], traces: dict[str, Row]
) -> dict[str, NDArray[np.int8]]:
    pairs = whole.table("pairs").to_pylist()
    anchors = {row["anchor_id"] for row in pairs}
    kinds = {
        row["partner_id"]: int(row["kind"] == "altering")
        for row in pairs
        if row["kind"] != "repeat"
    }
    told: dict[str, Iterable[int | None]] = {
        "label": (traces[each]["label"] for each in ids),
        "anchor": (int(each in anchors) for each in ids),
        "kind": (kinds.get(each) for each in ids),
    }
    return {
        name: np.array([-1 if value is None else value for value in values], np.int8)
        for name, values in told.items()
    }


def _out_of_fold(model: str, x: NDArray, labels: NDArray, items: NDArray) -> NDArray[np.float64]:
    """Scores by a model that has not seen the item, as ranks within their fold.

    The folds' base rates would otherwise speak against themselves: a fold with more of a class
    leaves fewer of it to the others.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scores = np.full(len(labels), 0.5)
    if len(set(items.tolist())) < FOLDS:
        return scores
    for learn, judge in GroupKFold(FOLDS).split(x, labels, items):
        if len(set(labels[learn].tolist())) < 2:
            continue
        fitted = (
            make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500))
            if model == "linear"
            else HistGradientBoostingClassifier(
                max_iter=40, max_leaf_nodes=8, max_bins=63, early_stopping=False, random_state=0
            )
        ).fit(x[learn], labels[learn])
        said = fitted.predict_proba(x[judge])[:, 1]
        _, place = np.unique(said, return_inverse=True)
        scores[judge] = place / max(1, place.max())
    return scores
