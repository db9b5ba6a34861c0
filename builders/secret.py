"""The secret salt behind hidden labels: where it is read, and what follows from it.

It is given in a file or in the environment, never on a command line, and is never printed: an
error says how long it is, and no more.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

from faithshift_data.errors import InputError

VARIABLE = "FAITHSHIFT_SALT"
SHORTEST, FEWEST = 32, 8
HOW = f"at least {SHORTEST} random characters; `openssl rand -hex 32` prints some"


class Salt:
    """A secret, and ids and numbers that nobody can compute without it.

    Args:
        value: the secret; white space around it is not part of it.

    Raises:
        InputError: it is too short, or of too few different characters to be random.
    """

    def __init__(self, value: str | bytes) -> None:
        """Refuse a secret that could be guessed."""
        self._value = (value.encode() if isinstance(value, str) else value).strip()
        length, different = len(self._value), len(set(self._value))
        if length < SHORTEST:
            raise InputError("too short", field="salt", expected=HOW, got=f"{length} characters")
        if different < FEWEST:
            got = f"{different} different characters"
            raise InputError("not random", field="salt", expected=HOW, got=got)

    def __repr__(self) -> str:
        """Without the secret."""
        return "Salt(...)"

    def digest(self, *parts: object) -> str:
        """HMAC-SHA256 of the parts, in hex; the first part names the purpose."""
        text = "\x1f".join(map(str, parts))
        return hmac.new(self._value, text.encode(), hashlib.sha256).hexdigest()

    def number(self, *parts: object, bits: int = 256) -> int:
        """A number of so many bits at most, by the parts."""
        return int(self.digest(*parts), 16) >> (256 - bits)


def read_salt(path: Path | None = None) -> Salt:
    """The salt of a file, or else of the environment variable ``FAITHSHIFT_SALT``.

    Raises:
        InputError: there is none, or it could be guessed.
    """
    if path is not None:
        try:
            return Salt(path.read_bytes())
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    value = os.environ.get(VARIABLE)
    if value is None:
        raise InputError("no salt", expected=f"--salt-file or {VARIABLE} with {HOW}", got="neither")
    return Salt(value)
