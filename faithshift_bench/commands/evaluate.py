"""What scores are worth, alone and beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faithshift_bench.commands.common import Alpha, Data, Delta, print_json
from faithshift_data.errors import InputError


def evaluate(
    scores: Path,
    data: Data = "mini",
    alpha: Alpha = 0.25,
    delta: Delta = 0.05,
    json_file: Annotated[
        str | None, typer.Option("--json", help="Write the report as JSON; - for stdout.")
    ] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="Write the report as a page.")
    ] = None,
) -> None:
    """What a file of scores is worth: at full coverage, and certified at alpha."""
    import faithshift_bench as fb
    import faithshift_data as fd
    from faithshift_bench.targets import files_of, spare
    from faithshift_data.atomic import write_text

    dataset = fd.open(data)
    spare({"--json": json_file, "--html": html_file}, [scores, *files_of(dataset)])
    report = fb.evaluate_scores(scores, dataset, alpha=alpha, delta=delta)
    if html_file is not None:
        try:
            write_text(html_file, report.to_html())
        except ImportError as error:
            raise InputError(str(error), field="--html") from error
    if json_file == "-":
        return print_json(report.to_dict())
    if json_file is not None:
        write_text(Path(json_file), report.to_json())
    print(report.to_markdown())


def compare(
    scores: list[Path],
    data: Data = "mini",
    coverage: Annotated[
        float, typer.Option(help="What all commit on at the matched point, over 0 and to 1.")
    ] = 0.70,
    alpha: Alpha = 0.25,
    delta: Delta = 0.05,
    json_file: Annotated[
        str | None, typer.Option("--json", help="Write the comparison as JSON; - for stdout.")
    ] = None,
) -> None:
    """Files of scores beside each other and the controls: gaps, tests, and who comes first."""
    import faithshift_bench as fb
    import faithshift_data as fd
    from faithshift_bench.targets import files_of, spare
    from faithshift_data.atomic import write_text

    dataset = fd.open(data)
    spare({"--json": json_file}, [*scores, *files_of(dataset)])
    found = fb.compare(scores, dataset, coverage=coverage, alpha=alpha, delta=delta)
    if json_file == "-":
        return print_json(found.to_dict())
    if json_file is not None:
        write_text(Path(json_file), found.to_json())
    print(found.to_text())
