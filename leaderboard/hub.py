"""A copy of the store on the Hub, for a board whose disk is lost at every restart, as a Space's is.

A submission is acknowledged only after :meth:`HubCopy.push`, so that nothing acknowledged is lost.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from faithshift_data.errors import InputError
from faithshift_data.hub import LOGIN, NAME
from leaderboard.store import ENTRIES, REJECTIONS, SUBMISSIONS, Store

PARTS = (SUBMISSIONS, ENTRIES, REJECTIONS)


class HubCopy:
    """A dataset repository that holds all that a store holds; several threads may use it."""

    def __init__(self, store: Store, repository: str) -> None:
        """Keep what belongs together; the token is the environment's.

        Args:
            store: of the board.
            repository: ``ORG/NAME``; private, since submissions hold contacts.
        """
        self.store, self.repository = store, repository
        self._there: set[str] | None = None
        self._lock = threading.Lock()

    def fetch(self) -> None:
        """Bring what the repository holds into the store, before anything is served.

        Raises:
            InputError: one line, where the Hub cannot be reached or refuses.
        """
        patterns = [f"{part}/*" for part in PARTS]
        _download(self.repository, allow_patterns=patterns, local_dir=self.store.folder)
        for name in _listed(self.repository):
            if name.split("/")[0] in PARTS and not (self.store.folder / name).exists():
                raise InputError("was not fetched whole", file=self.repository, field=name)

    def push(self) -> None:
        """Commit what the store holds and the repository does not; returns once it is there.

        Once more changes nothing, also where an earlier commit arrived and its answer was lost.

        Raises:
            InputError: one line; the repository then has all of it or none.
        """
        from huggingface_hub import CommitOperationAdd, HfApi

        with self._lock:
            if self._there is None:
                self._there = _listed(self.repository)
            files = {name: path for name, path in self._files() if name not in self._there}
            if not files:
                return
            additions = [CommitOperationAdd(name, path) for name, path in files.items()]
            try:
                HfApi().create_commit(
                    self.repository,
                    additions,
                    commit_message=f"{len(files)} files of the board",
                    repo_type="dataset",
                )
            # The client's errors share no base class, and quote requests.
            except Exception as error:  # noqa: BLE001
                # Perhaps it arrived and only the answer did not: look again.
                self._there = None
                raise _refused("committed", self.repository, error) from None
            self._there |= set(files)

    def _files(self) -> Iterator[tuple[str, Path]]:
        """Name and path of each file; what is hidden is not whole yet."""
        for part in PARTS:
            for top in sorted((self.store.folder / part).glob("[!.]*")):
                for path in sorted(top.iterdir()) if top.is_dir() else [top]:
                    yield path.relative_to(self.store.folder).as_posix(), path


def fetched(name: str) -> str:
    """The folder of ``ORG/NAME``, of a private one too; another name, or a folder, as it is.

    Raises:
        InputError: one line, where the Hub cannot be reached or refuses.
    """
    found = NAME.fullmatch(name)
    if found is None or Path(name).exists():
        return name
    return _download(found["name"], revision=found["revision"])


def _download(repository: str, revision: str | None = None, **how: Any) -> str:
    from huggingface_hub import HfApi, snapshot_download

    place: dict[str, Any] = {"repo_id": repository, "repo_type": "dataset"}
    try:
        # Asked first: where the Hub refuses, a download would give what lies there already.
        commit = HfApi().repo_info(**place, revision=revision).sha
        return str(snapshot_download(**place, revision=commit, **how))
    # The client's errors share no base class, and quote requests.
    except Exception as error:  # noqa: BLE001
        raise _refused("fetched", repository, error) from None


def _listed(repository: str) -> set[str]:
    from huggingface_hub import HfApi

    try:
        return set(HfApi().list_repo_files(repository, repo_type="dataset"))
    except Exception as error:  # noqa: BLE001
        raise _refused("listed", repository, error) from None


def _refused(what: str, repository: str, error: Exception) -> InputError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    told = f"the Hub answered {status}" if status else f"no answer ({type(error).__name__})"
    help_ = f"; {LOGIN}" if status in (401, 403, 404) else ""
    return InputError(f"cannot be {what}: {told}{help_}", file=repository)
