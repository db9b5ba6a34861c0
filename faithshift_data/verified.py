"""Files of a dataset folder that are read only once their sha256 is that of the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from faithshift_data.atomic import sha256_file
from faithshift_data.errors import InputError
from faithshift_data.manifest import FileInfo, inside

if TYPE_CHECKING:
    from faithshift_data.hub import HubRepo

HINT = "`faithshift check` shows all"


class VerifiedFiles:
    """The files of a folder by name; each is hashed when first asked for, and once.

    Those of a repository on the Hub are downloaded then, too.
    """

    def __init__(
        self, folder: Path, files: Mapping[str, FileInfo], repo: HubRepo | None = None
    ) -> None:
        """Check that every file lies in the folder, or can be fetched into it; nothing is read.

        Raises:
            InputError: a path that leads out of the folder, or a file that is not there.
        """
        self.folder, self.files, self._repo = folder, files, repo
        self._done: set[str] = set()
        for name in sorted(files):
            if not inside(folder, name).is_file() and repo is None:
                raise InputError(f"no such file; {HINT}", file=folder / name)

    def is_here(self, name: str) -> bool:
        """Whether a file can be read without a download."""
        return self._repo is None or self._repo.has(name)

    def part(self, name: str, start: int, stop: int) -> bytes:
        """Bytes [start, stop) of a file that is not here, unverified, without the rest of it.

        Raises:
            InputError: a file that is not in the manifest, or that cannot be fetched.
        """
        self._know(name)
        assert self._repo is not None
        return self._repo.fetch_range(name, start, stop)

    def path(self, name: str) -> Path:
        """The path of a file whose content is what the manifest says.

        Raises:
            InputError: a file outside the folder, not in the manifest, gone, or of other content;
                or it cannot be fetched.
        """
        path = self._know(name)
        if name in self._done:
            return path
        if self._repo is not None:
            self._repo.fetch(name)
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

    def _know(self, name: str) -> Path:
        path = inside(self.folder, name)
        if name not in self.files:
            raise InputError(f"not in the manifest; {HINT}", file=path)
        return path
