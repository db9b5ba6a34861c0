"""``python -m builders audit | relabel``: annotation sheets, and the other label rule."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_commands(commands: Any) -> None:
    """Add both to the builder's commands (the result of ``add_subparsers``)."""
    audit = commands.add_parser("audit", help="have labels checked by two annotators")
    steps = audit.add_subparsers(dest="step", required=True)
    sheet = steps.add_parser("sheet", help="draw a sample and write the annotators' sheets")
    sheet.add_argument("data", help="a name or a folder")
    sheet.add_argument("--n", type=int, default=100, help="traces in the sample")
    sheet.add_argument("--seed", type=int, default=0)
    sheet.add_argument("--out", type=Path, required=True, help="a new folder")
    sheet.set_defaults(run=_sheet)
    read = steps.add_parser("read", help="put what they say into the manifest")
    read.add_argument("data", help="a name or a folder")
    read.add_argument("first", type=Path, help="one annotator's CSV")
    read.add_argument("second", type=Path, help="the other's")
    read.add_argument("third", type=Path, nargs="?", help="the adjudicator's, where there is one")
    read.add_argument("--open", type=Path, help="a new folder for what needs an adjudicator")
    read.set_defaults(run=_read)
    other = commands.add_parser("relabel", help="the same traces under the other label rule")
    other.add_argument("data", help="a name or a folder")
    other.add_argument("--rule", required=True, help="construct or construct+causal")
    other.add_argument("--out", type=Path, required=True, help="a new folder")
    other.set_defaults(run=_relabel)


def _sheet(options: argparse.Namespace) -> int:
    from builders.audit import write_sheets

    print(write_sheets(options.data, options.n, options.out, seed=options.seed))
    return 0


def _read(options: argparse.Namespace) -> int:
    from builders.audit import read_sheets, said

    sheets = options.first, options.second, options.third
    print(said(read_sheets(options.data, *sheets, open_to=options.open)))
    return 0


def _relabel(options: argparse.Namespace) -> int:
    from builders.relabel import relabel

    print(relabel(options.data, options.rule, options.out))
    return 0
