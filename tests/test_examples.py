"""The examples for authors of detectors run as they stand."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import faithshift_data as fd
from faithshift_bench.detectors import apply_saved, list_detectors, registry, run_detector
from faithshift_bench.explain.explanation import explain
from faithshift_bench.explain.fitted import fitted_detector
from tests.detectors.test_label_evidence import reacts

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def template(monkeypatch):
    """The template as a module whose detector is registered."""
    place = EXAMPLES / "detector_template.py"
    spec = importlib.util.spec_from_file_location("detector_template", place)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "detector_template", module)
    spec.loader.exec_module(module)
    known = {**registry.BUILT_IN, "step_words": "detector_template:StepWords"}
    monkeypatch.setattr(registry, "BUILT_IN", known)
    return module


def test_the_template_trains_saves_loads_and_is_explained(template, synthetic, tmp_path):
    data = fd.open(synthetic)
    seen: list[int] = []

    def watch(label):
        return lambda epoch, of, figures: seen.append(epoch)

    table = run_detector("step_words", data, (0, 1), save=tmp_path, watch=watch)
    assert table.equals(run_detector("step_words", data, (0, 1)))
    assert apply_saved("step_words", data, tmp_path).equals(table)
    record = json.loads((tmp_path / "seed-0" / "detector.json").read_text())["training"]
    assert record["epochs"] == len(record["curves"]["loss"]) == seen.index(1, 1)
    curve = record["curves"]["tune_loss"]
    assert record["epoch"] == 1 + int(np.argmin(curve)) > 1
    found = explain(fitted_detector("step_words", data), data, data.view("test").trace_ids[0])
    assert {part.feature.family for part in found.parts} == {"words"} and found.error < 1e-9


def test_the_template_declares_what_it_reads(template):
    assert reacts(template.StepWords()) == {"stated"}
    assert template.StepWords.reads_label_evidence


def test_the_template_tells_the_labels_apart_and_prints_a_report(template, synthetic, capsys):
    data = fd.open(synthetic)
    table = run_detector("step_words", data, (0,))
    label = {r["trace_id"]: r["label"] for r in data.table("traces", "test").to_pylist()}
    rows = [(s, label[t]) for t, s in zip(*map(table.column, ("trace_id", "score")), strict=True)
            for t, s in [(t.as_py(), s.as_py())] if label.get(t) is not None]  # fmt: skip
    ones, zeros = ([s for s, y in rows if y == wanted] for wanted in (1, 0))
    assert np.mean(ones) > np.mean(zeros) + 0.1
    template.main(str(synthetic))
    assert capsys.readouterr().out.startswith("# step_words on synthetic")


def test_the_plugin_is_installed_found_and_run(synthetic, tmp_path):
    site, plugin = tmp_path / "site", EXAMPLES / "faithshift-plugin-example"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    quiet = ["--no-build-isolation", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, *quiet, "--target", str(site), str(plugin)], check=True)
    env = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{EXAMPLES.parent}"}
    code = "\n".join(
        [
            "import sys; from faithshift_bench.cli import main",
            "for argv in (['detectors', '--json'], sys.argv[1:]):",
            "    sys.argv = ['faithshift', *argv]",
            "    try: main()",
            "    except SystemExit as end: assert not end.code",
        ]
    )
    scores = tmp_path / "scores.parquet"
    argv = ["detect", "question_words", "--data", synthetic, "--seeds", "0", "-o", scores]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, argv)],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    listed = {row["name"]: row for row in json.loads(done.stdout[: done.stdout.rindex("]") + 1])}
    assert listed["question_words"]["about"].startswith("Logistic regression on the share")
    assert pq.read_table(scores).num_rows > 0
    assert "question_words" not in list_detectors()
