"""What a dataset holds, counted from its tables: for ``faithshift info``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from faithshift_data.schema import SPLITS

if TYPE_CHECKING:
    from faithshift_data import FaithShift

LABELS = {1: "faithful", 0: "unfaithful", None: "unknown"}


def summarise(data: FaithShift) -> dict[str, Any]:
    """Counts of traces, items, labels, pairs, drops and interventions, as plain JSON values."""
    manifest = data.manifest
    withheld = manifest.withheld.parts if manifest.withheld is not None else ()
    columns = ["split", "fold", "item_id", "label", "domain", "condition"]
    traces = data.table("traces").select(columns)
    splits: dict[str, dict[str, Any]] = {split: _empty() for split in SPLITS}
    items: dict[tuple[str, str | None], set[str]] = {}
    for row in traces.to_pylist():
        part = splits[row["split"]]
        part["traces"] += 1
        if row["condition"] is None:
            part["withheld"] = part.get("withheld", 0) + 1
            continue
        part[LABELS[row["label"]]] += 1
        for key in ((row["split"], None), (row["split"], row["fold"])):
            items.setdefault(key, set()).add(row["item_id"])
    for split in SPLITS:
        hides = "withheld" in splits[split]
        splits[split]["items"] = None if hides else len(items.get((split, None), ()))
    for fold in ("tune", "calib"):
        number = len(items.get(("validation", fold), ()))
        splits["validation"][f"items_{fold}"] = None if fold in withheld else number
    pairs = data.table("pairs").select(["axis", "kind", "split", "verified", "dropped_because"])
    return {
        "name": manifest.name,
        "version": manifest.version,
        "licence": manifest.licence,
        "models": [model.model_id for model in manifest.models],
        "withheld": list(withheld),
        "domains": dict(sorted(Counter(traces["domain"].drop_null().to_pylist()).items())),
        "splits": splits,
        "pairs": _pairs(pairs.to_pylist()),
        "interventions": data.table("interventions").num_rows,
        "measured_with": manifest.measured_with.get("model_id"),
        "not_measured": manifest.not_measured,
        "descriptors": sorted(manifest.descriptors),
        "bytes": sum(file.bytes for file in manifest.files.values()),
    }


def render_summary(summary: dict[str, Any]) -> str:
    """The summary as text."""
    withheld = summary["withheld"]
    shown = ("items", "traces", *LABELS.values(), *(["withheld"] if withheld else []))
    splits = [
        [name, *(_number(part.get(key, 0)) for key in shown)]
        for name, part in summary["splits"].items()
    ]
    pairs = [
        [
            row["axis"],
            row["kind"],
            *(str(row["verified"][split]) for split in SPLITS),
            ", ".join(f"{n} {reason}" for reason, n in row["dropped"].items()) or "none",
        ]
        for row in summary["pairs"]
    ]
    validation = summary["splits"]["validation"]
    total = sum(part["traces"] for part in summary["splits"].values())
    measured = total - summary["not_measured"]
    with_model = summary["measured_with"]
    return "\n".join(
        [
            f"{summary['name']} {summary['version']}, "
            f"licence {summary['licence'] or 'not stated'}, "
            f"{summary['bytes'] / 1e6:.1f} MB",
            f"written by {', '.join(summary['models']) or 'a model that is not stated'}",
            "",
            *_columns(["split", *shown], splits),
            f"validation items: {_number(validation['items_tune'])} tune, "
            f"{_number(validation['items_calib'])} calib",
            *([f"labels of {' and '.join(withheld)} are withheld"] if withheld else []),
            "",
            *_columns(["verified pairs", "kind", *SPLITS, "dropped"], pairs),
            "",
            f"{summary['interventions']} interventions; "
            f"descriptors: {', '.join(summary['descriptors']) or 'none'}",
            *([f"{measured} of {total} traces measured with {with_model}"] if with_model else []),
        ]
    )


def _number(count: int | None) -> str:
    return "not told" if count is None else str(count)


def _empty() -> dict[str, Any]:
    return {"items": 0, "traces": 0, **dict.fromkeys(LABELS.values(), 0)}


def _pairs(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    verified: Counter[tuple[str, str, str]] = Counter()
    dropped: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        place = (row["axis"], row["kind"])
        if row["verified"]:
            verified[*place, row["split"]] += 1
        else:
            dropped[*place, row["dropped_because"] or "not stated"] += 1
    places = {key[:2] for key in (*verified, *dropped)}
    return [
        {
            "axis": axis,
            "kind": kind,
            "verified": {split: verified[axis, kind, split] for split in SPLITS},
            "dropped": {key[2]: dropped[key] for key in sorted(dropped) if key[:2] == (axis, kind)},
        }
        for axis, kind in sorted(places, key=lambda place: (place[1], place[0]))
    ]


def _columns(head: Sequence[str], rows: list[list[str]]) -> list[str]:
    table = [list(head), *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    return ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in table]
