"""Files of a dataset folder that are read only once their sha256 is that of the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from faithshift_data.atomic import sha256_file
from faithshift_data.errors import InputError
from faithshift_data.manifest import FileInfo, inside

HINT = "`faithshift check` shows all"


class VerifiedFiles:
    """The files of a folder by name; each is hashed when first asked for, and once."""

    def __init__(self, folder: Path, files: Mapping[str, FileInfo]) -> None:
        """Check that every file lies in the folder; nothing is read.

        Raises:
            InputError: a path that leads out of the folder, or a file that is not there.
        """
        self.folder, self.files = folder, files
        self._done: set[str] = set()
        for name in sorted(files):
            if not inside(folder, name).is_file():
                raise InputError(f"no such file; {HINT}", file=folder / name)

    def path(self, name: str) -> Path:
        """The path of a file whose content is what the manifest says.

        Raises:
            InputError: a file outside the folder, not in the manifest, gone, or of other content.
        """
        path = inside(self.folder, name)
        if name in self._done:
            return path
        if name not in self.files:
            raise InputError(f"not in the manifest; {HINT}", file=path)
        expected = self.files[name].sha256
        try:
            got = sha256_file(path)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}; {HINT}", file=path) from None
        if got != expected:
            raise InputError(
                f"other content than the manifest's; {HINT}",
                file=path,
                field="sha256",
                expected=expected,
                got=got,
            )
        self._done.add(name)
        return path
