"""Names that are taken: a stranger's detector must not pass for a control of the board."""

from __future__ import annotations

import re
import unicodedata

from faithshift_bench.detectors.registry import CONTROLS
from faithshift_data.errors import InputError


def check_free(name: str) -> None:
    """Refuse a control's name, also in other letters of the same look, or with other marks between.

    Raises:
        InputError: which control it is read as.
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    read = re.sub(r"[\W_]+", "_", plain).strip("_")
    if read in CONTROLS:
        expected = f"another name than the control's, {read}"
        raise InputError("taken", file="card", field="name", expected=expected, got=name)
