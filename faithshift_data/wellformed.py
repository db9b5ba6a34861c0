"""Texts that no file can hold: they carry half a character."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faithshift_data.errors import InputError


def refuse_half_characters(values: Mapping[str, Any], *, file: object, row: object) -> None:
    r"""Refuse lone surrogates, which JSON can write (``"\ud83d"``) and UTF-8 cannot.

    Args:
        values: texts by field, also inside mappings and lists.
        file: where they stand.
        row: where they stand.

    Raises:
        InputError: the first text with one, with its field.
    """
    for name, value in values.items():
        if isinstance(value, Mapping):
            inner = {f"{name}.{key}": each for key, each in value.items()}
            refuse_half_characters(inner, file=file, row=row)
        for text in value if isinstance(value, list | tuple) else [value]:
            if isinstance(text, str) and not _whole(text):
                message = "half a character (a lone surrogate)"
                raise InputError(message, file=file, row=row, field=name, got=ascii(text))


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
