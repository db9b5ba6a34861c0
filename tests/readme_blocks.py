"""The README's blocks, and how a newcomer would run them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODEL = "path/to/your/model"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    """(language, text) of every fenced block, in order."""
    return FENCE.findall((ROOT / "README.md").read_text("utf-8"))


def run_blocks(python: Path, folder: Path, home: Path, model: Path) -> list[str]:
    """Run the bash and python blocks in order in ``folder``; what each printed.

    Args:
        python: the interpreter; commands are looked up beside it first.
        folder: where they run, shared by all.
        home: an empty HF_HOME.
        model: a model folder, what ``MODEL`` stands for.
    """
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HF_HOME": str(home), "PYTHONNOUSERSITE": "1"}
    env |= {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
    for name in ("PYTHONPATH", "VIRTUAL_ENV", "HF_MODULES_CACHE"):
        env.pop(name, None)
    printed = []
    for language, block in blocks():
        text = block.replace(MODEL, str(model))
        if language == "bash":
            argv = ["bash", "-euo", "pipefail", "-c", text]
        elif language == "python":
            argv = [str(python), "-c", text]
        else:
            continue
        done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout)
    return printed
