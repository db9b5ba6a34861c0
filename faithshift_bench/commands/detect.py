"""The registry of detectors, and scores from one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from faithshift_bench.commands.common import Data, Json, print_json, say


def detectors(as_json: Json = False) -> None:
    """The detectors that `detect` knows."""
    from faithshift_bench.detectors import detector_class, list_detectors

    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "revision": found.revision,
            "needs": list(found.needs),
            "reads_label_evidence": found.reads_label_evidence,
            "about": (found.__doc__ or "").strip().split("\n")[0],
        }
        for name in list_detectors()
        for found in [detector_class(name)]
    ]
    if as_json:
        return print_json(rows)
    for row in rows:
        mark = "*" if row["reads_label_evidence"] else " "
        print(f"{row['name']:<16}{mark} {'+'.join(row['needs']):<26} {row['about']}")
    print("* reads evidence of the kind that constructed labels rest on")


def detect(
    name: str,
    data: Data = "mini",
    fit_on: Annotated[
        str | None, typer.Option(help="Another dataset to fit on; every trace of --data is scored.")
    ] = None,
    seeds: Annotated[str, typer.Option(help="Such as 0-3 or 0,2,5.")] = "0-3",
    output: Annotated[Path, typer.Option("-o", "--output", help="Parquet file.")] = Path(
        "scores.parquet"
    ),
    param: Annotated[
        list[str] | None, typer.Option(help="A parameter of the detector, such as C=0.5.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Folder for the fitted detectors.")] = None,
) -> None:
    """Fit a detector on train and score validation and test, once a seed."""
    import faithshift_data as fd
    from faithshift_bench.detectors import run_detector, save_scores
    from faithshift_bench.options import parse_params, parse_seeds
    from faithshift_bench.targets import check_target, files_of, spare

    dataset = fd.open(data)
    labelled = None if fit_on is None else fd.open(fit_on)
    inputs = [*files_of(dataset), *(files_of(labelled) if labelled else [])]
    spare({"--output": output, "--save": save}, inputs)
    check_target(output)
    table = run_detector(
        name,
        dataset,
        parse_seeds(seeds),
        fit_on=labelled,
        params=parse_params(param or []),
        save=save,
        progress=say,
    )
    print(save_scores(table, output))
