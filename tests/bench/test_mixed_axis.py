"""An axis whose pairs are preserving or altering by their labels, such as a shorter budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import faithshift_bench as fb
import faithshift_data as fd
from tests.bench.test_evaluation import noisy, scored
from tests.synthetic import write_synthetic

ONE, OTHER = "paraphrase", "cue_injection"


def merge_axes(rows: dict[str, list[dict[str, Any]]]) -> None:
    for row in [*rows["traces"], *rows["pairs"]]:
        if row["axis"] == OTHER:
            row["axis"] = ONE


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    home = tmp_path_factory.mktemp("mixed")
    apart = write_synthetic(home / "apart", n_items=40)
    return apart, write_synthetic(home / "mixed", n_items=40, mutate=merge_axes)


def test_check_accepts_an_axis_of_both_kinds(both: tuple[Path, Path]) -> None:
    assert fd.check(both[1]) == []


def test_each_kind_is_evaluated_under_the_one_name(both: tuple[Path, Path]) -> None:
    apart, mixed = (
        fb.evaluate_scores(scored(data, noisy), data, n_resamples=0) for data in map(fd.open, both)
    )
    for table, before in (("ivr_by_axis", ONE), ("as_by_axis", OTHER)):
        was = {row["axis"]: row for row in apart.full[table]}
        now = {row["axis"]: row for row in mixed.full[table]}
        assert now[ONE] == {**was[before], "axis": ONE}
        assert len(now) == len(was)
    for name in ("ivr", "as", "hm"):
        assert mixed.full[name] == apart.full[name]
