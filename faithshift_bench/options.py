"""What a user chooses, checked before anything is computed with them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from faithshift_data.errors import InputError

# Below this, tail probabilities of the bounds underflow.
LEAST_SHARE = 1e-12
MAX_SEEDS = 1000


def check_share(name: str, value: Any) -> None:
    """Refuse what is no number in (0, 1) of 1e-12 or more."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} must be a number", field=name, got=value)
    if not LEAST_SHARE <= float(value) < 1:
        raise InputError(
            f"{name} must lie in (0, 1)", field=name, expected="1e-12 or more", got=value
        )


def check_whole(name: str, value: Any, least: int = 0) -> None:
    """Refuse what is no whole number of ``least`` or more."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        expected = f"a whole number, {least} or more"
        raise InputError("bad value", field=name, expected=expected, got=value)


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float,
    whole: bool = False,
) -> None:
    """Refuse what is no (whole) number from one to another; NaN is refused.

    Args:
        name: of the parameter.
        value: of the parameter.
        above: it has to be larger than this.
        least: it has to be this or more.
        most: it has to be this or less.
        whole: refuse fractions.
    """
    kind = Integral if whole else Real
    number = isinstance(value, kind) and not isinstance(value, bool)
    low = above is None or (number and float(value) > above)
    low = low and (least is None or (number and float(value) >= least))
    if not (number and low and float(value) <= most):
        start = f"over {above:g}" if above is not None else f"of {least:g} or more"
        expected = f"a {'whole ' * whole}number {start}, at most {most:g}"
        raise InputError("bad parameter", field=name, expected=expected, got=value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is not one of some names."""
    if value not in choices:
        expected = ", ".join(choices)
        raise InputError("bad parameter", field=name, expected=expected, got=value)


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise InputError("bad parameter", field=name, expected="true or false", got=value)


def parse_seeds(text: str) -> list[int]:
    """Seeds from text such as ``0-3`` or ``0,2,5``; at most 1,000."""
    seeds: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if not found:
            raise InputError("bad seeds", field="--seeds", expected="such as 0-3", got=text)
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise InputError(
                "bad seeds", field="--seeds", expected=f"{last}-{first}, low to high", got=text
            )
        if len(seeds) + last - first >= MAX_SEEDS:
            raise InputError(
                "too many seeds", field="--seeds", expected=f"{MAX_SEEDS} or fewer", got=text
            )
        seeds.extend(range(first, last + 1))
    return seeds


def parse_params(pairs: list[str]) -> dict[str, float | int | str]:
    """Parameters from texts such as ``C=0.5``: JSON values, or else strings."""
    params: dict[str, float | int | str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise InputError("bad parameter", field="--param", expected="name=value", got=pair)
        if name in params:
            raise InputError("given twice", field="--param", expected="each once", got=name)
        try:
            params[name] = json.loads(text)
        except ValueError:
            params[name] = text
    return params
