"""A detector that breaks: one line that names it and what it was doing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from faithshift_data.errors import InputError, reason_of


@contextmanager
def in_one_line(detector: str, phase: str) -> Iterator[None]:
    """Turn any exception into an `InputError`; the exception itself stays its cause.

    Args:
        detector: its name.
        phase: what it was asked for, such as ``fit``.

    Raises:
        InputError: as it is where that was raised; else with type and message of the exception.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # a plug-in may fail in any way
        raise InputError(f"{phase} failed: {reason_of(error)}", file=detector) from error
