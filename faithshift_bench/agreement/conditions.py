"""Names of the conditions under which a model answers a question.

``baseline`` and ``hinted`` are free generations. In the others text is injected as reasoning:
``filler`` (200 dots), ``early@P`` (the first P percent of the hinted reasoning), ``filler@NAME``
(another filler) and ``wrong`` (reasoning that argues for a wrong option). ``/uncued`` says that
no cue for the answer, such as ``Answer: (``, follows the injected text.
"""

from __future__ import annotations

import re

BASELINE, HINTED, FILLER, WRONG = "baseline", "hinted", "filler", "wrong"
UNCUED = "/uncued"
_EARLY = re.compile(r"early@(0|[1-9]\d?(?:\.\d*[1-9])?|0\.\d*[1-9])")
_KNOWN = re.compile(
    rf"{BASELINE}|{HINTED}|(?:{FILLER}(?:@[\w.-]+)?|{WRONG}|{_EARLY.pattern})(?:{UNCUED})?"
)
EXPECTED = "baseline, hinted, filler, early@0 .. early@99, filler@NAME or wrong, or .../uncued"


def is_condition(name: str) -> bool:
    """Whether a name is one of the above; a share is written without needless zeros."""
    return _KNOWN.fullmatch(name) is not None


def is_injected(name: str) -> bool:
    """Whether reasoning is injected."""
    return name not in (BASELINE, HINTED)


def early(percent: float) -> str:
    """The name of a cut, as ``early@60`` or ``early@33.3``."""
    return f"early@{percent:g}"


def percent_of(name: str) -> float | None:
    """P of a cued ``early@P``; None for any other condition."""
    found = _EARLY.fullmatch(name)
    return float(found[1]) if found else None
