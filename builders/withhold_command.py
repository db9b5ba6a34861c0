"""``python -m builders withhold``: a public folder without labels, and its key."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_command(commands: Any) -> None:
    """Add it to the builder's commands (the result of ``add_subparsers``)."""
    parser = commands.add_parser("withhold", help="part a dataset into a public folder and a key")
    parser.add_argument("data", help="a name or a folder, complete")
    parser.add_argument("--public", type=Path, required=True, help="a new folder")
    parser.add_argument("--key", type=Path, required=True, help="a new folder; keep it secret")
    parser.add_argument("--parts", default="test,calib", help="test, calib or both")
    add_salt(parser)
    parser.set_defaults(run=_withhold)


def add_salt(parser: argparse.ArgumentParser) -> None:
    """Add ``--salt-file``, which leaves the salt out of histories and process lists."""
    from builders.secret import VARIABLE

    text = f"file with the secret salt; without it, the variable {VARIABLE}"
    parser.add_argument("--salt-file", type=Path, help=text)


def _withhold(options: argparse.Namespace) -> int:
    from builders.blind import blindness
    from builders.secret import read_salt
    from builders.withhold import public_source, withhold

    salt = read_salt(options.salt_file)
    withhold(options.data, options.public, options.key, salt=salt, what=options.parts.split(","))
    print(f"{options.public}\n{options.key} (labels: never commit or publish it)")
    if (warning := public_source(options.data)) is not None:
        print(warning)
    found = blindness(options.public, options.key)
    for each in found:
        print(each)
    if any(each.leaks for each in found):
        raise ValueError(f"{options.public}: not content, yet it tells of labels: do not publish")
    return 0
