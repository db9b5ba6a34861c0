"""A table of detectors stands in the card of the data it was made on, and in no other."""

from __future__ import annotations

import json

import pytest

import faithshift_data as fd
from cards import __main__ as command
from cards import dataset_card, tables
from faithshift_bench.studies.detectors import Plan, study_detectors
from faithshift_data.errors import InputError


@pytest.fixture(scope="module")
def study(synthetic, tmp_path_factory):
    plan = Plan((0,), ("constant", "random"), n_resamples=20)
    return study_detectors(fd.open(synthetic), tmp_path_factory.mktemp("study"), plan)


@pytest.fixture
def committed(study, tmp_path, monkeypatch):
    """Commits the study, changed by a function."""
    monkeypatch.setattr(tables, "TABLES", tmp_path)

    def commit(change=lambda whole: whole):
        whole = change(json.loads(json.dumps(study)))
        (tmp_path / "synthetic.json").write_text(json.dumps(whole))

    return commit


def other_data(whole):
    return {**whole, "data": {**whole["data"], "hash": "0" * 64}}


def test_the_card_shows_the_table_of_its_data(synthetic, committed):
    assert "## Detectors on it" not in dataset_card(synthetic)
    committed()
    card = dataset_card(synthetic)
    assert "## Detectors on it" in card
    assert "| random | 0." in card and "| constant | 0.000 [" in card
    assert "- Means over training seeds 0." in card and "- \\* reads evidence" in card


def test_figures_of_other_data_are_never_shown_and_fail_the_check(
    synthetic, committed, monkeypatch, capsys
):
    committed(other_data)
    assert "## Detectors on it" not in dataset_card(synthetic)
    monkeypatch.setattr(command, "embedded_folders", lambda: [synthetic])
    monkeypatch.setattr(command, "first_difference", lambda folder: None)
    assert command.main(["--check"]) == 1
    assert capsys.readouterr().out.startswith("cards/tables/synthetic.json is of other data")
    committed()
    assert command.main(["--check"]) == 0


@pytest.mark.parametrize("text", ["{", "[]", '{"rows": []}'])
def test_a_broken_table_is_one_line(synthetic, committed, tmp_path, text):
    (tmp_path / "synthetic.json").write_text(text)
    with pytest.raises(InputError, match="not a study of detectors"):
        dataset_card(synthetic)
