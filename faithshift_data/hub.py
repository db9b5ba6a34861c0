"""Datasets on the Hub: single files and parts of files of one commit, when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from faithshift_data.errors import InputError
from faithshift_data.manifest import MANIFEST

KIND = "dataset"
NAME = re.compile(r"(?P<name>[\w\-][\w.\-]*/[\w\-][\w.\-]*)(?:@(?P<revision>.+))?")
LOGIN = "log in with `hf auth login` or set HF_TOKEN"


@dataclass(frozen=True)
class HubRepo:
    """A dataset repository at one commit.

    Attributes:
        name: ``ORG/NAME``.
        commit: what its revision was when it was opened; files of other commits are never mixed in.
        folder: the commit's folder in the client's cache; holds what was fetched so far.
    """

    name: str
    commit: str
    folder: Path

    @classmethod
    def open(cls, name: str, revision: str | None = None) -> HubRepo:
        """Fetch the manifest and nothing else.

        Args:
            name: ``ORG/NAME``.
            revision: commit, tag or branch; None: the main branch.

        Raises:
            InputError: in one line, where there is no such dataset or revision, it is gated or
                private, it has no manifest, or the Hub cannot be reached and the cache has nothing.
        """
        path = _download(name, MANIFEST, revision)
        return cls(name, path.parent.name, path.parent)

    def has(self, file: str) -> bool:
        """Whether a file was fetched before."""
        return (self.folder / file).is_file()

    def fetch(self, file: str) -> Path:
        """The path of a file, downloaded if the cache does not have it; errors as in `open`."""
        return self.folder / file if self.has(file) else _download(self.name, file, self.commit)

    def fetch_all(self) -> Path:
        """The folder with every file of the commit; errors as in `open`."""
        from huggingface_hub import snapshot_download

        with _one_line(self.name, None, self.commit):
            return Path(snapshot_download(self.name, repo_type=KIND, revision=self.commit))

    def fetch_range(self, file: str, start: int, stop: int) -> bytes:
        """Bytes [start, stop) of a file, and not the rest; errors as in `open`.

        What comes is not verified: a sha256 is one of a whole file.
        """
        from huggingface_hub import HfFileSystem

        path = f"{KIND}s/{self.name}@{self.commit}/{file}"
        with _one_line(self.name, file, self.commit):
            return HfFileSystem().cat_file(path, start=start, end=stop, cache_type="none")


def hub_name(text: str, revision: str | None = None) -> tuple[str, str | None] | None:
    """``ORG/NAME`` or ``ORG/NAME@REVISION`` as name and revision; None where it is neither.

    Raises:
        InputError: a revision in the name and another one beside it.
    """
    found = NAME.fullmatch(text)
    if found is None:
        return None
    named = found["revision"]
    if named is not None and revision not in (None, named):
        raise InputError("two revisions", file=text, field="revision", got=revision)
    return found["name"], named or revision


def _download(name: str, file: str, revision: str | None) -> Path:
    from huggingface_hub import hf_hub_download

    with _one_line(name, file, revision):
        return Path(hf_hub_download(name, file, repo_type=KIND, revision=revision))


@contextmanager
def _one_line(name: str, file: str | None, revision: str | None) -> Iterator[None]:
    try:
        yield
    # The client's errors share no base class, and change with its transport library.
    except Exception as error:  # noqa: BLE001
        raise _described(error, name, file, revision) from None


def _described(error: Exception, name: str, file: str | None, revision: str | None) -> InputError:
    """What is wrong and what helps; never the client's text, which may quote a request."""
    from huggingface_hub import constants, errors

    not_here = isinstance(error, errors.LocalEntryNotFoundError)
    # That the cache has no such file hides why it could not be downloaded.
    cause = error.__cause__ if not_here and isinstance(error.__cause__, Exception) else error
    address = f"{constants.ENDPOINT}/datasets/{name}"
    status = getattr(getattr(cause, "response", None), "status_code", None)
    if isinstance(cause, errors.GatedRepoError):
        message = f"gated: ask for access at {address}, then {LOGIN}"
    elif isinstance(cause, errors.RepositoryNotFoundError):
        message = f"no such folder, and no such dataset at {address}; if it is private, {LOGIN}"
    elif isinstance(cause, errors.RevisionNotFoundError):
        return InputError("no such revision", file=address, field="revision", got=revision)
    elif isinstance(cause, errors.EntryNotFoundError) and not not_here:
        made = "not a FaithShift dataset" if file == MANIFEST else "a file is missing"
        message = f"{made}: no {file} at {address}"
    elif isinstance(cause, errors.HFValidationError):
        message = "no such folder, and no name on the Hub"
    elif status in (401, 403):
        message = f"the Hub refuses to give it ({status}); {LOGIN}"
    elif status is not None:
        message = f"the Hub answered {status} for {file or 'it'}; try again later"
    elif isinstance(cause, OSError) and cause.errno is not None:
        message = f"cannot be kept: {cause.strerror}"
    elif constants.HF_HUB_OFFLINE:
        message = f"not downloaded yet ({file or 'all files'}), and HF_HUB_OFFLINE is set"
    else:
        message = f"not downloaded yet ({file or 'all files'}), and {constants.ENDPOINT} "
        message += f"cannot be reached ({type(cause).__name__})"
    return InputError(message, file=name)
