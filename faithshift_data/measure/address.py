"""The address of an endpoint, checked before anything is sent to it."""

from __future__ import annotations

from urllib.parse import urlsplit

from faithshift_data.errors import InputError


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
