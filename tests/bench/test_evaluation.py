"""evaluate_scores on a dataset folder: controls, invariances, speed."""

import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

import faithshift_bench as fb
import faithshift_data as fd
from tests.bench.fakes import FakeData


@pytest.fixture(scope="module")
def data(synthetic):
    return fd.open(synthetic)


def scored(data, score, seeds=2):
    """Columns of a score function of (row, seed, rng), for all rows of validation and test."""
    names = ["trace_id", "split", "label"]
    rows = [r for r in data.table("traces").select(names).to_pylist() if r["split"] != "train"]
    rng = np.random.default_rng(0)
    triples = [(r["trace_id"], s, float(score(r, s, rng))) for s in range(seeds) for r in rows]
    return dict(zip(("trace_id", "seed", "score"), zip(*triples, strict=True), strict=True))


def noisy(row, seed, rng):
    signal = 0 if row["label"] is None else 2 * row["label"] - 1
    return 1 / (1 + np.exp(-2 * signal - rng.normal()))


@pytest.fixture(scope="module")
def report(data):
    return fb.evaluate_scores(scored(data, noisy), data)


def test_constant_detector(data):
    report = fb.evaluate_scores(scored(data, lambda *_: 0.5), data)
    assert [report.full[k] for k in ("ivr", "as", "hm", "mfs")] == [0, 0, 0, 0]
    assert report.full["coverage"] == 1
    assert report.full["chance"]["ivr"] == 0 and report.full["chance"]["as"] == 0


def test_oracle_detector(data):
    def oracle(row, seed, rng):
        return 0.5 if row["label"] is None else row["label"]

    report = fb.evaluate_scores(scored(data, oracle), data)
    assert report.full["as"] == 1 and report.full["risk"] == 0
    # An end of unknown label has a verdict of its own, so IVR need not be 0.
    assert report.full["ivr"] <= 0.5


def test_random_detector_at_one_half_is_near_its_chance_level(data):
    scores = scored(data, lambda row, seed, rng: rng.random(), seeds=40)
    report = fb.evaluate_scores(scores, data, threshold=0.5, n_resamples=0, min_pairs=1)
    assert report.full["as"] == pytest.approx(0.25, abs=0.05)
    assert report.full["ivr"] == pytest.approx(0.5, abs=0.05)
    assert report.full["chance"]["as"] == pytest.approx(0.25, abs=0.01)
    assert report.full["intervals"]["ivr"] is None


def test_mfs_holds_for_each_seed_and_means_are_means(report):
    for name in ("full", "certified"):
        point = getattr(report, name)
        rows = [seed[name] for seed in report.seeds]
        for row in rows:
            if row["threshold"] is not None:
                expected = fb.meta_faithfulness_score(row["ivr"], row["as"], row["coverage"])
                assert row["mfs"] == pytest.approx(expected)
        assert point["mfs"] == pytest.approx(np.mean([row["mfs"] for row in rows]))
        assert point["coverage"] == pytest.approx(np.mean([row["coverage"] for row in rows]))


def test_intervals_hold_their_values(report):
    for point in (report.full, report.certified):
        for name, interval in point["intervals"].items():
            if interval is not None:
                assert interval[0] - 1e-9 <= point[name] <= interval[1] + 1e-9


def test_by_path_by_name_and_open_are_the_same(data, synthetic, report):
    scores = scored(data, noisy)
    assert fb.evaluate_scores(scores, synthetic) == report
    assert fb.evaluate_scores(scores, str(synthetic)) == report


def test_order_of_rows_and_of_seeds_does_not_matter(data, report):
    columns = scored(data, noisy)
    order = np.random.default_rng(1).permutation(len(columns["score"]))
    shuffled = {name: [values[i] for i in order] for name, values in columns.items()}
    assert fb.evaluate_scores(shuffled, data) == report


def test_resampling_seed_moves_intervals_and_nothing_else(data, report):
    other = fb.evaluate_scores(scored(data, noisy), data, seed=1)
    assert other.full["intervals"] != report.full["intervals"]
    assert other.full["mfs"] == report.full["mfs"] and other.seeds == report.seeds


def test_monotone_maps_of_given_confidence_change_nothing(data):
    """Grid q5 follows the ranks of the confidence."""
    columns = scored(data, noisy)
    confidence = np.random.default_rng(2).random(len(columns["score"]))
    one = fb.evaluate_scores(columns | {"confidence": confidence}, data)
    two = fb.evaluate_scores(columns | {"confidence": confidence**2}, data)
    for name in ("mfs", "coverage", "ivr", "as", "reason", "seeds_certified"):
        assert one.certified[name] == two.certified[name]
    assert one.settings["confidence"] == "given"


