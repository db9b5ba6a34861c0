"""Every hostile file is refused in one line of its own, and none costs much memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.leaderboard.hostile import CASES

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def tried(synthetic, tmp_path_factory):
    out = tmp_path_factory.mktemp("hostile") / "out.json"
    argv = [sys.executable, "-m", "tests.leaderboard.hostile", str(synthetic), str(out)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


def test_there_are_enough_of_them():
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_in_one_line(tried, name):
    line = tried["found"][name]
    assert re.search(CASES[name][0], line), line
    assert "\n" not in line and "Traceback" not in line and len(line) < 700
    # A sign that moves the cursor or turns the line never reaches a log.
    assert line.isprintable()


def test_memory_stays_bounded(tried):
    assert tried["bytes"] < 900 * 2**20, f"{tried['bytes'] / 2**20:.0f} MiB"
