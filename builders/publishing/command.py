"""``python -m builders publish``: a dataset, a fitted detector or the metric onto the Hub."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_command(commands: Any) -> None:
    """Add it to the builder's commands (the result of ``add_subparsers``)."""
    parser = commands.add_parser("publish", help="a dataset, a detector or the metric on the Hub")
    about = "a dataset folder, a saved detector's folder, or the wheel (it becomes the metric)"
    parser.add_argument("what", type=Path, help=about)
    parser.add_argument("--repo", required=True, metavar="ORG/NAME")
    parser.add_argument("--revision", metavar="TAG", help="v and the version, such as v1.0")
    parser.add_argument("--private", action="store_true", help="refuse a public repository")
    parser.set_defaults(run=_publish)


def _publish(options: argparse.Namespace) -> int:
    from builders.publishing.publish import publish

    done = publish(options.what, options.repo, tag=options.revision, private=options.private)
    print(f"{done.kind} {done.repo} {done.tag} {done.commit}")
    return 0
