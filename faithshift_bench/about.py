"""What scores say of the detector that gave them, checked before it is printed or believed."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from faithshift_data.errors import InputError

CONTROL, SURROGATE = "Cc", "Cs"
SEPARATORS = ("Zl", "Zp")


def check_name(name: str, *, source: str | None = None, field: str = "detector") -> str:
    """The name itself.

    Raises:
        InputError: it is blank, or holds a control character, a line break or a lone surrogate.
    """
    odd = {CONTROL, SURROGATE, *SEPARATORS}
    if not name.strip() or any(unicodedata.category(letter) in odd for letter in name):
        raise InputError(
            "bad name",
            file=None if source is None else ascii(source)[1:-1],
            field=field,
            expected="visible text on one line",
            got=ascii(name),
        )
    return name


def check_about(about: Mapping[str, Any], source: str) -> dict[str, Any]:
    """What scores say of themselves.

    Raises:
        InputError: a name or revision that cannot be printed, or a ``reads_label_evidence`` that
            is neither true nor false.
    """
    for field in ("detector", "revision"):
        if about.get(field):
            check_name(str(about[field]), source=source, field=field)
    mark = about.get("reads_label_evidence", False)
    if not isinstance(mark, bool):
        raise InputError(
            "bad metadata",
            file=source,
            field="reads_label_evidence",
            expected="true or false",
            got=ascii(mark),
        )
    return dict(about)
