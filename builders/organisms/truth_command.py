"""``python -m builders truth``: how right label rules are, and what moves if they are believed."""

from __future__ import annotations

import argparse
from typing import Any


def add_command(commands: Any) -> None:
    """Add it to the builder's commands (the result of ``add_subparsers``)."""
    text = "label rules and metrics against the mechanism of organisms"
    parser = commands.add_parser("truth", help=text)
    parser.add_argument("data", nargs="?", default="organisms", help="a name or a folder")
    parser.add_argument("--seeds", type=int, default=4, help="training seeds of each detector")
    parser.add_argument("--resamples", type=int, default=1000, help="of items, for intervals")
    parser.set_defaults(run=_truth)


def _truth(options: argparse.Namespace) -> int:
    import faithshift_data as fd
    from builders.organisms.truth import truth
    from faithshift_bench.detectors.registry import BASELINES, CONTROLS
    from faithshift_bench.studies.belief import render_moves
    from faithshift_bench.studies.truth import render_confusions

    for name in ("seeds", "resamples"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name}: expected 1 or more, got {getattr(options, name)}")
    data = fd.open(options.data)
    seeds, resamples = range(options.seeds), options.resamples
    right, moved = truth(data, (*CONTROLS, *BASELINES), seeds=seeds, n_resamples=resamples)
    print(
        f"{data.name} {data.manifest.version}: labels by rules and metrics, against the mechanism"
    )
    print(render_confusions(right))
    print("\nDetectors on test, by the mechanism and by believed labels")
    print(render_moves(moved))
    return 0
