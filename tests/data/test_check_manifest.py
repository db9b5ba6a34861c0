"""check() counts again what the manifest counts, and reads the licences that it states."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import faithshift_data as fd
from faithshift_data.problems import Problem


@pytest.fixture
def checked(synthetic: Path, tmp_path: Path) -> Callable[[Callable[..., Any]], list[Problem]]:
    """The problems of a sound folder whose manifest was changed."""

    def check(change: Callable[[dict[str, Any]], Any]) -> list[Problem]:
        folder = shutil.copytree(synthetic, tmp_path / "copy")
        manifest = json.loads((folder / "manifest.json").read_text())
        change(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        return fd.check(folder)

    return check


@pytest.mark.parametrize(
    ("name", "tally"),
    [
        ("items", {"train": 1, "validation": 1, "test": 1}),
        ("items_by_fold", {"tune": 1, "calib": 0}),
        ("traces_by_domain", {"train": {}, "validation": {}, "test": {}}),
    ],
)
def test_a_wrong_count(checked, name: str, tally: dict[str, Any]) -> None:
    (problem,) = checked(lambda manifest: manifest["counts"].update({name: tally}))
    assert (problem.check, problem.field, problem.got) == ("counts", f"counts.{name}", tally)


def test_what_an_older_folder_does_not_count(checked) -> None:
    assert checked(lambda manifest: manifest["counts"].pop("items", None)) == []


def test_a_row_has_the_licence_of_its_source(checked, synthetic: Path) -> None:
    row = pq.read_table(synthetic / "traces" / "test.parquet").to_pylist()[0]
    source, licence = row["source"], row["licence"]
    stated = [{"name": source, "licence": "GPL-3.0"}, {"name": "another", "licence": licence}]
    problems = checked(lambda manifest: manifest.update(sources=stated))
    assert {(each.check, each.field) for each in problems} == {("licence", "licence")}
    assert f"expected GPL-3.0 of {source}, got {licence}" in str(problems[0])


@pytest.mark.parametrize("licences", [["MIT", None], [None]])
def test_a_source_may_have_several_licences_or_state_none(
    checked, synthetic: Path, licences: list[str | None]
) -> None:
    row = pq.read_table(synthetic / "traces" / "test.parquet").to_pylist()[0]
    each = [licence and row["licence"] for licence in licences]
    stated = [{"name": row["source"], "licence": licence} for licence in [*each, "GPL-3.0"]]
    assert checked(lambda manifest: manifest.update(sources=stated)) == []
