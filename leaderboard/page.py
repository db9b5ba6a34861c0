"""The board as one page: a pure function of the entries."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from leaderboard.figures import PLOTS
from leaderboard.ranking import Entry, Table, tables
from leaderboard.rows import (
    COLUMNS,
    MEANING,
    PARTS,
    PLACES,
    TITLES,
    cells,
    details,
    parts,
    told,
    white_box,
)

TEMPLATES = Path(__file__).parent / "templates"
STYLES = ("figures.css", "board.css")


def render(entries: Sequence[Entry]) -> str:
    """The page; the same entries in any order give the same bytes.

    Raises:
        ImportError: with the extra to install, where jinja2 is absent.
    """
    style = "".join((TEMPLATES / name).read_text("utf-8") for name in STYLES)
    script = (TEMPLATES / "board.js").read_text("utf-8")
    return _template().render(
        style=style,
        script=script,
        style_hash=_sha256(style),
        script_hash=_sha256(script),
        meaning=(MEANING, PLACES),
        tables=[_section(table) for table in tables(sorted(entries, key=lambda e: e["id"]))],
    )


def _section(table: Table) -> dict[str, Any]:
    marks = [{"control": row.entry["control"], "access": _access(row.entry)} for row in table.rows]
    more = [(title, *parts(table, part)) for part, title in PARTS.items()]
    return {
        "title": TITLES[table.kind],
        "told": told(table),
        "marks": marks,
        "columns": COLUMNS,
        "rows": [cells(row) for row in table.rows],
        "parts": [each for each in more if each[1]],
        "figures": [(made, caption) for plot, caption in PLOTS if (made := plot(table.rows))],
        "details": [details(row.entry) for row in table.rows],
    }


def _access(entry: Entry) -> str:
    return "white" if white_box(entry) else "black"


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError("the page needs jinja2: pip install 'faithshift[report]'") from error
    text = (TEMPLATES / "board.html.j2").read_text("utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
