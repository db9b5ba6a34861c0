"""The thread of a server that has the queue judged, and once a day a baseline run anew.

It only waits: each pass is a process of its own (``python -m leaderboard score``), so that a
server answers while one is judged, and a restart goes on with what has no outcome yet.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from faithshift_data.atomic import canonical_json, write_text
from leaderboard.api import nothing
from leaderboard.scoring import KEPT, ROOT, Board, Confines, Say
from leaderboard.store import Store

SELF_TEST = "selftest.json"
DAY = timedelta(days=1)
# Seconds after which the queue is looked at, where nobody says that something has come.
PATIENCE = 30.0
# Seconds in which a process that is told to end does so by itself.
GRACE = 5.0


class Worker(threading.Thread):
    """Judges what waits, one at a time, until it is stopped."""

    def __init__(
        self,
        store: Store,
        board: Board,
        confines: Confines,
        say: Say,
        keep: Callable[[], None] = nothing,
    ) -> None:
        """Nothing happens before ``start``.

        Args:
            store: of the board.
            board: the data that it ranks.
            confines: of judging one submission.
            say: takes a line for each fault.
            keep: as in :func:`leaderboard.api.answer`; called after each pass.
        """
        super().__init__(daemon=True)
        self.store, self.say, self.keep = store, say, keep
        self._told = [str(store.folder.absolute()), "--data", board.public]
        self._told += ["--key", board.key] if board.key else []
        self._told += ["--seconds", str(confines.cpu_seconds)]
        self._told += ["--memory-gib", str(confines.memory_bytes / 2**30)]
        self._wake, self._ended = threading.Event(), False
        self._process: subprocess.Popen[str] | None = None
        # What a pass left waits for other data, or for the keeper; once a day it is tried again.
        self._left: set[str] | None = None
        self._tested: datetime | None = None

    def wake(self) -> None:
        """Something has come."""
        self._wake.set()

    def stop(self) -> None:
        """End, and the process that runs with it; what it judged stays in the queue."""
        self._ended = True
        self._wake.set()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process is not None:
                self._process.send_signal(number)
            self.join(GRACE)

    def run(self) -> None:
        """Pass after pass; a fault is told, and the next pass tries again."""
        while not self._ended:
            try:
                self._pass()
            # The thread outlives whatever a disk or the Hub may do.
            except Exception as error:  # noqa: BLE001
                self.say(f"worker: {type(error).__name__}: {error}")
            self._wake.wait(PATIENCE)
            self._wake.clear()

    def _pass(self) -> None:
        waiting = set(self.store.queue())
        if self._left is None or waiting - self._left:
            self._command("score")
            self._left = waiting & set(self.store.queue())
        self.keep()
        last = self_tested(self.store)
        at = self._tested or (last and datetime.fromisoformat(last["at"]))
        if at is None or datetime.now(UTC) - at > DAY:
            self._left, self._tested = None, datetime.now(UTC)
            status, out = self._command("selftest")
            if status in (0, 1) and out:
                now = self._tested.isoformat(timespec="seconds")
                found = {"at": now, "same": status == 0, "outcome": out}
                write_text(self.store.folder / SELF_TEST, canonical_json(found))

    def _command(self, name: str) -> tuple[int, str]:
        """Status and output of a command of the board, which gets no token."""
        if self._ended:
            return -1, ""
        argv: Sequence[str] = [sys.executable, "-m", "leaderboard", name, *self._told]
        env = {key: os.environ[key] for key in (*KEPT, "OMP_NUM_THREADS") if key in os.environ}
        self._process = subprocess.Popen(
            argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        # Who stopped this thread meanwhile saw no process.
        if self._ended:
            self._process.terminate()
        out, _ = self._process.communicate()
        return self._process.returncode, out.strip()


def self_tested(store: Store) -> dict[str, Any] | None:
    """When a baseline was last run anew (UTC), whether all was the same, and what was not."""
    path = store.folder / SELF_TEST
    if not path.exists():
        return None
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value
