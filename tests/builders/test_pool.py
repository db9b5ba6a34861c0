"""Processes end with their parent, with the first fault, and at once on Ctrl-C, in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from builders.pool import BuildError, Pool

# A build as the command line runs it, of tasks that note their process and never end.
ENDLESS = """
import signal, sys, time
from functools import partial
from pathlib import Path

from builders import __main__ as command
from builders.pool import Pool
from tests.builders.test_pool import endless, nothing


def build(_):
    with Pool(int(sys.argv[1]), nothing) as pool:
        list(pool.results([partial(endless, Path(sys.argv[2]), n) for n in range(4)]))


command._build = build
if __name__ == "__main__":
    # Processes of the background are born deaf to Ctrl-C, and the suite may be one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(command.main(["build"]))
"""


def nothing() -> None:
    """No preparation."""


def endless(folder: Path, number: int) -> None:
    (folder / f"{number}").write_text(str(os.getpid()))
    time.sleep(600)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # One that nobody has waited for yet.
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def within(seconds: float, said: str, condition) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, said
        time.sleep(0.02)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", ["INT", "KILL"])
def test_an_interrupted_build_ends_at_once_and_leaves_no_process(
    tmp_path: Path, workers: int, kind: str
) -> None:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    (pids := tmp_path / "pids").mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script), str(workers), str(pids)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    within(60, "tasks have begun", lambda: len(list(pids.iterdir())) == workers)
    begun = [int(file.read_text()) for file in pids.iterdir()]
    assert all(map(alive, begun))
    if kind == "INT":
        # As a terminal does it: every process of the group gets the signal.
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.kill()
    said = process.communicate(timeout=20)[1]
    within(5, "no process is left", lambda: not any(map(alive, begun)))
    if kind == "INT":
        assert process.returncode == 130
        assert said == "interrupted; what is done is kept: run again to go on\n"


def test_a_process_that_is_ended_is_one_line() -> None:
    said = "a worker process was ended, for want of memory"
    with pytest.raises(BuildError, match=said), Pool(2, nothing) as pool:
        list(pool.results([partial(os._exit, 3)]))


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_with_their_places_and_the_first_fault_ends_all(workers: int) -> None:
    with Pool(workers, nothing) as pool:
        assert sorted(pool.results([partial(pow, 2, n) for n in range(5)])) == [
            (n, 2**n) for n in range(5)
        ]
        assert dict(pool.results([partial(pow, 3, 2)])) == {0: 9}
    begin = time.monotonic()
    with pytest.raises(ZeroDivisionError), Pool(workers, nothing) as pool:
        list(pool.results([partial(pow, 0, -1), partial(time.sleep, 600)]))
    assert time.monotonic() - begin < 60
