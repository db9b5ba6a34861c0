"""Folders that withhold labels: which rows, and what they must not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from faithshift_data.errors import InputError
from faithshift_data.problems import Problem
from faithshift_data.schema import SCHEMAS, WITHHELD, Role

if TYPE_CHECKING:
    from faithshift_data.dataset import FaithShift
    from faithshift_data.manifest import Withheld


def probe_name(kind: str, fraction: float | None) -> str:
    """An intervention as profiles name it: ``kind`` or ``kind@fraction``."""
    return kind if fraction is None else f"{kind}@{fraction}"


def part_of(split: str, fold: str | None) -> str:
    """The part that a row belongs to: its fold, or its split where there is none."""
    return fold or split


def hidden(traces: pa.Table) -> pa.ChunkedArray:
    """Which rows of a traces table withhold their label: those that name no condition."""
    return pc.is_null(traces["condition"])


def need_labels(data: FaithShift) -> None:
    """Refuse a dataset that withholds labels.

    Raises:
        InputError: in one line that says which, and who has them.
    """
    withheld = data.manifest.withheld
    if withheld is not None:
        raise InputError(
            f"labels of {' and '.join(withheld.parts)} are withheld: only the key, a folder that "
            "the board's keeper has, can serve as data here",
            file=data.path,
        )


def check_withheld(
    tables: Mapping[str, Mapping[str, pa.Table]], withheld: Withheld
) -> Iterator[Problem]:
    """Problems of a folder that withholds labels: what is left of them, and what is missing.

    Args:
        tables: config -> split -> table with the schema of such a folder.
        withheld: what the manifest says.
    """
    traces: dict[str, bool] = {}
    for split, table in tables["traces"].items():
        rows = table.select(["trace_id", "split", "fold", "label_evidence"]).to_pylist()
        gone = [part_of(row["split"], row["fold"]) in withheld.parts for row in rows]
        traces |= {row["trace_id"]: hides for row, hides in zip(rows, gone, strict=True)}
        yield from _nulls("traces", split, table, gone)
        for row, hides in zip(rows, gone, strict=True):
            if hides and row["label_evidence"]:
                yield _problem("traces", split, row["trace_id"], "label_evidence")
    for split, table in tables["pairs"].items():
        for row in table.select(["pair_id", "anchor_id", "partner_id"]).to_pylist():
            if traces.get(row["anchor_id"]) or traces.get(row["partner_id"]):
                yield _problem("pairs", split, row["pair_id"], "anchor_id")
    for split, table in tables["interventions"].items():
        gone = [traces.get(trace, False) for trace in table["trace_id"].to_pylist()]
        yield from _nulls("interventions", split, table, gone)
        yield from _probes(split, table, traces, withheld, tables["traces"].get(split))


def _nulls(config: str, split: str, table: pa.Table, gone: list[bool]) -> Iterator[Problem]:
    """Columns of ``WITHHELD``: null where the label is withheld, as always elsewhere."""
    ids = table.column(0).to_pylist()
    for name in WITHHELD[config]:
        required = not SCHEMAS[config].field(name).nullable
        null = table[name].is_null().to_pylist()
        for key, hides, absent in zip(ids, gone, null, strict=True):
            if hides and not absent:
                yield _problem(config, split, key, name)
            elif required and absent and not hides:
                file = f"{config}/{split}.parquet"
                yield Problem("values", "required", file, key, name, got="null")


def _probes(
    split: str,
    table: pa.Table,
    traces: Mapping[str, bool],
    withheld: Withheld,
    own: pa.Table | None,
) -> Iterator[Problem]:
    """Every withheld trace has the same feature interventions, each once, and no other rows."""
    found: dict[str, Counter[str]] = {}
    columns: Any = table.select(["intervention_id", "trace_id", "kind", "fraction", "role"])
    for row in columns.to_pylist():
        if not traces.get(row["trace_id"]):
            continue
        if row["role"] != Role.FEATURE:
            yield _problem("interventions", split, row["intervention_id"], "role")
        name = probe_name(row["kind"], row["fraction"])
        found.setdefault(row["trace_id"], Counter())[name] += 1
    wanted = Counter(withheld.probes)
    for key in own["trace_id"].to_pylist() if own is not None else ():
        if traces[key] and found.get(key, Counter()) != wanted:
            yield Problem(
                "withheld",
                "other interventions than the manifest's probes betray what it is",
                f"interventions/{split}.parquet",
                key,
                "kind",
                sorted(wanted.elements()),
                sorted(found.get(key, Counter()).elements()),
            )


def _problem(config: str, split: str, key: str, field: str) -> Problem:
    file = f"{config}/{split}.parquet"
    return Problem("withheld", "tells of a withheld label", file, key, field, "nothing")
