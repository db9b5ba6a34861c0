"""The card of a fitted detector: what was saved, what it was fitted on, and its report."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

import faithshift_bench as fb
import faithshift_data as fd
from builders.publishing.parcel import pack
from cards import detector_card
from faithshift_bench.detectors import load_detector, load_saved, run_detector
from faithshift_bench.evaluation import data_hash
from faithshift_data.errors import InputError
from tests.synthetic import STATE


@pytest.fixture(scope="module")
def saved(synthetic: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of a detector, the first with its report."""
    folder = tmp_path_factory.mktemp("saved")
    data = fd.open(synthetic)
    scores = run_detector("hidden_state", data, (0, 3), save=folder)
    report = fb.evaluate_scores(scores, data, n_resamples=50)
    (folder / "seed-0/report.json").write_text(report.to_json())
    return folder


def test_what_it_was_fitted_on_is_saved_and_shown(saved: Path, synthetic: Path) -> None:
    card, data = detector_card(saved / "seed-0"), fd.open(synthetic)
    assert yaml.safe_load(card.split("---\n")[1])["library_name"] == "faithshift"
    assert "# Detector `hidden_state`, revision 1, fitted on synthetic 0.1.0, seed 0\n" in card
    labels = data.table("traces", "train")["label"].to_pylist()
    for value, words in ((1, "traces labelled faithful"), (0, "unfaithful"), (None, "of unknown")):
        assert f"{labels.count(value)} {words}" in card
    assert data_hash(data.manifest.files) in card and "synthetic/writer" in card
    assert "Parts of a trace: states." in card and "labels rest\non: no." in card
    assert load_saved(saved / "seed-3").fitted["seed"] == 3


def test_figures_are_those_of_the_report(saved: Path) -> None:
    card = detector_card(saved / "seed-0")
    report = json.loads((saved / "seed-0/report.json").read_text())
    row = next(line for line in card.splitlines() if line.startswith("| hidden_state |"))
    cells = [cell.strip() for cell in row.strip("| ").split(" | ")]
    for place, name in ((1, "ivr"), (3, "as"), (5, "hm")):
        assert float(cells[place]) == pytest.approx(report["full"][name], abs=5e-4)
        low, high = (float(part) for part in re.findall(r"\d\.\d+", cells[place + 1]))
        assert (low, high) == pytest.approx(report["full"]["intervals"][name], abs=5e-3)
    assert "the arrays here are those of seed 0" in card
    assert "gold answers. Training seeds leave it\nthe same, so that its floor" in card
    assert "nothing is claimed" in detector_card(saved / "seed-3")


def test_who_reads_label_evidence_is_marked_and_the_block_runs(
    tmp_path: Path, synthetic: Path, capsys: pytest.CaptureFixture
) -> None:
    run_detector("biasing", fd.open(synthetic), (1,), save=tmp_path)
    card = detector_card(tmp_path / "seed-1")
    assert "labels rest\non: **yes**" in card
    block = re.search(r"```python\n(.*?)```", card, re.DOTALL)
    assert block is not None
    code = block[1].replace("from huggingface_hub import snapshot_download\n", "")
    exec(code.replace('snapshot_download("ORG/NAME")', repr(str(tmp_path / "seed-1"))), {})
    assert len(re.findall(r"^\S+ [01]\.\d+$", capsys.readouterr().out, re.MULTILINE)) == 3


def test_how_training_went_is_shown(saved: Path, tmp_path: Path) -> None:
    assert "Its training" not in detector_card(saved / "seed-3")
    folder = shutil.copytree(saved / "seed-3", tmp_path / "trained")
    described = json.loads((folder / "detector.json").read_text())
    described["training"] = {"epoch": 1, "epochs": 4, "of": 9}
    (folder / "detector.json").write_text(json.dumps(described))
    card = detector_card(folder)
    assert "Its training: epoch 1 of 9 kept, stopped early after 4. kept epoch 1 of 9" in card


def test_an_unknown_past_is_said(tmp_path: Path) -> None:
    view = fd.open("mini").view("train", needs=("text",))
    folder = load_detector("length_only").fit(view, seed=0).save(tmp_path / "d")
    assert "fitted" not in json.loads((folder / "detector.json").read_text())
    assert "Nobody wrote down" in detector_card(folder)


def test_foreign_reports_and_folders_are_refused(saved: Path, tmp_path: Path) -> None:
    report = (saved / "seed-0/report.json").read_text()
    run_detector("constant", fd.open("mini"), (0,), save=tmp_path)
    (tmp_path / "seed-0/report.json").write_text(report)
    with pytest.raises(InputError, match="field name: a report on another detector"):
        detector_card(tmp_path / "seed-0")
    (tmp_path / "seed-0/report.json").write_text("{")
    with pytest.raises(InputError, match=r"report\.json: not JSON"):
        detector_card(tmp_path / "seed-0")
    with pytest.raises(InputError, match="not a saved detector"):
        detector_card(tmp_path)


def test_an_ensemble_is_published_with_all_its_members(synthetic: Path, tmp_path: Path) -> None:
    params = {"of": "hidden_state+random", "members": 2}
    run_detector("ensemble", fd.open(synthetic), (1,), params=params, save=tmp_path)
    folder = tmp_path / "seed-1"
    assert f"| `member-01/weight` | {STATE} | float64 |" in detector_card(folder)
    files = pack(folder, "org/ensemble", "v1").files
    parts = ("arrays.safetensors", "detector.json")
    members = {f"member-0{place}/{part}" for place in range(4) for part in parts}
    assert set(files) == {*parts, *members, "manifest.json", "README.md"}
    (folder / "member-00/more").write_text("x")
    with pytest.raises(InputError, match="member-00/more: not part of a saved detector"):
        pack(folder, "org/ensemble", "v1")
