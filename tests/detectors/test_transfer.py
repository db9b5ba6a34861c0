"""Fit on one dataset, score another: same descriptors, shared interventions, nothing silent."""

from __future__ import annotations

import numpy as np
import pytest

import faithshift_data as fd
from faithshift_bench.detectors import load_detector, run_detector
from faithshift_data.errors import InputError
from tests import synthetic
from tests.synthetic import write_synthetic


def without(*kinds):
    def mutate(rows):
        rows["interventions"] = [
            row
            for row in rows["interventions"]
            if row["role"] == "label" or row["kind"] not in kinds
        ]

    return mutate


@pytest.fixture(scope="module")
def fitted(synthetic):
    return fd.open(synthetic)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Another dataset of the same model, without fillers."""
    folder = tmp_path_factory.mktemp("own") / "own"
    return fd.open(write_synthetic(folder, 10, seed=5, mutate=without("filler")))


def test_every_trace_of_the_other_dataset_is_scored(fitted, own):
    table = run_detector("hidden_state", own, (0,), fit_on=fitted)
    scores = dict(zip(table["trace_id"].to_pylist(), table["score"].to_pylist(), strict=True))
    assert set(scores) == set(own.table("traces")["trace_id"].to_pylist())
    detector = load_detector("hidden_state").fit(fitted.view("train", needs=("states",)), seed=0)
    for split in ("train", "validation", "test"):
        view = own.view(split, needs=("states",))
        given = [scores[trace_id] for trace_id in view.trace_ids]
        assert np.array_equal(given, detector.score(view))


def test_the_file_says_what_it_was_fitted_on(fitted, own, tmp_path):
    from faithshift_bench.detectors import save_scores
    from faithshift_bench.scores import ScoreTable

    table = run_detector("length_only", own, (0,), fit_on=fitted)
    path = save_scores(table, tmp_path / "s.parquet")
    assert ScoreTable.load(path).about["fit_on"] == "synthetic"


def test_interventions_of_one_dataset_alone_are_left_out_and_named(fitted, own, tmp_path):
    lines = []
    found = run_detector("instance_level", own, (0,), fit_on=fitted, progress=lines.append)
    line = "4 interventions in common; not in both, and left out: filler"
    assert line in lines
    folder = write_synthetic(tmp_path / "less", mutate=without("filler"))
    lines.clear()
    same = run_detector("instance_level", own, (0,), fit_on=fd.open(folder), progress=lines.append)
    assert not any("left out" in line for line in lines)
    assert np.array_equal(found["score"], same["score"])


def test_no_intervention_in_common_is_one_line(fitted, tmp_path):
    kinds = without("filler", "scramble", "truncate")
    bare = fd.open(write_synthetic(tmp_path / "bare", 8, mutate=kinds))
    with pytest.raises(InputError, match="no intervention in common") as caught:
        run_detector("instance_level", bare, (0,), fit_on=fitted)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["hidden_state", "instance_level"])
def test_descriptors_of_another_shape_are_refused(name, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "STATE", 16)
    monkeypatch.setattr(synthetic, "CHANNELS", synthetic.CHANNELS[:30])
    folder = write_synthetic(tmp_path / "wide", 8)
    manifest = (folder / "manifest.json").read_text().replace("[\n        32\n", "[\n        30\n")
    (folder / "manifest.json").write_text(manifest)
    other = fd.open(folder)
    field, left, right = {
        "hidden_state": ("state", 24, 16),
        "instance_level": ("psi", 32, 30),
    }[name]
    with pytest.raises(InputError, match="another shape") as caught:
        run_detector(name, other, (0,), fit_on=fitted)
    assert f"field {field}" in str(caught.value)
    assert f"expected ({left},), got ({right},)" in str(caught.value)


def test_descriptors_of_two_models_are_said_to_be_so(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "MODEL", "another/writer")
    other = fd.open(write_synthetic(tmp_path / "other", 8))
    lines = []
    run_detector("hidden_state", other, (0,), fit_on=fitted, progress=lines.append)
    assert lines[0].startswith("states of two models")
    assert "synthetic/writer, scored on those of another/writer" in lines[0]
    lines.clear()
    run_detector("length_only", other, (0,), fit_on=fitted, progress=lines.append)
    assert lines == ["length_only: seed 0"]


def test_data_without_descriptors_are_refused_before_anything_is_fitted(fitted, tmp_path):
    bare = fd.open(fd.write(tmp_path / "bare", [{"question": "Why?", "reasoning": "So."}]))
    with pytest.raises(InputError, match="faithshift measure"):
        run_detector("hidden_state", bare, (0,), fit_on=fitted)
    table = run_detector("length_only", bare, (0,), fit_on=fitted)
    assert table.num_rows == 1


def test_without_labels_the_way_out_is_named(tmp_path):
    rows = [{"question": f"Why {word}?", "reasoning": "So."} for word in "abcdefgh"]
    bare = fd.open(fd.write(tmp_path / "bare", rows))
    with pytest.raises(InputError, match="--fit-on mini"):
        run_detector("length_only", bare, (0,))
