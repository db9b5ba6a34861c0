"""Every block of the README runs as it stands; see test_wheel.py for an installed package."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pyarrow.parquet as pq

from tests.answering_model import write_answering_model
from tests.readme_blocks import ROOT, blocks, run_blocks


def test_the_blocks_run_in_an_empty_folder(tmp_path):
    model = write_answering_model(tmp_path / "model")
    printed = run_blocks(Path(sys.executable), tmp_path, tmp_path / "home", model)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["headline"]["operating_point"] == "certified"
    assert (tmp_path / "report.html").stat().st_size > 1000
    # ivr: the one paraphrase keeps its verdict; as: one of two injections flips it
    assert any("0.6666666666666666 0.0 0.5 2" in text for text in printed)
    assert_the_audits(tmp_path, printed)


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


def test_only_what_builds_data_or_needs_the_hub_is_left_out():
    others = [text for language, text in blocks() if language not in ("bash", "python")]
    lines = [line for text in others for line in text.splitlines()]
    assert all(line.startswith("python -m builders ") or " ORG/" in line for line in lines)


def test_it_starts_with_the_two_commands():
    text = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^    (\S.*?)(?:\s{2,}#.*)?$", text, re.MULTILINE)
    assert commands[:2] == ["make demo", "make test"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"demo", "test", "lint"} <= set(targets)


def test_every_command_and_every_link_exists():
    from faithshift_bench.cli import app

    names = {info.name or info.callback.__name__ for info in app.registered_commands}
    for language, text in blocks():
        if language == "bash":
            assert set(re.findall(r"^faithshift ([\w-]+)", text, re.MULTILINE)) <= names
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text("utf-8")):
        assert (ROOT / target).exists(), target
