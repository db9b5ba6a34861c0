"""Whoever is told to end leaves no process that goes on, and no file with a submitter's address."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leaderboard.__main__ import main
from leaderboard.scoring import ROOT
from tests.leaderboard.served import PATIENCE, served


def until(check):
    """What ``check`` gives, once it gives something."""
    end = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)
    return found


def at_work(*words: object) -> list[int]:
    """Processes that were started with all these words, and are none of the dead."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            said = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if set(map(str, words)) <= set(said):
            found.append(int(path.parent.name))
    return found


def judges(aside: Path) -> list[int]:
    return [pid for job in aside.glob("*/job.json") for pid in at_work("leaderboard.judge", job)]


@pytest.fixture
def aside(tmp_path, monkeypatch):
    """Where temporary files of the processes lie."""
    folder = tmp_path / "aside"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def scoring(store: Path, data: Path) -> subprocess.Popen:
    argv = [sys.executable, "-m", "leaderboard", "score", str(store), "--data", str(data)]
    return subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def test_score_and_its_judge(synthetic, tmp_path, aside):
    process = scoring(tmp_path / "store", synthetic)
    (judge,) = until(lambda: judges(aside))
    process.terminate()
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM and "Traceback" not in said
    assert not Path(f"/proc/{judge}").exists() and not list(aside.iterdir())


def test_an_interrupt_is_no_traceback(tmp_path, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("leaderboard.__main__._build", interrupted)
    assert main(["build", str(tmp_path)]) == 130


def test_a_judge_ends_with_who_was_killed(tmp_path):
    """It would wait for its job for ever, which nobody is left to give."""
    os.mkfifo(tmp_path / "job")
    argv = [sys.executable, "-m", "leaderboard.judge", str(tmp_path / "job"), str(tmp_path / "out")]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE) as process:
        process.stdin.close()
        try:
            assert process.wait(PATIENCE) == 1
        finally:
            process.kill()


def test_a_server_its_pass_and_the_judge(synthetic, tmp_path, aside):
    pytest.importorskip("gradio", reason="pip install -e '.[leaderboard]' -c constraints.txt")
    process, url = served(tmp_path / "store", synthetic)
    assert url
    (judge,) = until(lambda: judges(aside))
    (pass_,) = at_work("leaderboard", "score", tmp_path / "store")
    process.terminate()
    process.wait(PATIENCE)
    process.stdout.close()
    # Before the server itself, so that its next start finds the queue free.
    assert not at_work("leaderboard", "score", tmp_path / "store")
    until(lambda: not Path(f"/proc/{judge}").exists() and not Path(f"/proc/{pass_}").exists())
    assert not [path for path in aside.rglob("job.json")]
