"""A dataset's public folder for as long as it is published; its key stays with the publisher."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from builders.blind import blindness
from builders.secret import Salt
from builders.withhold import check_key, public_source, withhold
from faithshift_data.errors import InputError


@contextmanager
def public_folder(
    folder: Path, parts: Sequence[str], key: Path, salt: Salt, say: Callable[[str], None]
) -> Iterator[Path]:
    """Yield the folder without the labels of ``parts``; ``key`` holds them before anything is sent.

    The same salt gives the same folder, so that an interrupted publication goes on with the key
    that it has left.

    Raises:
        InputError: labels can be told from what is not content, or ``key`` is of another folder.
    """
    key.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=key.parent, prefix=f".{key.name}.") as temporary:
        public, new = Path(temporary) / "public", Path(temporary) / "key"
        withhold(folder, public, new, salt=salt, what=parts)
        for found in blindness(public, new):
            if found.leaks:
                raise InputError(f"what is not content tells of labels: {found}", file=folder)
        if key.exists():
            for problem in check_key(public, key):
                raise InputError(f"not the key of this folder: {problem}", file=key)
        else:
            os.replace(new, key)
        if (warning := public_source(folder)) is not None:
            say(warning)
        say(f"withheld: labels of {' and '.join(parts)}; {key} holds them, never publish it")
        yield public
