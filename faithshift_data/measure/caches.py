"""Keys and values by the name they have in the installed transformers, which renamed them."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

NAMES = ("cache", "past_key_values")


def given(model: Any, read: Any) -> dict[str, Any]:
    """The keyword by which a model takes what it has read before."""
    return {_name(type(model)): read}  # type: ignore[arg-type]


@cache
def _name(kind: Any) -> str:
    known = inspect.signature(kind.forward).parameters
    return next((name for name in NAMES if name in known), NAMES[0])


def taken(output: Any) -> Any:
    """Keys and values of a pass."""
    return next(getattr(output, name) for name in NAMES if hasattr(output, name))
