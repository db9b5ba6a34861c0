"""The address of an endpoint, checked before anything is sent to it, and the key that it wants."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from faithshift_data.errors import InputError

KEY = "OPENAI_API_KEY"


def key_for(base_url: str | None) -> str | None:
    """The environment's key; a server of one's own needs none, and None is that of OpenAI's."""
    return os.environ.get(KEY) or (None if base_url is None else "none")


def check_address(url: str, *, field: str) -> None:
    """Refuse an address that no request can reach: it would fail once a row, not once.

    Raises:
        InputError: it is not one of HTTP.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good:
        expected = "such as http://localhost:8000/v1"
        raise InputError("not an address", field=field, expected=expected, got=url)
