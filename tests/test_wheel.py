"""The wheel: what is in it, and the README's blocks in an environment that has nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from packaging.requirements import Requirement

from tests.answering_model import write_answering_model
from tests.readme_blocks import ROOT, run_blocks


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    argv = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*argv, str(ROOT)], check=True, capture_output=True, text=True)
    (path,) = out.iterdir()
    return path


def requirements(name: str, extras: set[str]) -> set[str]:
    """Distributions that installing ``name[extras]`` brings, without ``name``."""
    found: set[tuple[str, frozenset[str]]] = set()
    todo = [(name, frozenset(extras))]
    while todo:
        current, wanted = todo.pop()
        for line in distribution(current).requires or ():
            need = Requirement(line)
            marker = need.marker
            if marker is None or any(marker.evaluate({"extra": e}) for e in wanted or {""}):
                pair = (need.name.lower(), frozenset(need.extras))
                if pair not in found:
                    found.add(pair)
                    todo.append(pair)
    return {pair[0] for pair in found} - {name}


def environment(wheel: Path, folder: Path, extras: set[str]) -> Path:
    """An interpreter with the wheel and what it asks for, linked from this environment."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    for name in requirements("faithshift", extras):
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(found.locate_file(top))).resolve())
    argv = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    argv += ["--no-index", "--no-deps", "--disable-pip-version-check", str(wheel)]
    subprocess.run(argv, check=True, capture_output=True, text=True)
    return python


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """What the README's first commands install."""
    return environment(wheel, tmp_path_factory.mktemp("venv"), {"report"})


def test_it_holds_the_two_packages_and_their_data(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "faithshift_data",
        "faithshift_bench",
    }
    tracked = subprocess.run(
        ["git", "ls-files", "faithshift_data", "faithshift_bench"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert set(tracked.stdout.split()) <= set(names)
    for needed in ("faithshift_data/py.typed", "faithshift_bench/templates/report.html.j2"):
        assert needed in names
    assert any(name.startswith("faithshift_data/embedded/mini/traces/") for name in names)


def test_the_environment_has_the_wheel_and_no_torch(python, tmp_path):
    code = "import faithshift_data, importlib.util as u; print(faithshift_data.__file__)\n"
    code += "print([n for n in ('torch', 'transformers', 'pytest', 'builders') if u.find_spec(n)])"
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    file, found = done.stdout.splitlines()
    assert Path(file).is_relative_to(python.parent.parent)
    assert found == "[]"


@pytest.mark.slow
def test_the_readme_runs_with_what_measure_needs(wheel, tmp_path):
    """Every block runs as it stands, in an empty folder, from the installed package."""
    measuring = environment(wheel, tmp_path / "venv", {"report", "measure"})
    folder = tmp_path / "run"
    folder.mkdir()
    model = write_answering_model(tmp_path / "model")
    printed = run_blocks(measuring, folder, tmp_path / "home", model)
    report = json.loads((folder / "report.json").read_text())
    assert report["headline"]["operating_point"] == "certified"
    assert (folder / "report.html").stat().st_size > 1000
    # ivr: the one paraphrase keeps its verdict; as: one of two injections flips it
    assert any("0.6666666666666666 0.0 0.5 2" in text for text in printed)
    assert_the_audits(folder, printed)
    assert any("3 of 3 pairs of models reverse between two metrics" in text for text in printed)
    assert (folder / "agreement" / "figures" / "ranks.svg").exists()


def assert_the_audits(folder, printed):
    """Own traces and an own model are measured, counted and scored."""
    assert any("mine: 3 of 3 traces measured with model" in text for text in printed)
    assert any("mine: sound" in text for text in printed)
    assert any("audit: 6 of 6 traces measured with model" in text for text in printed)
    assert any("the answer that the cue suggests: 2 of 2 with it" in text for text in printed)
    scores = pq.read_table(folder / "mine.parquet")
    assert scores.num_rows == 3 * 4
    assert pq.read_table(folder / "mine-instance.parquet").num_rows == 3 * 4
    assert pq.read_table(folder / "audit.parquet").num_rows == 6 * 4
    listed = next(text for text in printed if "I go with the professor." in text).splitlines()
    assert len(listed) == 3
    assert [float(line.split()[0]) for line in listed] == sorted(
        round(score, 2) for score in scores["score"].to_pylist()[::4]
    )


@pytest.mark.slow
def test_the_demo_runs_there(python, tmp_path):
    command = python.with_name("faithshift")
    done = subprocess.run([command, "demo"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "At full coverage" in done.stdout
    assert (tmp_path / "faithshift-demo" / "report.html").exists()
