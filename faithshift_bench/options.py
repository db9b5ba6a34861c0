"""Numbers that a user chooses, checked before anything is computed with them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from faithshift_data.errors import InputError

# Below this, tail probabilities of the bounds underflow.
LEAST_SHARE = 1e-12


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


def check_number(name: str, value: Any, *, above: float, most: float, whole: bool = False) -> None:
    """Refuse what is no (whole) number over ``above`` and at most ``most``; NaN is refused."""
    kind = Integral if whole else Real
    number = isinstance(value, kind) and not isinstance(value, bool)
    if not (number and above < float(value) <= most):
        expected = f"a {'whole ' * whole}number over {above:g}, at most {most:g}"
        raise InputError("bad parameter", field=name, expected=expected, got=value)
