"""Who may import whom, and what a plain import may not pull in."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = {
    "torch",
    "datasets",
    "evaluate",
    "sklearn",
    "matplotlib",
    "transformers",
    "pandas",
    "ray",
    "vllm",
}
OURS = ("faithshift_data", "faithshift_bench", "builders", "cards", "leaderboard")
MAY_IMPORT = {
    "faithshift_data": set(),
    "faithshift_bench": {"faithshift_data"},
    "builders": {"faithshift_data", "faithshift_bench", "cards"},
    "cards": {"faithshift_data", "faithshift_bench"},
    "leaderboard": {"faithshift_data", "faithshift_bench", "cards"},
}


@cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a file."""
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


def imported(path: Path) -> set[str]:
    """Top-level names of all modules that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            raise AssertionError(f"{path}: relative import")
    return names


@pytest.mark.parametrize("room", OURS)
def test_imports_go_one_way(room):
    for path in sorted((ROOT / room).rglob("*.py")):
        foreign = (imported(path) & {*OURS, "tests"}) - {room} - MAY_IMPORT[room]
        assert not foreign, f"{path.relative_to(ROOT)} imports {foreign}"


def test_the_rule_sees_a_wrong_import(tmp_path):
    wrong = tmp_path / "x.py"
    wrong.write_text(
        "def f():\n    from faithshift_bench import scores\n    import builders.axes\n"
    )
    assert imported(wrong) == {"faithshift_bench", "builders"}


@pytest.mark.parametrize(
    "code",
    [
        "import faithshift_data",
        "import faithshift_bench",
        "import faithshift_bench.detectors, faithshift_bench.meta_faithfulness",
        "import sys; sys.argv = ['faithshift', '--help']\n"
        "from faithshift_bench.cli import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code",
    ],
)
def test_heavy_packages_are_imported_where_used(code):
    probe = f"{code}\nimport sys; print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"


def test_no_pickle_no_eval():
    for room in OURS:
        for path in sorted((ROOT / room).rglob("*.py")):
            assert not imported(path) & {"pickle", "dill", "joblib", "marshal"}, path
            called = [
                n.func.id
                for n in nodes(path)
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
            ]
            assert not {"eval", "exec"} & set(called), path
