"""Templates filled with what a manifest, tables or a report say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def fill(template: str, **values: object) -> str:
    """A template's text; a name that it uses and is not given is an error.

    Args:
        template: a file of ``templates/``.
        values: what it names.
    """
    return _environment().get_template(template).render(**values)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; the empty text where there are no rows."""
    lines = [[_cell(value) for value in row] for row in rows]
    if not lines:
        return ""
    whole = [list(header), ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in whole)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return " ".join(text.split()).replace("|", "\\|")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown, not HTML
    )
