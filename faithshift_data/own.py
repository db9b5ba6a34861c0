"""write(): somebody's own traces as a dataset folder, with what is missing filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faithshift_data.errors import InputError
from faithshift_data.folder import write_folder
from faithshift_data.leakage import normalise
from faithshift_data.reasoning import split_steps
from faithshift_data.schema import SPLITS, Kind, LabelRule, stable_id
from faithshift_data.soundness import check_tables
from faithshift_data.splits import PAPER_SHARES, assign_fold, assign_split
from faithshift_data.tables import Rows, to_table
from faithshift_data.wellformed import refuse_half_characters

DEFAULTS: dict[str, Any] = {
    "domain": "own",
    "source": "own",
    "model_id": "unknown",
    "condition": "base",
    "gen_index": 0,
    "truncated": False,
    "licence": "unspecified",
}


def write(
    folder: str | Path, traces: Rows, pairs: Rows | None = None, *, name: str | None = None
) -> Path:
    """Write own traces as a dataset folder.

    Only ``question`` is required of a trace. What is missing is filled: ids from the content,
    ``steps`` from ``reasoning``, ``split`` (60/15/25) and ``fold`` from a hash of the item,
    ``answer_kind`` (letter where there are options, else text), ``label_rule`` ``given``.

    Args:
        folder: a new or empty folder.
        traces: dicts or an Arrow table with columns of the traces table; at least one.
        pairs: dicts or a table with at least anchor_id, partner_id, axis and kind. None: one pair
            for each trace that has an anchor_id, of the kind its labels say.
        name: name in the manifest; default the folder's.

    Returns:
        The folder.

    Raises:
        InputError: the first thing that is wrong; nothing is written then.
    """
    fields, tables = check_own(traces, pairs)
    return write_folder(folder, {"name": name or Path(folder).resolve().name, **fields}, tables)


def check_own(
    traces: Rows, pairs: Rows | None = None
) -> tuple[dict[str, Any], dict[str, dict[str, pa.Table]]]:
    """The manifest fields and tables that ``write`` would write; arguments and errors as there."""
    rows = [_fill_trace(row, number) for number, row in enumerate(_dicts(traces, "traces"))]
    if not rows:
        raise InputError("no traces", expected="at least one", got="none")
    whole = {"traces": to_table("traces", rows)}
    by_id = {row["trace_id"]: row for row in rows}
    given = _own_pairs(rows) if pairs is None else _dicts(pairs, "pairs")
    made = [_fill_pair(row, by_id, number) for number, row in enumerate(given)]
    whole["pairs"] = to_table("pairs", made)
    kinds: dict[str, Counter[tuple[str, Any]]] = {}
    for pair in made:
        kinds.setdefault(pair["axis"], Counter())[pair["kind"], pair.get("mode")] += 1
    axes = [
        {"name": axis, "kind": kind, "mode": mode}
        for axis, tally in sorted(kinds.items())
        for kind, mode in [min(tally, key=lambda key: (-tally[key], str(key)))]
    ]
    axes += [
        {"name": axis, "kind": Kind.PRESERVING}
        for axis in sorted({row["axis"] for row in rows if row.get("axis")} - set(kinds))
    ]
    models = [_model(rows, model_id) for model_id in sorted({row["model_id"] for row in rows})]
    checked = {
        config: {split: table.filter(pc.equal(table["split"], split)) for split in SPLITS}
        for config, table in whole.items()
    }
    problems = check_tables(
        checked, {axis["name"] for axis in axes}, {m["model_id"] for m in models}
    )
    if problems:
        raise InputError(str(problems[0]))
    fields = {
        "version": "0.0.0",
        "label_rule": "given",
        "axes": axes,
        "models": models,
        "sources": [{"name": source} for source in sorted({row["source"] for row in rows})],
    }
    return fields, checked


def _model(rows: Iterable[Mapping[str, Any]], model_id: str) -> dict[str, Any]:
    """What all traces of a model agree in."""
    found: dict[str, Any] = {"model_id": model_id}
    for name in ("revision", "family"):
        said = {row.get(f"model_{name}") for row in rows if row["model_id"] == model_id}
        found[name] = said.pop() if len(said) == 1 else None
    return found


def _dicts(rows: Rows, file: str) -> list[dict[str, Any]]:
    if isinstance(rows, pa.Table):
        return rows.to_pylist()
    found = []
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError("not a row", file=file, row=number, expected="a dict", got=repr(row))
        # Rows of a data frame hold arrays in the place of lists.
        lists = {key: value.tolist() for key, value in row.items() if isinstance(value, np.ndarray)}
        found.append({**row, **lists})
        refuse_half_characters(found[-1], file=file, row=number)
    return found


def _fill_trace(given: Mapping[str, Any], number: int) -> dict[str, Any]:
    row = {**DEFAULTS, **{key: value for key, value in given.items() if value is not None}}
    if not row.get("question"):
        raise InputError("required", file="traces", row=number, field="question", got="nothing")
    question = str(row["question"])
    row.setdefault("prompt", question)
    row.setdefault("item_id", stable_id("item", normalise(question)))
    row.setdefault("answer_kind", "letter" if row.get("options") else "text")
    row.setdefault("answer_status", "explicit" if row.get("answer") is not None else "none")
    reasoning = row.get("reasoning")
    row.setdefault("steps", split_steps(reasoning) if isinstance(reasoning, str) else [])
    row.setdefault("label_evidence", [])
    row.setdefault("split", assign_split(row["item_id"], PAPER_SHARES, row["domain"]))
    if row["split"] == "validation":
        row.setdefault("fold", assign_fold(row["item_id"]))
    if row.get("label") is not None:
        row.setdefault("label_rule", str(LabelRule.GIVEN))
    content = [row["item_id"], row["model_id"], row["condition"], row["gen_index"], row["prompt"]]
    row.setdefault("trace_id", stable_id("trace", *content, reasoning))
    return row


def _own_pairs(traces: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "axis": trace.get("axis") or trace["condition"],
            "mode": trace.get("mode"),
            "anchor_id": trace["anchor_id"],
            "partner_id": trace["trace_id"],
        }
        for trace in traces
        if trace.get("anchor_id") is not None
    ]


def _fill_pair(
    given: Mapping[str, Any], traces: Mapping[str, Mapping[str, Any]], number: int
) -> dict[str, Any]:
    row = {key: value for key, value in given.items() if value is not None}
    for name in ("axis", "anchor_id", "partner_id"):
        if name not in row:
            raise InputError("required", file="pairs", row=number, field=name, got="nothing")
    for name in ("anchor_id", "partner_id"):
        if not isinstance(row[name], str) or row[name] not in traces:
            raise InputError("no such trace", file="pairs", row=number, field=name, got=row[name])
    anchor, partner = traces[row["anchor_id"]], traces[row["partner_id"]]
    left, right = anchor.get("label"), partner.get("label")
    difference = None if left is None or right is None else right - left
    row.setdefault("kind", str(Kind.ALTERING if difference else Kind.PRESERVING))
    row.setdefault("pair_id", stable_id("pair", row["axis"], row["anchor_id"], row["partner_id"]))
    row.setdefault("item_id", anchor["item_id"])
    row.setdefault("split", anchor["split"])
    row.setdefault("checks", [])
    row |= {"anchor_label": left, "partner_label": right}
    reason = _why_not(row["kind"], left, right)
    row.setdefault("verified", reason is None)
    if not row["verified"]:
        row.setdefault("dropped_because", reason or "unstated")
    if row["kind"] == Kind.PRESERVING and left == right:
        row.setdefault("direction", 0)
    elif row["kind"] != Kind.REPEAT:
        row.setdefault("direction", difference)
    return row


def _why_not(kind: str, left: int | None, right: int | None) -> str | None:
    if kind == Kind.ALTERING and (left is None or right is None):
        return "label unknown"
    if kind == Kind.ALTERING and left == right:
        return "labels equal"
    if kind == Kind.PRESERVING and left != right:
        return "labels differ"
    return None
