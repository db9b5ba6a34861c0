"""The files of a Space: its settings, the packages that it runs, and the versions it needs."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

from faithshift_data.atomic import new_folder

ROOT = Path(__file__).parent.parent
PACKAGES = ("faithshift_data", "faithshift_bench", "leaderboard")
EXTRAS = ("leaderboard", "report")


def write_space(folder: Path) -> Path:
    """Write a Space's folder, whole or not at all, to be pushed to the Hub as it is.

    Raises:
        InputError: the folder is there already, or cannot be written.
    """
    with new_folder(folder) as new:
        for name in PACKAGES:
            shutil.copytree(
                ROOT / name, new / name, ignore=shutil.ignore_patterns("__pycache__", "space")
            )
        for path in (ROOT / "leaderboard" / "space").glob("*.*"):
            shutil.copyfile(path, new / path.name)
        (new / "requirements.txt").write_text("\n".join(_requirements()) + "\n", encoding="utf-8")
    return folder


def _requirements() -> list[str]:
    """What the packages need, each at the version of ``constraints.txt``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*project["dependencies"]]
    needed += [each for extra in EXTRAS for each in project["optional-dependencies"][extra]]
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {_plain(line): line for line in lines if "==" in line}
    return sorted(pinned[_plain(each)] for each in needed)


def _plain(requirement: str) -> str:
    """The name alone, as registries compare names."""
    return re.split(r"[<>=\[; ]", requirement)[0].lower().replace("_", "-")
