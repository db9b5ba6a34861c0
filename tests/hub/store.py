"""What a Hub keeps: repositories of commits, branches and tags over files stored by their hash."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch

KINDS = ("model", "dataset", "space")
ATTRIBUTES = ".gitattributes"
LARGE = ("parquet", "safetensors", "arrow", "bin", "npy", "npz", "zip", "gz")
LIMIT = 10_000_000
_counter = itertools.count()


def blob_id(data: bytes) -> str:
    """Git's name of a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass(frozen=True)
class Entry:
    """A file in a commit: its bytes by sha256, and Git's name of them, or of the LFS pointer."""

    sha256: str
    size: int
    oid: str
    lfs: bool


@dataclass
class Repo:
    """A repository: commits are whole trees, oldest first."""

    kind: str
    id: str
    private: bool = False
    gated: bool = False
    commits: dict[str, Mapping[str, Entry]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    # Titles of pull requests; the first has number 1 and the branch refs/pr/1.
    requests: list[str] = field(default_factory=list)

    def sha(self, revision: str) -> str | None:
        """The commit of a branch, tag or commit id."""
        name = revision.removeprefix("refs/heads/").removeprefix("refs/tags/")
        known = {**self.tags, **self.branches}
        return known.get(name) or (name if name in self.commits else None)

    def tree(self, revision: str = "main") -> Mapping[str, Entry]:
        """path -> entry of a revision."""
        sha = self.sha(revision)
        assert sha is not None, revision
        return self.commits[sha]

    def add(self, tree: Mapping[str, Entry], title: str, branch: str) -> str:
        """A commit on top of a branch; its id."""
        listed = sorted((path, entry.oid) for path, entry in tree.items())
        text = repr((self.branches.get(branch), title, next(_counter), listed))
        sha = hashlib.sha1(text.encode()).hexdigest()
        self.commits[sha], self.titles[sha] = dict(tree), title
        self.branches[branch] = sha
        return sha


class Store:
    """All repositories, and the bytes of all files by sha256."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.repos: dict[tuple[str, str], Repo] = {}
        self.blobs: dict[str, bytes] = {}

    def create(self, kind: str, name: str, *, private: bool = False) -> Repo:
        """A repository with the first commit that the Hub makes itself."""
        assert kind in KINDS and (kind, name) not in self.repos
        repo = self.repos[kind, name] = Repo(kind, name, private)
        lines = "".join(f"*.{end} filter=lfs diff=lfs merge=lfs -text\n" for end in LARGE)
        repo.add({ATTRIBUTES: self.plain(lines.encode())}, "initial commit", "main")
        return repo

    def put(self, data: bytes) -> str:
        """Keep bytes; their sha256."""
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return digest

    def plain(self, data: bytes) -> Entry:
        """The entry of a file that is kept in Git itself."""
        return Entry(self.put(data), len(data), blob_id(data), lfs=False)

    def large(self, sha256: str) -> Entry:
        """The entry of a stored file that Git has a pointer to."""
        size = len(self.blobs[sha256])
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n"
        return Entry(sha256, size, blob_id(pointer.encode()), lfs=True)

    def is_large(self, repo: Repo, path: str, size: int, sample: bytes) -> bool:
        """Whether a new file goes to LFS: by the repository's attributes, bytes, or size."""
        attributes = repo.tree().get(ATTRIBUTES)
        text = self.blobs[attributes.sha256].decode() if attributes else ""
        patterns = [line.split()[0] for line in text.splitlines() if "filter=lfs" in line]
        named = any(fnmatch(path.rsplit("/", 1)[-1], pattern) for pattern in patterns)
        return named or b"\0" in sample or size > LIMIT

    def commit(
        self,
        repo: Repo,
        files: Mapping[str, bytes],
        *,
        delete: Iterable[str] = (),
        title: str = "by somebody else",
        branch: str = "main",
    ) -> str:
        """A commit made without the HTTP interface, as by another person; its id."""
        tree = {p: e for p, e in repo.tree(branch).items() if p not in set(delete)}
        for path, data in files.items():
            large = self.is_large(repo, path, len(data), data[:512])
            tree[path] = self.large(self.put(data)) if large else self.plain(data)
        return repo.add(tree, title, branch)

    def contents(self, repo: Repo, revision: str = "main") -> dict[str, bytes]:
        """path -> bytes of a revision, without the Hub's own ``.gitattributes``."""
        tree = repo.tree(revision)
        return {path: self.blobs[e.sha256] for path, e in tree.items() if path != ATTRIBUTES}
