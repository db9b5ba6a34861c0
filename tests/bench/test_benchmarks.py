"""The benchmarks at a small size: what they compare is the same, and a missed target is named."""

import json

import numpy as np
import pytest

import faithshift_bench as fb
from benchmarks import __main__ as command
from benchmarks import bootstrap, evaluate


def test_the_loop_and_the_product_print_the_same_figures(monkeypatch):
    monkeypatch.setattr(bootstrap, "N_ITEMS", 40)
    monkeypatch.setattr(bootstrap, "N_RESAMPLES", 30)
    found = bootstrap.run()
    assert found["largest_difference"] < 1e-12
    assert found["traces"] == 800 and found["ratio"] > 1


def test_the_resamples_of_the_benchmark_are_no_constants():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "N_ITEMS", 40)
        patch.setattr(bootstrap, "N_RESAMPLES", 30)
        _, _, points, draws = bootstrap.ours(*bootstrap.made())
    assert (draws.std(axis=2) > 0).all()
    assert (np.diff(points[:, 0]) > 0).sum() >= 4  # of rising quality


def test_the_large_file_is_sound_and_is_evaluated(tmp_path):
    evaluate.write(tmp_path / "x", 240)
    found = evaluate.timed(str(tmp_path / "x"))
    assert found["rows"] == 240 * 20 * 20 and found["mfs"] > 0
    report = fb.evaluate_scores(tmp_path / "x" / "scores.parquet", evaluate.Stored(tmp_path / "x"))
    assert report.headline["mfs"] == found["mfs"]


def test_missed_targets_are_named():
    good = {"ratio": 300, "peak_mb": 399, "largest_difference": 0.0}
    assert bootstrap.missed(good) == []
    assert bootstrap.missed(good | {"ratio": 299}) == ["ratio of at least 300"]
    assert bootstrap.missed(good | {"largest_difference": 1e-6}) == ["identical figures"]
    good = {"rows": 10_000_000, "peak_mb": 1999, "exponent_of_rows": 1.1}
    assert evaluate.missed(good) == []
    assert evaluate.missed(good | {"peak_mb": 2000}) == ["under 2 GB"]


def test_the_command_keeps_the_other_entries(tmp_path, monkeypatch, capsys):
    results = tmp_path / "results.json"
    results.write_text('{"other": {"ratio": 2}}')
    monkeypatch.setattr(command, "RESULTS", results)
    monkeypatch.setattr(command, "BENCHMARKS", {"quick": "tests.bench.quick_benchmark"})
    assert command.main([]) == 1
    written = json.loads(results.read_text())
    assert written["other"] == {"ratio": 2}
    assert written["quick"]["ratio"] == 7 and written["quick"]["targets_missed"] == ["eight"]
    assert {"cores", "python", "numpy"} <= written["quick"]["machine"].keys()
