"""A process that has imported the real clients once; each job runs in a fork of it.

The clients read their endpoint at import, so they cannot be pointed to a Hub within the tests'
own process, and a new process for each job would spend seconds on imports.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parent.parent.parent
LIMIT_SECONDS = 300
WARM = ("datasets", "evaluate", "huggingface_hub", "builders.__main__", "cards")
WARM += ("builders.publishing.publish", "faithshift_bench.detectors.biasing", "jinja2")
WARM += ("safetensors.numpy", "sklearn.feature_extraction.text", "sklearn.linear_model")


@dataclass(frozen=True)
class Done:
    """How a job ended: exit status (negative: the signal that ended it), and all it printed."""

    status: int
    out: str
    err: str


class Client:
    """Runs Python code, or the builder's command, as a process whose clients know one Hub."""

    def __init__(self, env: Mapping[str, str]) -> None:
        """Start the process.

        Args:
            env: what is added to the environment, for instance ``LoopbackHub.env``.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.hub.client"],
            cwd=ROOT,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def python(self, code: str, folder: Path, **env: str) -> Done:
        """Run code in a folder, with more variables."""
        assert self._process.stdin is not None and self._process.stdout is not None
        job = {"code": code, "folder": str(folder), "env": env}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return Done(**json.loads(self._process.stdout.readline()))

    def builders(self, *arguments: object, folder: Path, **env: str) -> Done:
        """Run ``python -m builders ARGUMENTS`` in a folder, with more variables."""
        words = [str(argument) for argument in arguments]
        code = f"import sys\nfrom builders.__main__ import main\nsys.exit(main({words!r}))"
        return self.python(code, folder, **env)

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self._process.terminate()
        self._process.communicate()


def _serve() -> None:
    # Without transformers, which evaluate would import for seconds and which no job needs.
    sys.modules["transformers"] = None  # type: ignore[assignment]
    for name in WARM:
        import_module(name)
    del sys.modules["transformers"]
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line))), flush=True)


def _run(job: Mapping[str, Any]) -> dict[str, object]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os._exit(_child(job))
        _, status = os.waitpid(child, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return {"status": os.waitstatus_to_exitcode(status), "out": texts[0], "err": texts[1]}


def _child(job: Mapping[str, Any]) -> int:
    signal.alarm(LIMIT_SECONDS)
    os.chdir(job["folder"])
    os.environ.update(job["env"])
    try:
        exec(compile(job["code"], "job", "exec"), {"__name__": "__main__"})
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return status


if __name__ == "__main__":
    _serve()
