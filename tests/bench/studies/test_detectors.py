"""`faithshift study detectors`: one table, resumable, honest about what could not be run."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import faithshift_bench as fb
import faithshift_data as fd
from faithshift_bench.detectors import Detector, registry
from faithshift_bench.metrics.ranking import auroc
from faithshift_bench.studies import detectors as study
from faithshift_bench.studies.detectors_table import markdown, notes, to_csv
from faithshift_data.errors import InputError
from tests.synthetic import write_synthetic

NAMES = ("constant", "length_only", "odd")


class Odd(Detector):
    """A plug-in that breaks."""

    name = "odd"
    fault: BaseException = RuntimeError("no\nluck")

    def fit(self, view, *, seed):
        raise self.fault

    def score(self, view):
        raise AssertionError


@pytest.fixture(autouse=True)
def odd(monkeypatch):
    monkeypatch.setattr(registry, "BUILT_IN", {**registry.BUILT_IN, "odd": f"{__name__}:Odd"})
    monkeypatch.setattr(Odd, "fault", RuntimeError("no\nluck"))


@pytest.fixture(scope="module")
def data(synthetic):
    return fd.open(synthetic)


def plan(**changes):
    return study.Plan(
        **{"seeds": (0, 1), "detectors": NAMES, "once": ("constant",), "n_resamples": 40, **changes}
    )


@pytest.fixture(scope="module")
def found(data, tmp_path_factory):
    """A study of three detectors, of which one breaks, and its folder."""
    out = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "BUILT_IN", {**registry.BUILT_IN, "odd": f"{__name__}:Odd"})
        return study.study_detectors(data, out, plan()), out


def test_the_figures_are_those_of_the_report(found, data):
    whole, out = found
    constant, length, _ = whole["rows"]
    assert (constant["seeds"], length["seeds"]) == ([0], [0, 1])
    report = fb.evaluate_scores(out / "scores" / "length_only.parquet", data, n_resamples=40)
    assert length["ivr"] == {
        "value": report.full["ivr"],
        "interval": report.full["intervals"]["ivr"],
    }
    assert length["mfs"]["value"] == report.headline["mfs"]
    assert length["seeds_certified"] == report.certified["seeds_certified"]
    assert length["auroc"]["auroc"] == pytest.approx(report.full["auroc"])
    assert length["auroc"]["low"] < length["auroc"]["auroc"] < length["auroc"]["high"]
    assert (length["n_parameters"], constant["n_parameters"]) == (3, 0)
    assert length["seconds"] > 0 and length["reach"] == {}
    assert json.loads((out / "reports" / "length_only.json").read_text()) == report.to_dict()


def test_what_breaks_is_a_row_with_its_reason(found):
    whole, out = found
    assert whole["rows"][2]["failed"] == "odd: fit failed: RuntimeError: no luck"
    text = (out / "detectors.md").read_text()
    assert (
        "| odd |" not in text
        and "odd could not be run: odd: fit failed: RuntimeError: no luck" in text
    )
    assert "training seeds 0, 1, of constant 0 alone." in text
    rows = list(csv.DictReader(io.StringIO((out / "detectors.csv").read_text())))
    assert [row["detector"] for row in rows] == list(NAMES)
    assert rows[2]["failed"] and rows[2]["ivr"] == rows[2]["auroc_low"] == ""
    assert float(rows[1]["hm"]) == whole["rows"][1]["hm"]["value"]


def test_the_files_say_the_same(found):
    whole, out = found
    assert json.loads((out / "detectors.json").read_text()) == whole
    assert (out / "detectors.csv").read_text() == to_csv(whole)
    assert (out / "detectors.md").read_text() == markdown(whole)
    assert "/" not in json.dumps(whole["machine"])


def test_what_is_done_is_not_run_again_but_what_failed_is(found, data, monkeypatch):
    whole, out = found
    lines: list[str] = []
    again = study.study_detectors(data, out, plan(), progress=lines.append)
    assert again == whole
    assert lines[:2] == ["constant: done before", "length_only: done before"]
    assert lines[2] == "odd: seed 0"


@pytest.mark.parametrize("change", [{"alpha": 0.2}, {"seeds": (0, 2)}, {"n_resamples": 41}])
def test_another_setting_is_run_anew(found, data, monkeypatch, change):
    _, out = found
    monkeypatch.setattr(study, "run_detector", lambda *args, **more: 1 / 0)
    again = study.study_detectors(data, out, plan(detectors=("length_only",), **change))
    assert again["rows"][0]["failed"] == "ZeroDivisionError: division by zero"
    kept = study.study_detectors(data, out, plan(detectors=("length_only",)))
    assert kept["rows"][0]["failed"] is None


def test_a_kill_loses_one_detector(data, tmp_path, monkeypatch):
    monkeypatch.setattr(Odd, "fault", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        study.study_detectors(data, tmp_path, plan(detectors=("constant", "odd")))
    assert not (tmp_path / "detectors.json").exists()
    assert [path.name for path in (tmp_path / "rows").iterdir()] == ["constant.json"]
    (tmp_path / "rows" / "constant.json").write_text('{"key": ')
    lines: list[str] = []
    study.study_detectors(data, tmp_path, plan(detectors=("constant",)), progress=lines.append)
    assert lines == ["constant: seed 0"]


def test_bad_choices_are_one_line(data):
    with pytest.raises(InputError, match="no such detector .*got bias"):
        plan(detectors=("bias",)).names()
    with pytest.raises(InputError, match="bad seeds"):
        plan(seeds=(1, 1))
    assert study.Plan().names()[:2] == ("constant", "random")
    assert study.Plan().seeds_of("sift_t7") == (0,)


def test_data_without_labels_give_a_table_and_status_1(run, tmp_path):
    """What learns nothing runs there, and has no figure."""

    def unlabelled(rows):
        rows["pairs"] = []
        for trace in rows["traces"]:
            trace["label"], trace["label_evidence"] = -1, []

    folder = write_synthetic(tmp_path / "data", mutate=unlabelled)
    argv = ("study", "detectors", "--data", folder, "-o", tmp_path / "out", "--seeds", "0")
    code, out, err = run(*argv, "--detectors", "constant,label_prior")
    assert code == 1 and "| constant |" in out and "label_prior could not be run" in out
    assert "no detector has a figure: no labelled rows" in err.strip().splitlines()[-1]


def test_the_command_prints_the_table(run, synthetic, tmp_path):
    argv = ("study", "detectors", "--data", synthetic, "-o", tmp_path, "--seeds", "0")
    code, out, err = run(*argv, "--detectors", "constant,odd")
    assert code == 0
    assert (
        "| constant | 0.000" in out
        and "odd: left out: odd: fit failed: RuntimeError: no luck" in err
    )
    code, _, err = run(*argv, "--detectors", "odd")
    assert code == 1 and "no detector has a figure: odd: fit failed: RuntimeError: no luck" in err
    code, _, err = run("study", "detectors", "--data", synthetic, "-o", synthetic, "--seeds", "0")
    assert code == 1 and "would lie among the dataset's files" in err


def test_trainings_that_hardly_learned_are_counted(found):
    whole, _ = found
    rows = [{**whole["rows"][0], "warnings": ["seed 0 kept epoch 1 of 9: no", "seed 1 kept"]}]
    last = notes({**whole, "rows": rows})[-1]
    assert last == "constant: seed 0 kept epoch 1 of 9: no (2 such trainings)."


def test_a_mean_over_seeds_is_separated_like_each_of_them():
    from faithshift_bench.metrics.separation import separation

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    scores = rng.random((3, 60)) + labels
    items = np.repeat([f"i{k}" for k in range(20)], 3)
    found = separation(scores, labels, items, n_resamples=50)
    assert found["auroc"] == pytest.approx(np.mean([auroc(row, labels).value for row in scores]))
    assert (found["n_traces"], found["n_items"]) == (60, 20)
    one = separation(scores[:1], labels, items, n_resamples=50)
    assert one == separation(scores[0], labels, items, n_resamples=50)
    alone = separation(scores, np.ones(60, int), items, n_resamples=50)
    assert alone["auroc"] is None and "one class" in alone["reason"]
