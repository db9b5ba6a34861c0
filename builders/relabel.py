"""The same traces under another label rule: labels and pairs derived anew, nothing measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import faithshift_data as fd
from builders.audit import audit_counts
from builders.content import text_audit
from builders.descriptors import descriptors_of
from builders.labels import RULES, both_rules, label_all
from builders.pairs import make_pairs
from cards import dataset_card
from faithshift_data.dataset import write_folder
from faithshift_data.errors import InputError
from faithshift_data.schema import SPLITS, LabelRule
from faithshift_data.withheld import need_labels

Row = dict[str, Any]


def relabel(data: str, rule: str, out: Path) -> Path:
    """Write a dataset as another folder with labels by ``rule``.

    Edited partners exist only where the rule of the build asked for them, so that fewer pairs
    than a build under ``rule`` would make may stand in the new folder. An audit by annotators
    was one of the old labels and is left out.

    Args:
        data: name or path of a dataset that was built, not written by hand.
        rule: ``construct`` or ``construct+causal``.
        out: a new folder.

    Raises:
        InputError: another rule, or a dataset whose labels follow from neither.
    """
    known = [str(each) for each in RULES]
    if rule not in known:
        raise InputError("unknown", field="--rule", expected=known, got=rule)
    dataset = fd.open(data)
    need_labels(dataset)
    if dataset.manifest.label_rule not in known:
        raise InputError(
            "labels that no evidence decides",
            file=dataset.path,
            field="label_rule",
            expected=known,
            got=dataset.manifest.label_rule,
        )
    traces: dict[str, Row] = {row["trace_id"]: row for row in _rows(dataset, "traces")}
    interventions: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in _rows(dataset, "interventions"):
        interventions[row["trace_id"]].append(row)
    for trace_id, label in label_all(traces, interventions, LabelRule(rule)).items():
        traces[trace_id] |= {
            "label": label.value,
            "label_evidence": label.evidence,
            "label_rule": rule,
        }
    measured = {row["pair_id"]: row["deltas"]["semantic"] for row in _rows(dataset, "pairs")}
    pairs = make_pairs(traces, interventions, measured)
    tables: dict[str, dict[str, Any]] = {
        "traces": {s: [row for row in traces.values() if row["split"] == s] for s in SPLITS},
        "pairs": {s: [row for row in pairs if row["split"] == s] for s in SPLITS},
        "interventions": {s: dataset.table("interventions", s) for s in SPLITS},
    }
    manifest = asdict(dataset.manifest)
    old = manifest["label_rule"]
    manifest |= {"label_rule": rule, "audit": {"rules": audit_counts(pairs)}, "files": {}}
    manifest["counts"]["labels_by_rule"] = both_rules(traces, interventions)
    if rule != old:
        manifest["version"] = f"{manifest['version'].partition('+')[0]}+{rule}"
    note = (
        f"Labels follow rule `{rule}`, where {dataset.name} {dataset.manifest.version} has "
        f"`{old}`.\nTraces, interventions and descriptors are the same; pairs were derived anew."
    )
    manifest["notes"] = (*manifest["notes"], note)
    arrays = descriptors_of(dataset)
    manifest["audit"]["text"] = text_audit(manifest, tables, arrays)
    return write_folder(out, manifest, tables, arrays, card=dataset_card)


def _rows(dataset: fd.FaithShift, config: str) -> list[Row]:
    return dataset.table(config).to_pylist()
