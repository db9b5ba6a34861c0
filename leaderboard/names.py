"""Names that are taken: a stranger's detector must not pass for a control of the board."""

from __future__ import annotations

import re
import unicodedata

from faithshift_bench.detectors.registry import CONTROLS
from faithshift_data.errors import InputError

# Letters of the controls' names, and what looks like them: Cyrillic, Greek, Armenian, small
# capitals and digits. Without case and width, as ``_plain`` leaves them; l and i are one letter,
# since a capital I looks like an l.
LOOKS = {
    "a": "\u0430\u0251\u03b1\u1d00",
    "b": "\u044c\u0185\u0299",
    "c": "\u0441\u1d04",
    "d": "\u0501\u0257\u1d05",
    "e": "\u0435\u0454\u212e\u1d07",
    "g": "\u0261\u0581\u0262",
    "h": "\u04bb\u0570\u029c",
    "l": "i\u0456\u03b9\u0131\u026a\u04cf\u029f|1",
    "m": "\u043c\u1d0d",
    "n": "\u0578\u057c\u03b7\u0274",
    "o": "\u043e\u03bf\u0585\u1d0f0",
    "p": "\u0440\u03c1\u1d18",
    "r": "\u0433\u1d26\u0280",
    "s": "\u0455\ua731",
    "t": "\u0442\u03c4\u1d1b",
    "x": "\u0445\u03c7",
    "y": "\u0443\u04af\u03b3\u028f",
}
_READ_AS = {ord(mark): letter for letter, marks in LOOKS.items() for mark in marks}


def check_free(name: str) -> None:
    """Refuse a control's name, also in other letters of the same look, or with other marks between.

    Raises:
        InputError: which control it is read as.
    """
    taken = {_look(control): control for control in CONTROLS}
    if control := taken.get(_look(name)):
        expected = f"another name than the control's, {control}"
        raise InputError("taken", file="card", field="name", expected=expected, got=name)


def _look(name: str) -> str:
    return re.sub(r"[\W_]+", "_", _plain(name).translate(_READ_AS)).strip("_")


def _plain(name: str) -> str:
    """Without case, width and accents."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    parts = unicodedata.normalize("NFKD", folded)
    return "".join(part for part in parts if not unicodedata.combining(part))
