"""The dataset card's text, from the manifest and the tables; never typed by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from builders.axes.model_family import LICENCE_NOTE

Row = Mapping[str, Any]
Tables = Mapping[str, Mapping[str, Sequence[Row]]]

TEXT = Path(__file__).with_name("card.md")
NO_ANNOTATION = (
    "No person has annotated a sample yet, so the residual error of the labels is not known."
)


def card_text(manifest: Mapping[str, Any], tables: Tables) -> str:
    """Markdown below the YAML front matter."""
    splits = list(tables["traces"])
    model = manifest["models"][0]
    one_family = len({m["family"] for m in manifest["models"]}) == 1
    return TEXT.read_text("utf-8").format(
        name=manifest["name"],
        version=manifest["version"],
        model=model["model_id"],
        origin=model["origin"],
        model_licence=model["licence"],
        licence=manifest["licence"],
        sources=", ".join(f"{s['name']} ({s['licence']})" for s in manifest["sources"]),
        splits=" | ".join(splits),
        rule="|".join("---" for _ in splits),
        counts=_sizes(tables, splits),
        conditions=_conditions(tables, splits),
        pairs=_pairs(manifest, tables, splits),
        drops=_drops(_all(tables, "pairs")),
        probes=_probes(tables),
        label_rule=manifest["label_rule"],
        by_rule=label_rows(manifest["counts"]["labels_by_rule"]),
        audit=_audit(manifest),
        family=LICENCE_NOTE.strip() if one_family else "",
        writer_dtype=manifest["environment"]["writer_dtype"],
        reader_dtype=manifest["environment"]["reader_dtype"],
        screening=_screening(manifest),
    )


def _sizes(tables: Tables, splits: Sequence[str]) -> str:
    traces = tables["traces"]
    rows = [
        ("items", [len({t["item_id"] for t in traces[s]}) for s in splits]),
        ("traces", [len(traces[s]) for s in splits]),
    ]
    for name, value in (("faithful", 1), ("unfaithful", 0), ("unknown", None)):
        rows.append((name, [sum(t["label"] == value for t in traces[s]) for s in splits]))
    rows.append(("intervention rows", [len(tables["interventions"][s]) for s in splits]))
    return _lines((name, *numbers) for name, numbers in rows)


def _conditions(tables: Tables, splits: Sequence[str]) -> str:
    found = {s: Counter(t["condition"] for t in tables["traces"][s]) for s in splits}
    names = sorted({name for counts in found.values() for name in counts})
    return _lines((name, *(found[s][name] for s in splits)) for name in names)


def _pairs(manifest: Mapping[str, Any], tables: Tables, splits: Sequence[str]) -> str:
    rows = []
    for axis in manifest["axes"]:
        kinds = Counter(
            (p["kind"], s)
            for s in splits
            for p in tables["pairs"][s]
            if p["axis"] == axis["name"] and p["verified"]
        )
        for kind in sorted({kind for kind, _ in kinds} or {axis["kind"]}):
            numbers = [kinds[kind, s] for s in splits]
            rows.append((axis["name"], kind, axis["mode"] or "", *numbers))
    return _lines(rows)


def _drops(pairs: Iterable[Row]) -> str:
    """Why pairs were dropped, the frequent reasons first."""
    found = Counter((p["axis"], p["dropped_because"]) for p in pairs if not p["verified"])
    order = sorted(found.items(), key=lambda entry: (entry[0][0], -entry[1], entry[0][1]))
    return _lines((axis, reason, count) for (axis, reason), count in order)


def _probes(tables: Tables) -> str:
    """How many traces have each intervention."""
    found = Counter(
        (str(row["role"]), row["kind"], "" if row["fraction"] is None else row["fraction"])
        for row in _all(tables, "interventions")
    )
    order = sorted(found.items(), key=lambda entry: tuple(map(str, entry[0])))
    return _lines((*key, count) for key, count in order)


def label_rows(by_rule: Mapping[str, Any]) -> str:
    """Table rows of what ``builders.labels.both_rules`` counts: rule, then traces by label."""
    return _lines(
        (f"`{rule}`", *(counts["all"][name] for name in ("faithful", "unfaithful", "unknown")))
        for rule, counts in by_rule.items()
    )


def _audit(manifest: Mapping[str, Any]) -> str:
    human = manifest.get("audit", {}).get("human")
    if not human:
        return NO_ANNOTATION
    return f"A sample was annotated by two people; `audit.human` in the manifest: {human}"


def _screening(manifest: Mapping[str, Any]) -> str:
    return _lines(
        (domain, outcome, counts["candidates"], counts["kept"])
        for domain, outcomes in manifest["screening"]["by_domain"].items()
        for outcome, counts in outcomes.items()
    )


def _all(tables: Tables, config: str) -> Iterable[Row]:
    return (row for rows in tables[config].values() for row in rows)


def _lines(rows: Iterable[Sequence[object]]) -> str:
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in rows)
