"""Whether a dataset's README.md is what its manifest and tables give, and making it so."""

from __future__ import annotations

import difflib
from pathlib import Path

import faithshift_data as fd
from cards.dataset import dataset_card
from cards.tables import stale_table
from faithshift_data.atomic import write_text
from faithshift_data.folder import CARD


def embedded_folders() -> list[Path]:
    """The datasets whose cards are committed."""
    return [fd.path(name) for name in fd.embedded()]


def is_rendered(folder: Path) -> bool:
    """Whether a folder's card is the one that its manifest and tables give."""
    return first_difference(folder) is None


def first_difference(folder: Path) -> str | None:
    """The first line of the card that is another than the rendered one; None if they are equal.

    Raises:
        InputError: no sound dataset folder.
    """
    path = Path(folder) / CARD
    committed = path.read_text("utf-8").splitlines() if path.is_file() else []
    rendered = dataset_card(folder).splitlines()
    changes = difflib.unified_diff(committed, rendered, n=0, lineterm="")
    lines = (line for line in changes if not line.startswith(("---", "+++", "@@")))
    return next(lines, None)


def table_of_other_data(folder: Path) -> str | None:
    """That the committed table of detectors is not of this data; None if it is, or there is none.

    Raises:
        InputError: no sound dataset folder.
    """
    return stale_table(fd.open(folder).manifest)


def write_card(folder: Path) -> Path:
    """Render the card into its folder."""
    path = Path(folder) / CARD
    write_text(path, dataset_card(folder))
    return path
