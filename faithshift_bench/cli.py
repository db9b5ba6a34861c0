"""The command ``faithshift``: what it is made of, and how it ends.

Results on stdout, progress on stderr. Exit status 0 done, 1 the input was wrong (one line), 2
usage. A command is a function in `faithshift_bench.commands` and a line in `COMMANDS`.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from faithshift_bench.commands import (
    agree,
    data,
    demo,
    detect,
    evaluate,
    explain,
    measure,
    metric,
    paper,
    study,
    submit,
)
from faithshift_data.errors import InputError

COMMANDS = (
    demo.demo,
    data.info,
    data.check,
    data.export,
    measure.measure,
    detect.detectors,
    detect.detect,
    evaluate.evaluate,
    evaluate.compare,
    agree.agree,
    agree.lint_claim,
    explain.explain,
    submit.submit,
    metric.install_metric,
    paper.paper_check,
)

app = typer.Typer(
    name="faithshift",
    help="Paired chain-of-thought traces, and a benchmark that audits detectors of unfaithful "
    "reasoning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in COMMANDS:
    app.command(command.__name__.replace("_", "-"))(command)
app.add_typer(study.study)


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


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"faithshift {version('faithshift')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


if __name__ == "__main__":
    main()
