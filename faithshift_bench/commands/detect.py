"""The registry of detectors, and scores from one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from faithshift_bench.commands.common import Data, Json, print_json
from faithshift_bench.commands.epochs import Epochs
from faithshift_data.errors import InputError

Device = Annotated[str, typer.Option(help="cpu, or cuda for detectors that run on a GPU.")]
Load = Annotated[
    Path | None, typer.Option(help="Folder that --save wrote: nothing is fitted anew.")
]
Param = Annotated[
    list[str] | None, typer.Option(help="A parameter of the detector, such as C=0.5.")
]


def detectors(as_json: Json = False) -> None:
    """The detectors that `detect` knows."""
    from faithshift_bench.detectors import list_detectors, load_detector

    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "revision": found.revision,
            "needs": list(found.needs),
            "reads_label_evidence": found.reads_label_evidence,
            "about": (type(found).__doc__ or "").strip().split("\n")[0],
        }
        for name in list_detectors()
        for found in [load_detector(name)]
    ]
    if as_json:
        return print_json(rows)
    lines = [
        (row["name"] + "*" * row["reads_label_evidence"], "+".join(row["needs"]), row["about"])
        for row in rows
    ]
    wide = [max(len(line[column]) for line in lines) for column in (0, 1)]
    for name, needs, about in lines:
        print(f"{name:<{wide[0]}}  {needs:<{wide[1]}}  {about}")
    print("* reads evidence of the kind that constructed labels rest on")


def detect(
    name: str,
    data: Data = "mini",
    fit_on: Annotated[
        str | None, typer.Option(help="Another dataset to fit on; every trace of --data is scored.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Such as 0-3, or 0,2,5; with --load those that are there.")
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Parquet file.")] = Path(
        "scores.parquet"
    ),
    param: Param = None,
    save: Annotated[Path | None, typer.Option(help="Folder for the fitted detectors.")] = None,
    load: Load = None,
    device: Device = "cpu",
) -> None:
    """Fit a detector on train and score validation and test, once a seed (0-3 by default)."""
    import faithshift_data as fd
    from faithshift_bench.detectors import apply_saved, run_detector, save_scores
    from faithshift_bench.options import parse_params, parse_seeds
    from faithshift_bench.targets import check_target, files_of, spare

    if load is not None:
        for option, value in (("--fit-on", fit_on), ("--param", param), ("--save", save)):
            if value:
                message = "a saved detector is as it was fitted"
                raise InputError(message, field=option, expected="nothing beside --load")
    dataset = fd.open(data)
    labelled = None if fit_on is None else fd.open(fit_on)
    inputs = [*files_of(dataset), *(files_of(labelled) if labelled else [])]
    spare({"--output": output, "--save": save}, inputs)
    check_target(output)
    chosen = None if seeds is None else parse_seeds(seeds)
    epochs = Epochs()
    if load is not None:
        table = apply_saved(name, dataset, load, chosen, device=device, progress=epochs.say)
    else:
        table = run_detector(
            name,
            dataset,
            chosen or (0, 1, 2, 3),
            fit_on=labelled,
            params=parse_params(param or []),
            save=save,
            device=device,
            progress=epochs.say,
            watch=epochs.watch,
        )
    print(save_scores(table, output))
