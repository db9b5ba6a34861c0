"""The whole loop on embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faithshift_bench.commands.common import Data, say


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and scores.")] = Path(
        "faithshift-demo"
    ),
    data: Data = "mini",
) -> None:
    """The whole loop on the embedded data, in under a minute."""
    from faithshift_bench.demo import run_demo, run_known

    print(run_demo(data, out, progress=say))
    known = run_known(out, progress=say) if data == "mini" else None
    if known is not None:
        print(f"\n{known}")
