"""The rules that rows of traces, pairs and interventions obey together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa

from faithshift_data.errors import InputError
from faithshift_data.leakage import check_leakage, normalise
from faithshift_data.problems import Problem
from faithshift_data.schema import SPLITS, AnswerKind, Kind, Role, changed
from faithshift_data.tables import ID, check_values

Row = dict[str, Any]
Tables = Mapping[str, Mapping[str, pa.Table]]
UNUSED = {"traces": ("prompt", "generation"), "interventions": ("injected", "response")}
UNUSED["pairs"] = ("deltas", "checks")


def check_tables(tables: Tables, axes: Collection[str], models: Collection[str]) -> list[Problem]:
    """All problems of the rows. Of a split without a table, what would refer to it is left out.

    Args:
        tables: config -> split -> table with the fixed schema.
        axes: names in the manifest's axes table.
        models: model ids in the manifest.
    """
    problems = list(check_values_of(tables))
    rows = {config: list(_rows(config, by_split)) for config, by_split in tables.items()}
    for config in rows:
        problems += _unique(rows[config], config)
    traces = {row["trace_id"]: row for row in rows["traces"]}
    interventions = {row["intervention_id"]: row for row in rows.get("interventions", ())}
    pairs = rows.get("pairs", [])
    for row in rows["traces"]:
        if row["_split"] not in tables.get("interventions", SPLITS):
            row["label_evidence"] = None
        problems += _trace(row, traces, interventions, axes, models)
    for row in pairs:
        problems += _pair(row, traces, axes)
    paired = tables.get("pairs", SPLITS)
    problems += _complete([row for row in rows["traces"] if row["_split"] in paired], pairs)
    for row in interventions.values():
        problems += _intervention(row, traces)
    problems += _roles(interventions.values())
    problems += check_leakage(map(_placed, rows["traces"]))
    return problems


class _Report:
    """Makes the problems of one row: ``report(field, message, expected, got)``."""

    def __init__(self, check: str, config: str, row: Row) -> None:
        self.check, self.file, self.row = (
            check,
            f"{config}/{row['_split']}.parquet",
            row[ID[config]],
        )

    def __call__(
        self, field: str, message: str, expected: object = None, got: object = None
    ) -> Problem:
        return Problem(self.check, message, self.file, self.row, field, expected, got)


def _placed(row: Row) -> Row:
    """The row; where its label is withheld, only the question says of which item it is."""
    return row if row["condition"] is not None else {**row, "item_id": normalise(row["question"])}


def _rows(config: str, by_split: Mapping[str, pa.Table]) -> Iterator[Row]:
    for split in SPLITS:
        if split in by_split:
            for row in by_split[split].drop_columns(list(UNUSED[config])).to_pylist():
                yield {**row, "_split": split}


def check_values_of(tables: Tables) -> Iterator[Problem]:
    """Problems that a table has by itself: nulls, empty ids, values outside a vocabulary."""
    for config, by_split in tables.items():
        for split, table in by_split.items():
            try:
                check_values(config, table, f"{config}/{split}.parquet")
            except InputError as error:
                yield Problem.of("values", error)


def _unique(rows: list[Row], config: str) -> Iterator[Problem]:
    for key, count in Counter(row[ID[config]] for row in rows).items():
        if count > 1:
            yield Problem("ids", "id not unique", config, key, ID[config], "1 row", f"{count} rows")


def _trace(
    row: Row,
    traces: Mapping[str, Row],
    interventions: Mapping[str, Row],
    axes: Collection[str],
    models: Collection[str],
) -> Iterator[Problem]:
    report = _Report("trace", "traces", row)
    if row["split"] != row["_split"]:
        yield report("split", "row lies in another split's file", row["_split"], row["split"])
    if (row["fold"] is not None) != (row["split"] == "validation"):
        yield report("fold", "folds divide validation, and all of it", got=row["fold"] or "null")
    if row["model_id"] not in models:
        yield report("model_id", "not in the manifest", sorted(models), row["model_id"])
    if row["axis"] is not None and row["axis"] not in axes:
        yield report("axis", "not in the manifest", sorted(axes), row["axis"])
    if (row["axis"] is None) != (row["anchor_id"] is None):
        yield report("anchor_id", "a trace has an axis if and only if it has an anchor")
    if row["anchor_id"] is not None:
        anchor = traces.get(row["anchor_id"])
        if anchor is None or anchor is row:
            yield report("anchor_id", "no such anchor", got=row["anchor_id"])
        elif anchor["item_id"] != row["item_id"]:
            yield report("anchor_id", "anchor of another item", row["item_id"], anchor["item_id"])
    if "".join(filter(None, row["steps"] or ())) != (row["reasoning"] or ""):
        yield report("steps", "the steps do not join to the reasoning")
    yield from _answer(row, report)
    if row["label"] not in (0, 1, None):
        yield report("label", "not a label", "1, 0 or null", row["label"])
    if row["label"] is not None and row["label_rule"] is None:
        yield report("label_rule", "a label without a rule")
    for evidence in row["label_evidence"] or ():
        found = interventions.get(evidence) or traces.get(evidence)
        if found is None:
            yield report("label_evidence", "no such evidence", got=evidence)
        elif found.get("role") == Role.FEATURE:
            yield report("label_evidence", "a label rests on a detector's row", "role label")
        elif traces.get(found["trace_id"], row)["item_id"] != row["item_id"]:
            yield report("label_evidence", "evidence of another item", got=evidence)


def _answer(row: Row, report: _Report) -> Iterator[Problem]:
    answer, options, cue = row["answer"], row.get("options"), row["cue"] or {}
    if (answer is None) != (row["answer_status"] != "explicit"):
        yield report("answer", "an answer stands if and only if it is explicit", got=answer)
    last = chr(64 + len(options)) if options else "Z"
    named = {"answer": answer, "gold": row["gold"], "cue.target": cue.get("target")}
    for field, value in named.items() if row["answer_kind"] == AnswerKind.LETTER else ():
        if value is not None and not (len(value) == 1 and "A" <= value <= last):
            yield report(field, "not an option", f"A to {last}", value)


def _pair(row: Row, traces: Mapping[str, Row], axes: Collection[str]) -> Iterator[Problem]:
    report = _Report("pair", "pairs", row)
    if row["split"] != row["_split"]:
        yield report("split", "row lies in another split's file", row["_split"], row["split"])
    if row["axis"] not in axes:
        yield report("axis", "not in the manifest", sorted(axes), row["axis"])
    if row["anchor_id"] == row["partner_id"]:
        yield report("partner_id", "a trace paired with itself")
    for side in ("anchor", "partner"):
        trace = traces.get(row[f"{side}_id"])
        if trace is None:
            yield report(f"{side}_id", "no such trace", got=row[f"{side}_id"])
            continue
        for name in ("item_id", "split"):
            if trace[name] != row[name]:
                yield report(name, f"the {side} is of another", row[name], trace[name])
        if trace["label"] != row[f"{side}_label"]:
            got = _null(row[f"{side}_label"])
            yield report(f"{side}_label", "differs from the trace", _null(trace["label"]), got)
    if row["verified"] != (row["dropped_because"] is None):
        yield report("dropped_because", "exactly the pairs that are not verified have a reason")
    if row["verified"]:
        yield from _direction(row, report)


def _direction(row: Row, report: _Report) -> Iterator[Problem]:
    left, right = row["anchor_label"], row["partner_label"]
    known = left is not None and right is not None
    if row["kind"] == Kind.PRESERVING and left != right:
        yield report("kind", "verified as preserving, but the labels differ")
    elif row["kind"] == Kind.ALTERING and (not known or left == right):
        yield report("kind", "verified as altering without two known, unequal labels")
    elif row["kind"] != Kind.REPEAT:
        expected = right - left if known else 0
        if row["direction"] != expected:
            yield report("direction", "wrong", expected, _null(row["direction"]))


def _complete(traces: list[Row], pairs: list[Row]) -> Iterator[Problem]:
    """Every partner has its pair, and no pair stands twice."""
    keys = Counter((p["axis"], p["anchor_id"], p["partner_id"]) for p in pairs)
    for row in traces:
        if row["anchor_id"] and (row["axis"], row["anchor_id"], row["trace_id"]) not in keys:
            report = _Report("missing pair", "traces", row)
            yield report(
                "anchor_id", f"no {row['axis']} pair with its anchor", got="no row in pairs"
            )
    for (axis, anchor, partner), count in keys.items():
        if count > 1:
            yield Problem(
                "pair", "stands twice", "pairs", f"{anchor} {partner}", "axis", "1 row", axis
            )


def _intervention(row: Row, traces: Mapping[str, Row]) -> Iterator[Problem]:
    report = _Report("intervention", "interventions", row)
    trace = traces.get(row["trace_id"])
    if trace is None:
        yield report("trace_id", "no such trace", got=row["trace_id"])
    elif trace["split"] != row["_split"]:
        yield report("trace_id", "row lies in another split's file", trace["split"], row["_split"])
    if row["fraction"] is not None and not 0 <= row["fraction"] <= 1:
        yield report("fraction", "not a share", "0 to 1", row["fraction"])
    if (row["answer"] is None) != (row["answer_status"] != "explicit"):
        yield report("answer", "an answer stands if and only if it is explicit", got=row["answer"])
    if row["changed"] is not None and (row["answer"] is None or not row["injection_verified"]):
        yield report("changed", "known without an answer to a verified injection", "null")
    elif row["changed"] is not None and trace is not None:
        moved = changed(trace["answer"], row["answer"])
        if row["changed"] != moved:
            yield report(
                "changed", "does not follow from the answers", _null(moved), row["changed"]
            )


def _roles(interventions: Collection[Row]) -> Iterator[Problem]:
    """No draw serves both the label and a detector."""
    seen: dict[tuple[object, ...], str] = {}
    for row in interventions:
        draw = (row["trace_id"], row["kind"], row["fraction"], row["seed"])
        if seen.setdefault(draw, row["role"]) != row["role"]:
            report = _Report("roles", "interventions", row)
            yield report("role", "the same draw is label evidence and a detector's feature")


def _null(value: object) -> object:
    return "null" if value is None else value
