"""What a dataset holds, whether it is sound, and a copy of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faithshift_bench.commands.common import Json, Name, print_json, say


def info(data: Name = "mini", as_json: Json = False) -> None:
    """What a dataset holds."""
    import faithshift_data as fd
    from faithshift_data.summary import render_summary, summarise

    summary = summarise(fd.open(data))
    if as_json:
        print_json(summary)
    else:
        print(render_summary(summary))


def check(data: Name = "mini") -> None:
    """Whether a dataset is sound: one line a problem, and exit status 1 if there is one."""
    import faithshift_data as fd

    problems = fd.check(data)
    for problem in problems:
        print(problem)
    if problems:
        say(f"faithshift: {data}: {len(problems)} problem(s)")
        raise typer.Exit(1)
    print(f"{data}: sound")


def export(name: str, folder: Annotated[Path, typer.Argument(metavar="DIR")]) -> None:
    """Write an embedded dataset as a folder, for `load_dataset` and for reading."""
    import shutil

    import faithshift_data as fd
    from faithshift_data.atomic import new_folder

    source = fd.path(name)
    with new_folder(folder) as temporary:
        shutil.copytree(source, temporary, dirs_exist_ok=True)
    print(folder)
