"""The evaluate module by its bare name: offline, once installed, in many processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Without transformers, which evaluate would import for seconds and which nobody needs here.
EVALUATE = """
import sys
sys.modules["transformers"] = None
import evaluate
del sys.modules["transformers"]
"""
LOAD = """
metric = evaluate.load("meta_faithfulness")
result = metric.compute(predictions=[.9, .8, .2], references=[1, 1, 0], trace_id=["a", "b", "c"],
    anchor_id=["", "a", "a"], item_id=["i"] * 3, axis=["", "paraphrase", "cue_injection"],
    kind=["", "preserving", "altering"])
# One write, so that eight processes do not print into each other's lines.
sys.stdout.write(f"{result['mfs']} {result['n_items']}\\n")
sys.stdout.flush()
"""
# One import for all: what they share is the cache on the disk.
AT_ONCE = f"""
import os, traceback
children = []
for folder in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            os.chdir(folder)
            exec({LOAD!r})
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    children.append(child)
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""


def python(
    code: str, home: Path, folder: Path, *arguments: Path
) -> subprocess.CompletedProcess[str]:
    """Run code in a folder, with an HF_HOME and offline."""
    env = {**os.environ, "HF_HOME": str(home), "HF_EVALUATE_OFFLINE": "1"}
    env.pop("HF_MODULES_CACHE", None)
    argv = [sys.executable, "-c", EVALUATE + code, *map(str, arguments)]
    return subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A new HF_HOME with the metric installed."""
    code = "from faithshift_bench import install_metric; print(install_metric())"
    done = python(code, tmp_path / "home", tmp_path)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(tmp_path / "home")
    assert Path(done.stdout.strip()).is_file()
    return tmp_path / "home"


def test_by_bare_name_offline_in_eight_processes_at_once(home: Path, tmp_path: Path) -> None:
    folders = [tmp_path / str(i) for i in range(8)]
    for folder in folders:
        folder.mkdir()
    done = python(AT_ONCE, home, tmp_path, *folders)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1.0", "1"] * 8


def test_without_installation_the_bare_name_is_not_found(tmp_path: Path) -> None:
    done = python(LOAD, tmp_path, tmp_path)
    assert done.returncode != 0
    assert "meta_faithfulness" in done.stderr
