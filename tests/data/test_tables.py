"""to_table(): a value is stored as it was given, or refused with its row and field."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import faithshift_data as fd
from faithshift_data.tables import to_table

ROW: dict[str, Any] = {
    "pair_id": "p",
    "axis": "tone",
    "kind": "preserving",
    "anchor_id": "a",
    "partner_id": "b",
    "item_id": "i",
    "split": "test",
    "anchor_label": 1,
    "verified": True,
    "checks": [{"name": "length", "passed": True}],
}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"anchor_label": 0.5}, "field anchor_label: changes when stored"),
        ({"anchor_label": Decimal("0.5")}, "field anchor_label: "),
        ({"anchor_label": 300}, "field anchor_label: wrong type"),
        ({"axis": b"tone"}, "field axis: changes when stored"),
        ({"deltas": {"length": Decimal("0.1")}}, "field deltas"),
        ({"deltas": {"width": 1.0}}, "field deltas.width: unknown key"),
        ({"checks": [{"name": "n", "passed": True, "by": "me"}]}, "field checks.by: unknown key"),
    ],
)
def test_values_that_are_not_kept(change: dict[str, Any], text: str) -> None:
    with pytest.raises(fd.InputError) as error:
        to_table("pairs", [ROW, {**ROW, "pair_id": "q", **change}])
    assert str(error.value).startswith(f"pairs, row 1, {text}")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("anchor_label", pa.array([0.0, 0.5])),
        ("anchor_label", pa.array([Decimal("1.0"), Decimal("0.5")])),
        ("verified", pa.array([1, 2])),
        ("axis", pa.array(["tone", None]).cast(pa.binary()).fill_null(b"x")),
        ("deltas", pa.array([None, {"width": 1.0}])),
    ],
)
def test_arrow_columns_that_are_not_kept(name: str, values: pa.Array) -> None:
    table = pa.Table.from_pylist([ROW, {**ROW, "pair_id": "q"}])
    if name in table.column_names:
        table = table.drop_columns([name])
    with pytest.raises(fd.InputError, match=f"field {name}"):
        to_table("pairs", table.append_column(name, values))


def test_equal_values_of_other_types_are_kept() -> None:
    given = {
        **ROW,
        "anchor_label": np.float64(1.0),
        "verified": np.bool_(True),
        "deltas": {"length": np.float32(0.25), "lexical": 2, "semantic": float("nan")},
    }
    row = to_table("pairs", [given]).to_pylist()[0]
    assert (row["anchor_label"], row["verified"]) == (1, True)
    assert (row["deltas"]["length"], row["deltas"]["lexical"]) == (0.25, 2.0)
    again = pa.Table.from_pylist([ROW]).set_column(0, "pair_id", pa.array(["p"], pa.large_string()))
    assert to_table("pairs", again).equals(to_table("pairs", [ROW]))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"label": 0.5}, "traces, row 1, field label: changes when stored"),
        ({"generation": {"seed": 1.7}}, "traces, row 1, field generation.seed: changes"),
    ],
)
def test_write_refuses_what_it_would_change(
    tmp_path: Path, change: dict[str, Any], text: str
) -> None:
    rows = [{"question": "Why?", "split": "train"}, {"question": "When?", "split": "train"}]
    rows[1] |= change
    with pytest.raises(fd.InputError) as error:
        fd.write(tmp_path / "d", rows)
    assert str(error.value).startswith(text)
    assert not (tmp_path / "d").exists()
