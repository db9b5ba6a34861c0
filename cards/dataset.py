"""The dataset card: README.md of a dataset folder, from its manifest and tables alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import faithshift_data as fd
from cards.render import fill, table
from cards.tables import detectors_table
from faithshift_data.front_matter import front_matter
from faithshift_data.schema import SPLITS

Row = Mapping[str, Any]
Cells = tuple[object, ...]
ROUTES = ("faithful", "epiphenomenal")
LABELS = {"faithful": 1, "unfaithful": 0, "unknown": None}
# What a card reads of each table.
COLUMNS = {
    "traces": ("item_id", "fold", "condition", "domain", "label"),
    "pairs": ("axis", "kind", "verified", "dropped_because"),
    "interventions": ("role", "kind", "fraction"),
}


def dataset_card(folder: str | Path) -> str:
    """The whole README.md: YAML front matter, then the card.

    Equal folders give equal cards; whatever a manifest does not hold has no section.

    Raises:
        InputError: no sound dataset folder.
    """
    data = fd.open(Path(folder).resolve())
    manifest = data.manifest
    rows = {config: _rows(data, config) for config in COLUMNS}
    return fill(
        "dataset.md",
        front=front_matter(manifest),
        manifest=manifest,
        sizes=table(["", *SPLITS], _sizes(rows, manifest.counts.get("items", {}))),
        folds=_folds(rows["traces"]["validation"]),
        domains=table(["domain", *SPLITS], _tally(rows["traces"], "domain")),
        conditions=table(["condition", *SPLITS], _tally(rows["traces"], "condition")),
        pairs=table(
            ["axis", "kind", "mode", *SPLITS],
            _pairs(manifest, rows["pairs"], _hidden(rows["traces"])),
        ),
        drops=table(["axis", "reason", "pairs"], _drops(rows["pairs"])),
        missing=table(["condition", "reason", "traces"], _missing(manifest.screening)),
        failed=_failed(manifest.screening),
        not_measured=manifest.counts.get("not_measured", {}),
        probes=table(
            ["role", "intervention", "share of words kept", "traces"],
            _probes(rows["interventions"]),
        ),
        descriptors=table(["descriptor", "one row a", "shape", "stored as"], _stored(manifest)),
        by_rule=table(["rule", *LABELS], _by_rule(manifest.counts.get("labels_by_rule", {}))),
        controls=_controls(manifest.withheld.controls if manifest.withheld else {}),
        text_alone=_controls(manifest.audit.get("text", {})),
        probed=table(
            ["linear probe on", "fitted on", "AUROC", "95%", "traces", "items"],
            map(_probed, manifest.audit.get("probes", ())),
        ),
        gates=table(
            ["model", "writes", "exact reasoning", "answer moves with", "leak"],
            _gates(manifest.audit.get("gates", ())),
        ),
        seeds=table(["family", "seeds that passed", "seeds that failed"], _seeds(manifest)),
        residual=manifest.audit.get("human", {}).get("residual_error"),
        models=table(
            ["model", "family", "licence", "where from", "revision"],
            ((m.model_id, m.family, m.licence, m.origin, m.revision) for m in manifest.models),
        ),
        sources=table(
            ["source of items", "licence", "where from"],
            ((s.name, s.licence, s.origin) for s in manifest.sources),
        ),
        made_with=_made_with(manifest.environment),
        detectors=detectors_table(manifest),
        screening=table(
            ["domain", "outcome of the first two generations", "candidates", "kept"],
            _screening(manifest.screening),
        ),
    )


def _by_rule(by_rule: Mapping[str, Any]) -> list[Cells]:
    return [
        (f"`{rule}`", *(counts["all"][name] for name in LABELS)) for rule, counts in by_rule.items()
    ]


def _rows(data: fd.FaithShift, config: str) -> dict[str, list[Row]]:
    names = list(COLUMNS[config])
    return {split: data.table(config, split).select(names).to_pylist() for split in SPLITS}


def _all(by_split: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    return (row for rows in by_split.values() for row in rows)


def _sizes(
    rows: Mapping[str, Mapping[str, Sequence[Row]]], items: Mapping[str, int | None]
) -> Iterator[Cells]:
    """Items, traces and labels; ``items`` is None for a split whose items are withheld."""
    shown = {s: [row for row in rows["traces"][s] if not _withheld(row)] for s in SPLITS}
    gone = _hidden(rows["traces"])
    yield (
        "items",
        *(
            "withheld" if items.get(s, 0) is None else len({row["item_id"] for row in shown[s]})
            for s in SPLITS
        ),
    )
    yield ("traces", *(len(rows["traces"][s]) for s in SPLITS))
    for name, value in LABELS.items():
        counts = {s: sum(row["label"] == value for row in shown[s]) for s in SPLITS}
        yield (f"traces {name}", *(_known(counts[s], s in gone) for s in SPLITS))
    hidden = [len(rows["traces"][s]) - len(shown[s]) for s in SPLITS]
    if any(hidden):
        yield ("traces whose label is withheld", *hidden)
    yield ("intervention rows", *(len(rows["interventions"][s]) for s in SPLITS))


def _withheld(row: Row) -> bool:
    """Whether a trace says nothing of what it was made from."""
    return row["condition"] is None


def _folds(validation: Sequence[Row]) -> dict[str, int]:
    """Items of validation by fold, where they are known."""
    return {
        fold: len(
            {row["item_id"] for row in validation if row["fold"] == fold and not _withheld(row)}
        )
        for fold in ("tune", "calib")
    }


def _tally(by_split: Mapping[str, Sequence[Row]], column: str) -> list[Cells]:
    found = {split: Counter(row[column] for row in rows) for split, rows in by_split.items()}
    names = {name for counts in found.values() for name in counts}
    order = sorted(names, key=lambda name: (name is None, name))
    return [(name or "withheld", *(found[split][name] for split in SPLITS)) for name in order]


def _hidden(traces: Mapping[str, Sequence[Row]]) -> set[str]:
    """Splits whose traces are withheld, all of them."""
    return {split for split, rows in traces.items() if rows and all(map(_withheld, rows))}


def _known(count: int, hidden: bool) -> object:
    """What nobody is told is not 0."""
    return "withheld" if hidden else count


def _pairs(
    manifest: Any, by_split: Mapping[str, Sequence[Row]], hidden: set[str]
) -> Iterator[Cells]:
    counts = Counter(
        (row["axis"], row["kind"], split)
        for split, rows in by_split.items()
        for row in rows
        if row["verified"]
    )
    for axis in manifest.axes:
        kinds = sorted({kind for name, kind, _ in counts if name == axis.name} or {axis.kind})
        for kind in kinds:
            counted = (_known(counts[axis.name, kind, s], s in hidden) for s in SPLITS)
            yield (axis.name, kind, axis.mode, *counted)


def _drops(by_split: Mapping[str, Sequence[Row]]) -> list[Cells]:
    """Why pairs were dropped, the frequent reasons of an axis first."""
    found = Counter(
        (row["axis"], row["dropped_because"] or "unstated")
        for row in _all(by_split)
        if not row["verified"]
    )
    order = sorted(found.items(), key=lambda entry: (entry[0][0], -entry[1], entry[0][1]))
    return [(axis, reason, count) for (axis, reason), count in order]


def _missing(screening: Mapping[str, Any]) -> list[Cells]:
    """Traces of kept items that never came to be."""
    found = screening.get("dropped_traces_of_kept_items", {})
    return [
        (condition, reason, count)
        for condition, reasons in sorted(found.items())
        for reason, count in sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))
    ]


def _failed(screening: Mapping[str, Any]) -> int | None:
    """Rows whose making raised an error, in all stages; None where nobody counted."""
    stages = screening.get("errors")
    return None if stages is None else sum(stage["count"] for stage in stages.values())


def _probes(by_split: Mapping[str, Sequence[Row]]) -> list[Cells]:
    """How many traces have each intervention."""
    found = Counter(
        (row["role"], row["kind"], "" if row["fraction"] is None else row["fraction"])
        for row in _all(by_split)
    )
    order = sorted(found.items(), key=lambda entry: tuple(map(str, entry[0])))
    return [(*key, count) for key, count in order]


def _gates(gates: Sequence[Row]) -> Iterator[Cells]:
    """What each model did before it might write; the faithful route first."""
    for gate in gates:
        exact = (sum(by.values()) / len(by) for by in map(gate["exact"].get, ROUTES))
        moves = (
            f"{name.replace('_', ' ')} {' / '.join(f'{shares[route]:.2f}' for route in ROUTES)}"
            for name, shares in sorted(gate["interventions"].items())
        )
        yield (
            gate["model_id"],
            "train" if gate["train"] else "validation, test",
            " / ".join(f"{share:.3f}" for share in exact),
            "; ".join(moves),
            " / ".join(str(gate["leak"][route]) for route in ROUTES),
        )


def _seeds(manifest: Any) -> list[Cells]:
    found = manifest.screening.get("seeds", {})
    return [
        (family, *(", ".join(map(str, seeds[said])) for said in ("passed", "failed")))
        for family, seeds in sorted(found.items())
    ]


def _controls(controls: Mapping[str, Any]) -> str:
    """How well detectors that read no more than length and words do."""
    return table(
        ["control", "AUROC", "95%", "traces", "items"],
        ((name, *_separation(found)) for name, found in sorted(controls.items())),
    )


def _probed(found: Row) -> Cells:
    return (f"`{found['features']}`", found["reach"], *_separation(found))


def _separation(found: Row) -> Cells:
    """An AUROC with its interval, or why there is none."""
    counts = found["n_traces"], found["n_items"]
    if found["auroc"] is None:
        return (found["reason"], "", *counts)
    known = found["low"] is not None
    interval = f"{found['low']:.3f} to {found['high']:.3f}" if known else "undefined"
    return (f"{found['auroc']:.3f}", interval, *counts)


def _stored(manifest: Any) -> list[Cells]:
    return [
        (f"`{name}`", info.resolution, " x ".join(map(str, info.shape)), info.dtype)
        for name, info in manifest.descriptors.items()
    ]


def _screening(screening: Mapping[str, Any]) -> list[Cells]:
    return [
        (domain, outcome, counts["candidates"], counts["kept"])
        for domain, outcomes in screening.get("by_domain", {}).items()
        for outcome, counts in outcomes.items()
    ]


def _made_with(environment: Mapping[str, Any]) -> list[str]:
    """Each different maker's software in a line."""
    return [
        ", ".join(f"{name} {version}" for name, version in sorted(maker["versions"].items()))
        + f"; python {maker['python']}, {maker['machine']}"
        for maker in environment.get("machines", ())
    ]
