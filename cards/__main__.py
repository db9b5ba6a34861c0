"""``python -m cards``: print a card, or check that the committed ones are not stale."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cards import dataset_card, detector_card, metric_card
from cards.stale import embedded_folders, first_difference, table_of_other_data, write_card


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 done, 1 a card is stale or the input was wrong (a line each on stderr)."""
    parser = argparse.ArgumentParser(prog="python -m cards", description=__doc__)
    parser.add_argument("kind", nargs="?", choices=("dataset", "metric", "detector"))
    parser.add_argument("folder", nargs="?", type=Path, help="of the dataset or detector")
    committed = parser.add_mutually_exclusive_group()
    committed.add_argument("--check", action="store_true", help="fail where a card is stale")
    committed.add_argument("--write", action="store_true", help="render stale cards anew")
    options = parser.parse_args(arguments)
    if bool(options.kind) == (options.check or options.write):
        parser.error("expected a kind of card, --check or --write")
    if (options.kind in ("dataset", "detector")) != (options.folder is not None):
        parser.error("a dataset and a detector need their folder, nothing else does")
    try:
        if options.kind:
            render = {"dataset": dataset_card, "detector": detector_card}.get(options.kind)
            print(metric_card() if render is None else render(options.folder), end="")
            return 0
        return _committed(options.write)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _committed(write: bool) -> int:
    stale = 0
    for folder in embedded_folders():
        if other := table_of_other_data(folder):
            stale += 1
            print(other)
        change = first_difference(folder)
        if change is None:
            continue
        if write:
            print(write_card(folder))
        else:
            stale += 1
            print(f"{folder.name}: stale card, `python -m cards --write`: {change}"[:300])
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
