"""Names that are taken: a stranger's detector must not pass for a control of the board."""

from __future__ import annotations

import re
import unicodedata

from faithshift_bench.detectors.registry import CONTROLS
from faithshift_data.errors import InputError

# Letters of the controls' names, and what looks like them: Cyrillic, Greek, Armenian, phonetic
# letters and digits. Without case and width, as ``_plain`` leaves them.
LOOKS = {
    "a": "\u0430\u0251\u03b1",
    "b": "\u044c\u0185",
    "c": "\u0441\u1d04",
    "d": "\u0501\u0257",
    "e": "\u0435\u0454\u212e",
    "g": "\u0261\u0581",
    "h": "\u04bb\u0570",
    "i": "\u0456\u03b9\u0131",
    "l": "\u04cf|1",
    "m": "\u043c\u1d0d",
    "n": "\u0578\u057c\u03b7",
    "o": "\u043e\u03bf\u0585\u1d0f0",
    "p": "\u0440\u03c1",
    "r": "\u0433\u1d26",
    "s": "\u0455\ua731",
    "t": "\u0442\u03c4\u1d1b",
    "x": "\u0445\u03c7",
    "y": "\u0443\u04af\u03b3",
}
_READ_AS = {ord(mark): letter for letter, marks in LOOKS.items() for mark in marks}


def check_free(name: str) -> None:
    """Refuse a control's name, also in other letters of the same look, or with other marks between.

    Raises:
        InputError: which control it is read as.
    """
    read = re.sub(r"[\W_]+", "_", _plain(name).translate(_READ_AS)).strip("_")
    if read in CONTROLS:
        expected = f"another name than the control's, {read}"
        raise InputError("taken", file="card", field="name", expected=expected, got=name)


def _plain(name: str) -> str:
    """Without case, width and accents."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    parts = unicodedata.normalize("NFKD", folded)
    return "".join(part for part in parts if not unicodedata.combining(part))
