"""Studies: one table or figure each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faithshift_bench.commands.common import Alpha, Data, Delta
from faithshift_bench.commands.epochs import Epochs
from faithshift_data.errors import InputError

study = typer.Typer(
    name="study", help="Tables over many detectors.", no_args_is_help=True, rich_markup_mode=None
)


@study.callback()
def _options() -> None:
    """Keep `detectors` a command of its own while it is the only one."""


@study.command("detectors")
def study_detectors(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder.")],
    data: Data = "mini",
    seeds: Annotated[str, typer.Option(help="Such as 0-3 or 0,2,5.")] = "0-3",
    detectors: Annotated[
        str | None, typer.Option(help="Names, such as biasing,sift_small; all where omitted.")
    ] = None,
    once: Annotated[
        str, typer.Option(help="Names of slow detectors, which get the first seed alone.")
    ] = "sift_t7",
    alpha: Alpha = 0.25,
    delta: Delta = 0.05,
) -> None:
    """Every detector on one dataset, as CSV, Markdown and JSON; goes on where it was stopped.

    What cannot be run is a row with the reason; where no row has a figure, the exit status is 1.
    """
    import faithshift_data as fd
    from faithshift_bench.options import parse_seeds
    from faithshift_bench.studies.detectors import Plan, why_empty
    from faithshift_bench.studies.detectors import study_detectors as run
    from faithshift_bench.studies.detectors_table import markdown
    from faithshift_bench.targets import check_folder, files_of, spare

    dataset = fd.open(data)
    spare({"-o": output / "detectors.json"}, files_of(dataset))
    check_folder(output)
    plan = Plan(
        tuple(parse_seeds(seeds)),
        tuple(filter(None, (detectors or "").split(","))),
        tuple(filter(None, once.split(","))),
        alpha,
        delta,
    )
    epochs = Epochs()
    found = run(dataset, output, plan, progress=epochs.say, watch=epochs.watch)
    print(markdown(found))
    if reason := why_empty(found["rows"]):
        raise InputError(f"no detector has a figure: {reason}", file=dataset.name)
