"""One repository on the Hub: each step is safe to repeat, and none leaves a part of itself."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builders.publishing.patience import CHANGED, PASSING, Patience
from faithshift_data.checks import ATTRIBUTES
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

# path -> (whether it is in LFS, its sha256 there, else Git's id of its bytes)
Tree = Mapping[str, tuple[bool, str]]


class Repository:
    """A repository of one kind; nothing is asked of the Hub before a method is called.

    Every method raises InputError, one line, where the Hub refuses or cannot be reached.
    """

    def __init__(self, name: str, repo_type: str, token: str, say: Callable[[str], None]) -> None:
        """Keep who asks for what.

        Args:
            name: ``ORG/NAME``.
            repo_type: dataset, space or model.
            token: of a user who may write there.
            say: takes a line for each step and each wait.
        """
        from huggingface_hub import HfApi

        self.name, self.repo_type, self.say = name, repo_type, say
        self.patience = Patience(token, say)
        self._api = HfApi(token=token)
        self._place: dict[str, Any] = {"repo_id": name, "repo_type": repo_type}

    def ensure(self, *, private: bool) -> str:
        """Make the repository where there is none; main's last commit.

        Raises:
            InputError: it is to be private, and is public.
        """
        made = False

        def look() -> Any:
            from huggingface_hub.errors import RepositoryNotFoundError

            nonlocal made
            try:
                return self._api.repo_info(**self._place)
            except RepositoryNotFoundError as error:
                if error.response.status_code != 404:
                    raise
            sdk = {"space_sdk": "gradio"} if self.repo_type == "space" else {}
            made = True
            self._api.create_repo(**self._place, private=private, **sdk)
            return self._api.repo_info(**self._place)

        # One whose creation was not answered is there at the next look.
        found = self.patience.call("repository", look, again=PASSING | CHANGED)
        if private and not found.private:
            message = "this repository is public; nothing was sent"
            raise InputError(message, file=self.name, field="--private")
        shown = "private" if found.private else "public"
        self.say(f"repository: {self.name}, {shown}, {'new' if made else 'there before'}")
        return str(found.sha)

    def tags(self) -> dict[str, str]:
        """Tag -> commit."""
        return self.patience.call("tags", self._tags)

    def tree(self, revision: str) -> Tree:
        """The files of a revision, without the Hub's own ``.gitattributes``."""
        return self.patience.call("files", lambda: self._tree(revision))

    def upload(self, additions: Sequence[CommitOperationAdd]) -> None:
        """Send the bytes of large files; none can be seen before a commit names it."""

        def send() -> None:
            self._api.preupload_lfs_files(additions=additions, free_memory=False, **self._place)

        # The client itself sends each file up to six times.
        self.patience.call("upload", send, tries=1)

    def commit(
        self,
        operations: Sequence[CommitOperationAdd | CommitOperationDelete],
        *,
        parent: str,
        title: str,
        is_made: Callable[[Tree], bool],
    ) -> str:
        """One commit on main, on top of ``parent`` and of nothing else.

        Args:
            operations: all changes; large files were uploaded before.
            parent: the commit that main must still be at.
            title: of the commit.
            is_made: whether a tree is what the commit makes.

        Returns:
            The new commit; that of an earlier try, if only its answer was lost.

        Raises:
            InputError: somebody else changed main; it stays as they left it.
        """

        def once() -> str:
            head = str(self._api.repo_info(**self._place).sha)
            if head == parent:
                told = {"commit_message": title, "parent_commit": parent}
                return self._api.create_commit(operations=operations, **told, **self._place).oid
            if is_made(self._tree(head)):
                return head
            message = "somebody else changed main meanwhile, and it is left so; run again"
            raise InputError(message, file=self.name)

        return self.patience.call("commit", once, again=PASSING | CHANGED)

    def tag(self, name: str, commit: str) -> None:
        """Give a commit a name that no other commit has.

        Raises:
            InputError: another commit has it.
        """

        def once() -> None:
            found = self._tags().get(name)
            if found is None:
                self._api.create_tag(tag=name, revision=commit, **self._place)
            elif found != commit:
                message = "somebody else published this version meanwhile"
                raise InputError(message, file=self.name, field="--revision", got=name)

        self.patience.call("tag", once, again=PASSING | CHANGED)

    def download(self, revision: str, cache: Path) -> Path:
        """All files of a revision, into an empty cache; their folder."""

        def fetch() -> str:
            return self._api.snapshot_download(revision=revision, cache_dir=cache, **self._place)

        return Path(self.patience.call("download", fetch))

    def read(self, revision: str, name: str) -> bytes:
        """One file of a revision."""

        def fetch() -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                told = {"revision": revision, "local_dir": folder}
                return Path(
                    self._api.hf_hub_download(filename=name, **told, **self._place)
                ).read_bytes()

        return self.patience.call("download", fetch)

    def _tags(self) -> dict[str, str]:
        refs = self._api.list_repo_refs(**self._place)
        return {tag.name: tag.target_commit for tag in refs.tags}

    def _tree(self, revision: str) -> Tree:
        found = {}
        for entry in self._api.list_repo_tree(recursive=True, revision=revision, **self._place):
            if hasattr(entry, "blob_id") and entry.path != ATTRIBUTES:
                large = entry.lfs is not None
                found[entry.path] = (large, entry.lfs.sha256 if large else entry.blob_id)
        return found
