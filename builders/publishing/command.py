"""``python -m builders publish``: a dataset, a fitted detector or the metric onto the Hub."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from builders.withhold_command import add_salt


def add_command(commands: Any) -> None:
    """Add it to the builder's commands (the result of ``add_subparsers``)."""
    parser = commands.add_parser("publish", help="a dataset, a detector or the metric on the Hub")
    about = "a dataset folder, a saved detector's folder, or the wheel (it becomes the metric)"
    parser.add_argument("what", type=Path, help=about)
    parser.add_argument("--repo", required=True, metavar="ORG/NAME")
    parser.add_argument("--revision", metavar="TAG", help="v and the version, such as v1.0")
    parser.add_argument("--private", action="store_true", help="refuse a public repository")
    parts = "test, calib or both: publish the dataset without their labels"
    parser.add_argument("--withhold-labels", metavar="PARTS", help=parts)
    parser.add_argument("--key", type=Path, help="folder for the labels; keep it secret")
    add_salt(parser)
    parser.set_defaults(run=_publish)


def _publish(options: argparse.Namespace) -> int:
    from builders.publishing.publish import publish, to_stderr

    parts, key = options.withhold_labels, options.key
    if (parts is None) != (key is None):
        raise ValueError("--withhold-labels and --key: expected both or none")
    told = {"tag": options.revision, "private": options.private}
    if parts is None:
        done = publish(options.what, options.repo, **told)
    else:
        from builders.publishing.withheld import public_folder
        from builders.secret import read_salt

        salt = read_salt(options.salt_file)
        with public_folder(options.what, parts.split(","), key, salt, to_stderr) as folder:
            done = publish(folder, options.repo, **told)
    print(f"{done.kind} {done.repo} {done.tag} {done.commit}")
    return 0