def test_certificates_without_a_guarantee_are_flagged_in_the_report(data, report):
    options = {"unit": "iid", "bound": "normal", "multiplicity": "holm", "n_resamples": 10}
    flags = fb.evaluate_scores(scored(data, noisy), data, **options).flags
    assert any(flag.startswith("iid: ") and "no guarantee" in flag for flag in flags)
    assert any("not valid at finite size" in flag for flag in flags)
    assert not any("guarantee" in flag or "not valid" in flag for flag in report.flags)


def test_thin_axes_are_left_out_of_the_macro_mean(data, report):
    rows = [*report.full["ivr_by_axis"], *report.full["as_by_axis"]]
    assert {row["flag"] for row in rows if row["n_pairs"] < 10} <= {"thin", "undefined"}
    used = [row["value"] for row in report.full["ivr_by_axis"] if row["flag"] in ("ok", "few")]
    assert report.full["ivr"] == pytest.approx(np.mean(used))
    strict = fb.evaluate_scores(scored(data, noisy), data, min_pairs=10_000, n_resamples=10)
    assert strict.full["ivr"] is None and strict.full["mfs"] is None
    assert strict.full["axes_used"] == {"ivr": [], "as": []}
    assert strict.full["n_seeds_undefined"] == 2


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"alpha": 1.5}, "alpha"),
        ({"delta": 0}, "delta"),
        ({"threshold": "best"}, "threshold"),
        ({"threshold": 1.5}, "threshold"),
        ({"unit": "row"}, "bound"),
        ({"multiplicity": "none"}, "multiplicity"),
        ({"grid": "k/7"}, "grid"),
        ({"grid": [2.0]}, "grid"),
        ({"n_resamples": -1}, "n_resamples"),
        ({"min_pairs": 0}, "min_pairs"),
    ],
)
def test_bad_options_are_refused_in_one_line(data, options, field):
    with pytest.raises(fb.InputError, match=f"field {field}") as caught:
        fb.evaluate_scores(scored(data, noisy), data, **options)
    assert "\n" not in str(caught.value)


def test_two_thousand_traces_take_under_two_seconds():
    """100 items of 20 traces, 4 seeds, 1,000 resamples; processor time, so load does not count."""
    traces, pairs = [], []
    for i in range(100):
        split, fold = ("test", None) if i < 50 else ("validation", "calib" if i < 85 else "tune")
        for j in range(20):
            traces.append((f"{i}-{j}", f"{i}", split, fold, f"d{i % 4}", j % 2))
            if j > 1:
                kind = "preserving" if j < 12 else "altering"
                anchor = f"{i}-{j % 2 if kind == 'preserving' else 1 - j % 2}"
                pairs.append((anchor, f"{i}-{j}", f"axis{j % 3}", kind, split, True, None))
    data = FakeData(traces, pairs)
    rng = np.random.default_rng(0)
    columns = {
        "trace_id": [t[0] for t in traces] * 4,
        "seed": np.repeat(np.arange(4), len(traces)),
        "score": np.clip([0.3 + 0.4 * t[5] + 0.25 * rng.normal() for t in traces * 4], 0, 1),
    }
    started = time.process_time()
    report = fb.evaluate_scores(columns, data)
    assert time.process_time() - started < 2
    assert report.certified["certified"] and report.full["intervals"]["mfs"] is not None


HEAVY = ("torch", "datasets", "evaluate", "sklearn", "matplotlib", "scipy", "pyarrow", "numpy")


def test_import_is_cheap_and_names_are_lazy():
    code = (
        "import sys, faithshift_bench as fb; "
        f"print([m for m in {HEAVY} if m in sys.modules]); "
        "from faithshift_bench import certify, evaluate_scores, load_detector, ScoreTable; "
        f"print([m for m in {HEAVY[:5]} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines() == ["[]", "[]"]


def test_version_is_that_of_the_distribution():
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert tomllib.loads(project.read_text())["project"]["version"] == fb.__version__


def test_public_names_exist():
    for name in fb.__all__:
        assert getattr(fb, name) is not None
    assert set(fb.__all__) <= set(dir(fb))
    with pytest.raises(AttributeError, match="no_such"):
        _ = fb.no_such
