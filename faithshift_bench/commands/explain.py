"""What moved a score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faithshift_bench.commands.common import Data, Json, print_json
from faithshift_bench.commands.detect import Load, Param
from faithshift_bench.commands.epochs import Epochs
from faithshift_data.errors import InputError

NUMBERS, PICTURE = "explanation.json", "explanation.png"


def explain(
    name: str,
    trace: Annotated[str, typer.Option(help="The id of a trace.")],
    data: Data = "mini",
    load: Load = None,
    fit_on: Annotated[
        str | None, typer.Option(help="Another dataset to fit on, instead of --data.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of the training; with --load the first that is there.")
    ] = None,
    param: Param = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Folder for numbers and a picture."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Which part of a trace moved its score: contributions that add up to it.

    Integrated gradients from the mean of train (exact for linear detectors). Without --load the
    detector is fitted on the train split of --data first.
    """
    import faithshift_data as fd
    from faithshift_bench.explain.explanation import explain as take_apart
    from faithshift_bench.explain.explanation import find_trace
    from faithshift_bench.explain.fitted import fitted_detector
    from faithshift_bench.explain.text import render
    from faithshift_bench.options import parse_params
    from faithshift_bench.targets import files_of, spare
    from faithshift_data.atomic import canonical_json, write_text

    dataset = fd.open(data)
    find_trace(dataset, trace)
    if load is not None and fit_on is not None:
        message = "a saved detector is as it was fitted"
        raise InputError(message, field="--fit-on", expected="nothing beside --load")
    if output is not None:
        spare({"-o": output / NUMBERS}, files_of(dataset))
    epochs = Epochs()
    detector = fitted_detector(
        name,
        dataset if fit_on is None else fd.open(fit_on),
        load=load,
        seed=seed,
        explained=None if fit_on is None else dataset,
        params=parse_params(param or []),
        progress=epochs.say,
        watch=epochs.watch,
    )
    found = take_apart(detector, dataset, trace)
    if output is not None:
        from faithshift_bench.explain.picture import draw

        epochs.say(f"wrote {draw(found, output / PICTURE)}")
        write_text(output / NUMBERS, canonical_json(found.to_dict()))
    if as_json:
        return print_json(found.to_dict())
    print(render(found))
