"""The command line: what it prints and writes, and how it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faithshift_data as fd
from faithshift_bench.detectors import run_detector, save_scores
from faithshift_bench.detectors.registry import BASELINES, BUILT_IN, CONTROLS, METRICS


@pytest.fixture(scope="module")
def scores(synthetic, tmp_path_factory):
    table = run_detector("length_only", fd.open(synthetic), (0, 1))
    return save_scores(table, tmp_path_factory.mktemp("scores") / "length.parquet")


def assert_one_line(status, out, err, *parts):
    assert status == 1
    assert out == ""
    assert err.startswith("faithshift: ")
    assert err.count("\n") == 1
    for part in parts:
        assert part in err


def test_help_and_version(run):
    status, out, _ = run("--help")
    assert status == 0
    names = ("demo", "info", "check", "export", "detectors", "detect", "evaluate", "install-metric")
    for name in names:
        assert f"\n  {name}" in out
    assert run("--version")[1] == "faithshift 0.1.0\n"


def test_usage_is_status_2(run):
    assert run()[0] == 2
    assert run("nonsense")[0] == 2
    assert run("detect")[0] == 2
    assert run("evaluate", "x.parquet", "--alpha", "1.5")[0] == 2


def test_info_counts_what_the_tables_hold(run, synthetic):
    status, out, _ = run("info", synthetic, "--json")
    found = json.loads(out)
    assert status == 0
    for split in ("train", "validation", "test"):
        rows = pq.read_table(synthetic / "traces" / f"{split}.parquet").to_pylist()
        part = found["splits"][split]
        assert part["traces"] == len(rows)
        assert part["items"] == len({row["item_id"] for row in rows})
        assert part["faithful"] == sum(row["label"] == 1 for row in rows)
        assert part["unfaithful"] == sum(row["label"] == 0 for row in rows)
        assert part["unknown"] == sum(row["label"] is None for row in rows)
        pairs = pq.read_table(synthetic / "pairs" / f"{split}.parquet").to_pylist()
        for row in found["pairs"]:
            verified = [p for p in pairs if p["axis"] == row["axis"] and p["verified"]]
            assert row["verified"][split] == len(verified)
    validation = found["splits"]["validation"]
    assert validation["items_tune"] + validation["items_calib"] == validation["items"]
    text = run("info", synthetic)[1]
    assert "causal_truncation  altering" in text
    assert f"licence {found['licence']}" in text


def test_check_says_sound_or_lists_problems(run, synthetic, tmp_path):
    from tests.synthetic import write_synthetic

    assert run("check", synthetic) == (0, f"{synthetic}: sound\n", "")
    folder = write_synthetic(tmp_path / "bad", 12, wrong_hash=True)
    status, out, err = run("check", folder)
    assert status == 1
    assert "traces/test.parquet" in out
    assert "problem(s)" in err


def test_detectors_lists_all_and_marks_readers_of_label_evidence(run):
    rows = {row["name"]: row for row in json.loads(run("detectors", "--json")[1])}
    assert list(rows) == list(BUILT_IN)
    marked = {name for name, row in rows.items() if row["reads_label_evidence"]}
    readers = {"biasing", "counterfactual", "instance_level", "ensemble", "detectors4"}
    assert marked == readers | METRICS.keys()
    text = run("detectors")[1]
    assert [line.split()[0].rstrip("*") for line in text.splitlines()[:-1]] == list(rows)


def test_detect_writes_every_trace_of_validation_and_test_once_a_seed(run, synthetic, tmp_path):
    output = tmp_path / "new" / "scores.parquet"
    models = tmp_path / "models"
    status, out, err = run(
        "detect", "random", "--data", synthetic, "--seeds", "0-1,5", "-o", output, "--save", models
    )
    assert (status, out) == (0, f"{output}\n")
    assert err.count("random: seed") == 3
    rows = pq.read_table(output).to_pylist()
    wanted = {
        row["trace_id"]
        for split in ("validation", "test")
        for row in pq.read_table(synthetic / "traces" / f"{split}.parquet").to_pylist()
    }
    for seed in (0, 1, 5):
        ids = [row["trace_id"] for row in rows if row["seed"] == seed]
        assert len(ids) == len(set(ids))
        assert set(ids) == wanted
    assert len(rows) == 3 * len(wanted)
    assert sorted(path.name for path in models.iterdir()) == ["seed-0", "seed-1", "seed-5"]


def test_detect_takes_parameters(run, synthetic, tmp_path):
    output = tmp_path / "s.parquet"
    options = ("--data", synthetic, "--seeds", "0", "-o", output, "--param", "value=0.25")
    assert run("detect", "constant", *options)[0] == 0
    assert set(pq.read_table(output)["score"].to_pylist()) == {0.25}


@pytest.mark.parametrize(
    ("argv", "parts"),
    [
        (("detect", "hiden_state"), ("no such detector", "hidden_state")),
        (("detect", "random", "--seeds", "3-1"), ("bad seeds", "expected 1-3", "got 3-1")),
        (("detect", "random", "--seeds", "0-1000"), ("too many seeds", "1000 or fewer")),
        (("detect", "random", "--seeds", "0-599,600-1200"), ("too many seeds",)),
        (("detect", "random", "--seeds", "a"), ("bad seeds", "got a")),
        (("detect", "random", "--seeds", "1,1"), ("bad seeds",)),
        (("detect", "biasing", "--param", "D=1"), ("no such parameter", "got D")),
        (("detect", "biasing", "--param", "C=1", "--param", "C=2"), ("given twice", "got C")),
        (("detect", "ensemble", "--param", "profile=3"), ("ensemble, field profile: learned",)),
        (("detect", "biasing", "--param", "C"), ("bad parameter", "name=value")),
    ],
)
def test_detect_refuses_in_one_line(run, synthetic, tmp_path, argv, parts):
    output = tmp_path / "s.parquet"
    assert_one_line(*run(*argv, "--data", synthetic, "-o", output), *parts)
    assert not output.exists()


@pytest.mark.parametrize("command", ["info", "check", "demo"])
def test_data_that_is_not_there_is_one_line(run, tmp_path, command):
    option = ("--data",) if command == "demo" else ()
    missing = tmp_path / "absent"
    assert_one_line(*run(command, *option, missing), "absent")


def test_evaluate_prints_and_writes_the_report(run, synthetic, scores, tmp_path):
    files = ("--json", tmp_path / "r.json", "--html", tmp_path / "r.html")
    status, out, _ = run("evaluate", scores, "--data", synthetic, *files)
    assert status == 0
    assert "length_only" in out
    written = json.loads((tmp_path / "r.json").read_text())
    for block in ("headline", "full", "certified"):
        assert {"mfs", "hm", "coverage", "ivr", "as"} <= written[block].keys()
    assert (tmp_path / "r.html").read_text().lstrip().startswith("<!")
    status, out, _ = run("evaluate", scores, "--data", synthetic, "--json", "-")
    assert json.loads(out) == written


def test_evaluate_refuses_a_missing_row_and_a_missing_file(run, synthetic, scores, tmp_path):
    short = tmp_path / "short.parquet"
    pq.write_table(pq.read_table(scores).slice(1), short)
    assert_one_line(*run("evaluate", short, "--data", synthetic), "short.parquet", "trace_id")
    assert_one_line(*run("evaluate", tmp_path / "no.csv", "--data", synthetic), "no.csv")


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_evaluate_does_not_overwrite_what_it_reads(run, synthetic, scores, tmp_path, option):
    mine = tmp_path / "mine.parquet"
    mine.write_bytes(scores.read_bytes())
    link = tmp_path / "link.parquet"
    link.symlink_to(mine)
    for target in (mine, tmp_path / "." / "mine.parquet", link, synthetic / "manifest.json"):
        before = target.read_bytes()
        found = run("evaluate", mine, "--data", synthetic, option, target)
        assert_one_line(*found, "would overwrite", option)
        assert target.read_bytes() == before


def test_evaluate_does_not_write_two_reports_to_one_file(run, synthetic, scores, tmp_path):
    target = tmp_path / "r"
    both = ("--json", target, "--html", target)
    assert_one_line(*run("evaluate", scores, "--data", synthetic, *both), "would overwrite")
    assert not target.exists()


def test_compare_does_not_overwrite_what_it_reads(run, synthetic, scores, tmp_path):
    mine = tmp_path / "mine.parquet"
    mine.write_bytes(scores.read_bytes())
    found = run("compare", mine, "--data", synthetic, "--json", mine)
    assert_one_line(*found, "would overwrite")
    assert mine.read_bytes() == scores.read_bytes()


def test_detect_refuses_a_bad_output_before_it_fits(run, synthetic, tmp_path, monkeypatch):
    from faithshift_bench import detectors

    def fitted(*_, **__):
        raise AssertionError("fitted")

    monkeypatch.setattr(detectors, "run_detector", fitted)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "link").symlink_to(synthetic)
    for output, words in (
        (tmp_path / "z.csv", "written as Parquet"),
        (tmp_path / "z", "written as Parquet"),
        (tmp_path / "folder.parquet", "is a folder"),
        (tmp_path / "file" / "z.parquet", "cannot be written to"),
        (synthetic / "traces" / "test.parquet", "would overwrite"),
        (synthetic / "scores.parquet", "among the dataset's files"),
        (tmp_path / "link" / "scores.parquet", "among the dataset's files"),
    ):
        assert_one_line(*run("detect", "random", "--data", synthetic, "-o", output), words)
    saved = ("-o", tmp_path / "z.parquet", "--save", synthetic / "models")
    assert_one_line(*run("detect", "random", "--data", synthetic, *saved), "--save", "among")
    assert not (tmp_path / "z.csv").exists()


def test_export_of_what_is_not_embedded_or_onto_something_is_refused(run, tmp_path):
    assert_one_line(*run("export", "nothing", tmp_path / "x"), "nothing")
    assert not (tmp_path / "x").exists()


def test_export_copies_the_folder_and_refuses_a_full_one(run, synthetic, tmp_path, monkeypatch):
    monkeypatch.setattr(fd, "path", lambda name: synthetic)
    target = tmp_path / "faithshift"
    assert run("export", "mini", target) == (0, f"{target}\n", "")
    names = sorted(p.relative_to(synthetic) for p in synthetic.rglob("*"))
    assert sorted(p.relative_to(target) for p in target.rglob("*")) == names
    assert fd.check(target) == []
    assert_one_line(*run("export", "mini", target), "already exists")


def test_demo_prints_two_blocks_and_writes_its_files(run, synthetic, tmp_path):
    out_folder = tmp_path / "demo"
    status, out, err = run("demo", "--data", synthetic, "--out", out_folder)
    assert status == 0
    assert "At full coverage" in out
    assert "Certified at alpha 0.25" in out
    names = {*CONTROLS, *BASELINES}
    assert {path.stem for path in (out_folder / "scores").iterdir()} == names
    for name in names:
        assert out.count(f"\n{name}") >= 2
    assert (out_folder / "report.html").stat().st_size > 1000
    assert "report.html" in err


def test_demo_leaves_out_what_the_data_lack(run, synthetic, tmp_path):
    import shutil

    folder = shutil.copytree(synthetic, tmp_path / "own")
    shutil.rmtree(folder / "trajectories")
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    files = manifest["files"]
    manifest["files"] = {k: v for k, v in files.items() if not k.startswith("trajectories/")}
    path.write_text(json.dumps(manifest))
    status, out, err = run("demo", "--data", folder, "--out", tmp_path / "out")
    assert status == 0
    for name in ("hidden_state", "instance_level", "attribution"):
        assert f"{name} left out: " in err
        assert f"\n{name}" not in out
    assert out.count("\nbiasing") >= 2


def test_text_detectors_find_the_planted_signal(synthetic):
    """A loop that ran on shuffled rows or wrong labels would end at chance."""
    data = fd.open(synthetic)
    traces = pa.concat_tables([data.table("traces", s) for s in ("validation", "test")])
    label = dict(zip(*(traces[c].to_pylist() for c in ("trace_id", "label")), strict=True))
    for name in ("biasing", "length_only", "hidden_state", "instance_level", "counterfactual"):
        table = run_detector(name, data, (0,))
        y = np.array([-1 if label[i] is None else label[i] for i in table["trace_id"].to_pylist()])
        s = np.array(table["score"])
        ahead = s[y == 1][:, None] - s[y == 0][None, :]
        assert (ahead > 0).mean() + (ahead == 0).mean() / 2 > 0.65, name


def test_an_ascii_terminal_gets_escapes_and_sound_json(synthetic, scores, tmp_path):
    named = tmp_path / "d\u00e9tecteur.csv"
    rows = pq.read_table(scores).to_pylist()
    lines = [f"{row['trace_id']},{row['seed']},{row['score']}" for row in rows]
    named.write_text("\n".join(["trace_id,seed,score", *lines]))
    code = "import sys; sys.argv = ['faithshift', *sys.argv[1:]]\n"
    code += "from faithshift_bench.cli import main; main()"
    whole = [sys.executable, "-c", code, "evaluate", str(named), "--data", str(synthetic)]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    text, as_json = (
        subprocess.run([*whole, *more], capture_output=True, env=env, check=True).stdout
        for more in ((), ("--json", "-"))
    )
    assert text.startswith(b"# d\\xe9tecteur on")
    assert json.loads(as_json)["detector"] == "d\u00e9tecteur"


def test_the_reader_may_leave(synthetic):
    """`faithshift info | head -0` ends without a traceback."""
    code = f"import sys; sys.argv = ['faithshift', 'info', {str(synthetic)!r}]\n"
    code += "from faithshift_bench.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 1
