"""The board as a process of its own, and what it answers."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# A busy machine is slow for reasons that no test is about.
PATIENCE = 60.0


def served(store: Path, data: Path) -> tuple[subprocess.Popen, str]:
    """The app on a free port, and its address."""
    argv = [sys.executable, "-m", "leaderboard", "serve", str(store), "--data", str(data)]
    process = subprocess.Popen([*argv, "--port", "0"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def ask(url: str, data: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Status and body."""
    request = urllib.request.Request(url, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
