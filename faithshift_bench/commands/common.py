"""What commands share: types of options, lines and bars on stderr, JSON on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

_WHERE = "Embedded name, folder, or ORG/NAME@REVISION on the Hub."


def _share(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value} does not lie between 0 and 1")
    return value


Data = Annotated[str, typer.Option(help=_WHERE)]
Name = Annotated[str, typer.Argument(help=_WHERE)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Alpha = Annotated[float, typer.Option(callback=_share, help="Highest selective risk to certify.")]
Delta = Annotated[
    float, typer.Option(callback=_share, help="Highest probability of a wrong certificate.")
]


def say(line: str) -> None:
    """A line on stderr, at once."""
    print(line, file=sys.stderr, flush=True)


def above_bar(line: str) -> None:
    """A line of its own where a bar is on stderr; the bar is drawn anew below it."""
    from tqdm import tqdm

    tqdm.write(line, file=sys.stderr)


def bar(rows: Sequence[Any], label: str) -> Iterator[Any]:
    """The rows, with a bar on stderr that shows how many are done."""
    from tqdm import tqdm

    seldom = 0.5 if sys.stderr.isatty() else 60.0
    yield from tqdm(rows, desc=label, file=sys.stderr, mininterval=seldom, maxinterval=seldom)


def print_json(value: Any) -> None:
    """JSON on stdout, with escapes where its encoding lacks a character."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # Python's escapes are not JSON's.
        text = json.dumps(value, indent=2, sort_keys=True)
    print(text)
