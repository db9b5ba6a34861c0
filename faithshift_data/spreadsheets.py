"""Text for CSV files that are opened in a spreadsheet."""

from __future__ import annotations

FORMULA = tuple("=+-@")


def no_formula(text: str) -> str:
    """The text; an apostrophe stands before what a spreadsheet would take for a formula."""
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text
