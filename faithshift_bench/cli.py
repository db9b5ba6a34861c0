"""The command ``faithshift``: argument parsing only. Results on stdout, progress on stderr.

Exit status 0 done, 1 the input was wrong (one line), 2 usage.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from faithshift_data.errors import InputError

app = typer.Typer(
    name="faithshift",
    help="Paired chain-of-thought traces, and a benchmark that audits detectors of unfaithful "
    "reasoning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_WHERE = "Embedded name, folder, or ORG/NAME@REVISION on the Hub."
Data = Annotated[str, typer.Option(help=_WHERE)]
Name = Annotated[str, typer.Argument(help=_WHERE)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """Run the command; what is wrong with the input becomes one line and exit status 1."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone; without this python complains once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (InputError, OSError) as error:
        line = " ".join(str(error).split())
        print(f"faithshift: {line}", file=sys.stderr)
        sys.exit(1)


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _above_bar(line: str) -> None:
    """A line of its own where a bar is on stderr; the bar is drawn anew below it."""
    from tqdm import tqdm

    tqdm.write(line, file=sys.stderr)


def _bar(rows: Sequence[Any], label: str) -> Iterator[Any]:
    """The rows, with a bar on stderr that shows how many are done."""
    from tqdm import tqdm

    seldom = 0.5 if sys.stderr.isatty() else 60.0
    yield from tqdm(rows, desc=label, file=sys.stderr, mininterval=seldom, maxinterval=seldom)


def _print_json(value: Any) -> None:
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # Python's escapes are not JSON's.
        text = json.dumps(value, indent=2, sort_keys=True)
    print(text)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"faithshift {version('faithshift')}")
        raise typer.Exit


def _share(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value} does not lie between 0 and 1")
    return value


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and scores.")] = Path(
        "faithshift-demo"
    ),
    data: Data = "mini",
) -> None:
    """The whole loop on the embedded data, in under a minute."""
    from faithshift_bench.demo import run_demo, run_known

    print(run_demo(data, out, progress=_progress))
    known = run_known(out, progress=_progress) if data == "mini" else None
    if known is not None:
        print(f"\n{known}")


@app.command()
def info(data: Name = "mini", as_json: Json = False) -> None:
    """What a dataset holds."""
    import faithshift_data as fd
    from faithshift_data.summary import render_summary, summarise

    summary = summarise(fd.open(data))
    if as_json:
        _print_json(summary)
    else:
        print(render_summary(summary))


@app.command()
def check(data: Name = "mini") -> None:
    """Whether a dataset is sound: one line a problem, and exit status 1 if there is one."""
    import faithshift_data as fd

    problems = fd.check(data)
    for problem in problems:
        print(problem)
    if problems:
        _progress(f"faithshift: {data}: {len(problems)} problem(s)")
        raise typer.Exit(1)
    print(f"{data}: sound")


@app.command()
def export(name: str, folder: Annotated[Path, typer.Argument(metavar="DIR")]) -> None:
    """Write an embedded dataset as a folder, for `load_dataset` and for reading."""
    import shutil

    import faithshift_data as fd
    from faithshift_data.atomic import new_folder

    source = fd.path(name)
    with new_folder(folder) as temporary:
        shutil.copytree(source, temporary, dirs_exist_ok=True)
    print(folder)


@app.command()
def measure(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Dataset folder; see fd.write.")],
    model: Annotated[Path, typer.Option(help="Local folder in the Hugging Face layout.")],
    generate: Annotated[
        Path | None,
        typer.Option(help="First write DIR: the model's answers to questions, a JSON object each."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="New folder; without it DIR is replaced.")
    ] = None,
    probes: Annotated[str, typer.Option(help="Interventions: full or subset.")] = "full",
    label_probes: Annotated[
        bool, typer.Option("--label-probes", help="Also those from which labels can be made.")
    ] = False,
    chat: Annotated[
        bool, typer.Option("--chat", help="Prompts are user messages: use the chat template.")
    ] = False,
    answer_line: Annotated[
        str | None, typer.Option(help="Text that asks for the answer, such as '\\nAnswer:'.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    limit: Annotated[int | None, typer.Option(help="Measure so many traces at most.")] = None,
    max_tokens: Annotated[int, typer.Option(help="Longest reply, with --generate.")] = 1024,
    as_json: Json = False,
) -> None:
    """Add interventions and trajectories to own traces, by a local model. Can be resumed."""
    from faithshift_data.measure.local_model import LocalModel
    from faithshift_data.measure.measured import render
    from faithshift_data.measure.one_trace import Settings
    from faithshift_data.measure.run import measure_folder

    line = None if answer_line is None else answer_line.replace("\\n", "\n")
    settings = Settings(probes, label_probes, line, chat, limit)
    loaded = LocalModel.open(model, dtype)
    shown: dict[str, Any] = {"progress": _above_bar, "bar": _bar}
    if generate is not None:
        from faithshift_data.measure.generate import generate as write_traces

        if chat:
            message = "what --generate writes is in the chat template already"
            raise InputError(message, field="--chat")
        write_traces(generate, loaded, folder, max_tokens=max_tokens, measured_to=out, **shown)
    summary = measure_folder(folder, loaded, settings, out=out, **shown)
    if as_json:
        return _print_json(summary)
    print(render(summary))


@app.command()
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
        return _print_json(rows)
    for row in rows:
        mark = "*" if row["reads_label_evidence"] else " "
        print(f"{row['name']:<16}{mark} {'+'.join(row['needs']):<26} {row['about']}")
    print("* reads evidence of the kind that constructed labels rest on")


@app.command()
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
        progress=_progress,
    )
    print(save_scores(table, output))


Alpha = Annotated[float, typer.Option(callback=_share, help="Highest selective risk to certify.")]
Delta = Annotated[
    float, typer.Option(callback=_share, help="Highest probability of a wrong certificate.")
]


@app.command()
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
        return _print_json(report.to_dict())
    if json_file is not None:
        write_text(Path(json_file), report.to_json())
    print(report.to_markdown())


@app.command()
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
        return _print_json(found.to_dict())
    if json_file is not None:
        write_text(Path(json_file), found.to_json())
    print(found.to_text())


@app.command("install-metric")
def install_metric() -> None:
    """Make evaluate.load("meta_faithfulness") work in any directory, offline."""
    from faithshift_bench.meta_faithfulness import install_metric as install

    print(install())


@app.command("paper-check")
def paper_check(as_json: Json = False) -> None:
    """Every derived figure of the published study, recomputed from its published ingredients."""
    from faithshift_bench.studies.paper_check import paper_check as check_paper
    from faithshift_bench.studies.paper_check import paper_check_dict, render_checks

    checks = check_paper()
    if as_json:
        _print_json(paper_check_dict(checks))
    else:
        print(render_checks(checks))


if __name__ == "__main__":
    main()
