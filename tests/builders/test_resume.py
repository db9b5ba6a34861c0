"""A build that is killed or interrupted again and again ends as one that never was."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

import faithshift_data as fd
from builders.__main__ import main
from builders.stages import work_folder
from tests.builders.tiny import hashes, untranslated, write_tiny_preset

pytest.importorskip("reasoning_gym")
CHUNKS = 8
ENDS = (signal.SIGINT, signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGKILL)
PRELOADED = ("builders.worker", "builders.stages", "transformers.models.llama.modeling_llama")


def _build(preset: str, out: str, workers: int, log: str) -> None:
    """A build in a process group of its own, its pool's processes too."""
    os.setsid()
    # Processes of the background are born deaf to Ctrl-C, and the suite may be one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout = sys.stderr = open(log, "a")  # noqa: SIM115 - until the process is killed
    # Spawned processes would import torch anew, each for seconds; this one has no threads.
    with pytest.MonkeyPatch.context() as patch:
        untranslated(patch)
        patch.setattr("builders.pool.START_METHOD", "fork")
        arguments = ["build", "--preset", preset, "--out", out, "--workers", str(workers)]
        os._exit(main(arguments))


def _state(work: Path) -> set[str]:
    return {path.name for path in work.glob("*.json")}


@pytest.mark.slow
def test_ended_at_five_random_points_and_resumed(tmp_path: Path) -> None:
    preset = str(write_tiny_preset(tmp_path))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED, __name__])
    rng = random.Random(20261130)
    out, log = tmp_path / "out", tmp_path / "log.txt"
    work = work_folder(out)
    for kind in ENDS:
        before = _state(work)
        # Nearly all chunks may be there, and one must be left to make.
        delay = rng.uniform(0, 0.15) if len(before) < 3 else 0
        # On Ctrl-C, a build has begun, and not only the command.
        more = 1 if kind == signal.SIGINT else min(rng.choice((0, 1)), max(0, 5 - len(before)))
        process = context.Process(target=_build, args=(preset, str(out), 2, str(log)))
        process.start()
        deadline = time.monotonic() + 300
        while process.is_alive() and (
            len(_state(work) - before) < more or os.getpgid(process.pid) != process.pid
        ):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.002)
        time.sleep(delay)
        assert process.is_alive(), log.read_text()
        os.killpg(process.pid, kind)
        process.join(60)
        assert process.exitcode == (130 if kind == signal.SIGINT else -signal.SIGKILL)
        assert before <= _state(work) and not out.exists()
    assert 0 < len(_state(work)) < CHUNKS
    resumed = context.Process(target=_build, args=(preset, str(out), 2, str(log)))
    resumed.start()
    resumed.join(300)
    assert resumed.exitcode == 0, log.read_text()
    assert fd.check(str(out)) == []
    left = [path for path in tmp_path.rglob("*") if path.name.startswith(".")]
    assert left == []

    once = tmp_path / "once"
    whole = context.Process(target=_build, args=(preset, str(once), 1, str(log)))
    whole.start()
    whole.join(300)
    assert whole.exitcode == 0, log.read_text()
    assert hashes(out) == hashes(once)
    assert _state(work) == _state(work_folder(once)) and len(_state(work)) == CHUNKS
