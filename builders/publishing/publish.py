"""One version onto the Hub: checked, one commit, verified, one tag. Run again, it goes on."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders.publishing.parcel import TAG, Parcel, pack
from builders.publishing.repository import Repository, Tree
from builders.publishing.verify import verify
from faithshift_data.errors import InputError
from faithshift_data.folder import CARD
from faithshift_data.manifest import MANIFEST

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

NAME = re.compile(r"[\w\-.]+/[\w\-.]+")


@dataclass(frozen=True)
class Published:
    """Where a version stands: kind, repository, tag and commit."""

    kind: str
    repo: str
    tag: str
    commit: str


def to_stderr(line: str) -> None:
    """One line of the publish log."""
    print(line, file=sys.stderr, flush=True)


def publish(
    what: str | Path,
    repo: str,
    *,
    tag: str | None = None,
    private: bool = False,
    say: Callable[[str], None] = to_stderr,
) -> Published:
    """Publish a dataset folder, a saved detector's folder, or the metric (this package's wheel).

    The steps, each safe to repeat: check the folder; make the repository, if there is none;
    upload; one commit on main, on top of what was there; download that commit and compare; tag
    it. Up to the commit main is untouched; the commit holds the whole version or does not
    happen; only a verified commit gets the tag. Whoever pins the tag never sees less.

    Args:
        what: the folder or wheel.
        repo: ``ORG/NAME``; a dataset, a Space for the metric, a model for a detector.
        tag: the version's name, ``v`` and the version; needed for a detector only.
        private: make the repository private; refuse one that is public.
        say: takes the lines of the log.

    Returns:
        Where the version stands now, also if it stood there before.

    Raises:
        InputError: what is published is not sound, the version exists with other content, the
            repository holds something else or withholds labels that are shown here, or the Hub
            refuses. The line never shows the token.
    """
    token = _token()
    _check_names(repo, tag)
    with _quiet_clients():
        parcel = pack(Path(what), repo, tag)
        say(f"checked: {what}: {parcel.kind}, {len(parcel.files)} files, {parcel.size():,} bytes")
        repository = Repository(repo, parcel.repo_type, token, say)
        head = repository.ensure(private=private)
        commit = repository.tags().get(parcel.tag)
        tagged = commit is not None
        if commit is not None:
            if not _holds(parcel, repository.tree(commit)):
                message = "this version is published, and is not overwritten; give it a new version"
                raise InputError(message, file=repo, field="--revision", got=parcel.tag)
            say(f"published before: {commit}")
        else:
            commit = _commit(repository, parcel, head)
        say(f"verified: {verify(repository, parcel, commit)}")
        if not tagged:
            repository.tag(parcel.tag, commit)
            say(f"tagged: {parcel.tag}")
    return Published(parcel.kind, repo, parcel.tag, commit)


def _commit(repository: Repository, parcel: Parcel, head: str) -> str:
    """Main's commit with the parcel and nothing else: the last one, if it is so, or a new one."""
    there = repository.tree(head)
    if _holds(parcel, there):
        repository.say(f"committed before: {head}")
        return head
    if there.keys() - {CARD} and parcel.mark not in there:
        message = f"holds something else than a {parcel.kind} of FaithShift, and is left so"
        raise InputError(message, file=repository.name, expected=parcel.mark, got=min(there))
    _keep_withheld(repository, parcel, head if MANIFEST in there else None)
    additions = _additions(parcel)
    repository.upload(additions)
    repository.say("uploaded")
    gone = sorted(there.keys() - parcel.files.keys())
    operations = [*additions, *_deletions(gone)]
    commit = repository.commit(
        operations, parent=head, title=parcel.tag, is_made=lambda tree: _holds(parcel, tree)
    )
    repository.say(f"committed: {commit}")
    if gone:
        repository.say(f"no longer on main: {', '.join(gone)}")
    return commit


def _keep_withheld(repository: Repository, parcel: Parcel, head: str | None) -> None:
    """Refuse a dataset that shows what the repository's last version withholds."""
    if head is None or parcel.kind != "dataset":
        return
    before = json.loads(repository.read(head, MANIFEST)).get("withheld") or {}
    shown = sorted(set(before.get("parts", ())) - set(parcel.withheld))
    if shown:
        message = f"withholds labels of {' and '.join(shown)}, which this version shows"
        raise InputError(message, file=repository.name, field="--withhold-labels")


def _holds(parcel: Parcel, tree: Tree) -> bool:
    """Whether a tree has the parcel's files with the same bytes, and no others."""
    if tree.keys() != parcel.files.keys():
        return False
    return all(
        found == (parcel.sha256[name] if large else _blob_id(parcel.files[name]))
        for name, (large, found) in tree.items()
    )


def _blob_id(file: Path | bytes) -> str:
    """Git's id of a file's bytes."""
    data = file if isinstance(file, bytes) else file.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _additions(parcel: Parcel) -> list[CommitOperationAdd]:
    from huggingface_hub import CommitOperationAdd

    return [
        CommitOperationAdd(name, file if isinstance(file, bytes) else str(file))
        for name, file in sorted(parcel.files.items())
    ]


def _deletions(names: Iterable[str]) -> list[CommitOperationDelete]:
    from huggingface_hub import CommitOperationDelete

    return [CommitOperationDelete(name, is_folder=False) for name in names]


def _token() -> str:
    from huggingface_hub import get_token

    token = get_token()
    if not token:
        expected = "HF_TOKEN, or `hf auth login`"
        raise InputError("no token of a user who may write", expected=expected)
    # The HTTP library would show a token that cannot be a header.
    if not re.fullmatch(r"[!-~]+", token):
        raise InputError("the token holds characters that no token has", field="HF_TOKEN")
    return token


def _check_names(repo: str, tag: str | None) -> None:
    if not NAME.fullmatch(repo) or ".." in repo:
        raise InputError("not a repository", field="--repo", expected="ORG/NAME", got=repo)
    if tag is not None and not TAG.fullmatch(tag):
        expected = "a version such as v1.0"
        raise InputError("not a version", field="--revision", expected=expected, got=tag)
    if Path(repo).exists():
        message = "stands in this directory, and load_dataset would take it for the Hub's; move"
        raise InputError(message, file=repo)


@contextmanager
def _quiet_clients() -> Iterator[None]:
    """Keep the clients' bars, and warnings that show signed addresses, out of the log."""
    from datasets import utils as datasets_utils
    from datasets.utils import logging as datasets_logging
    from huggingface_hub.utils import logging as hub_logging

    before = [(module, module.get_verbosity()) for module in (hub_logging, datasets_logging)]
    hidden = datasets_utils.are_progress_bars_disabled()
    try:
        for module, _ in before:
            module.set_verbosity_error()
        datasets_utils.disable_progress_bars()
        yield
    finally:
        for module, level in before:
            module.set_verbosity(level)
        if not hidden:
            datasets_utils.enable_progress_bars()
