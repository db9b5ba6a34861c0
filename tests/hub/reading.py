"""What is read: who asks, repositories, trees, refs, files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.hub.messages import Answer, Refusal, Request, find_repo, find_sha
from tests.hub.store import Entry, Store, blob_id


def whoami(store: Store, request: Request) -> Answer:
    """Who the token belongs to."""
    if request.role is None:
        raise Refusal(401, "Unauthorized", "Invalid username or password.")
    token = {"displayName": "test", "role": request.role}
    auth = {"type": "access_token", "accessToken": token}
    org = {"type": "org", "name": "org", "fullname": "Org", "roleInOrg": "admin"}
    who = {"type": "user", "id": "0", "name": "tester", "fullname": "Tester", "orgs": [org]}
    return Answer.of({**who, "auth": auth})


def info(store: Store, request: Request) -> Answer:
    """A repository, or one revision of it."""
    repo = find_repo(store, request)
    sha = find_sha(repo, request.parts.get("rev") or "main")
    siblings: list[dict[str, Any]] = [{"rfilename": path} for path in sorted(repo.commits[sha])]
    if request.flag("blobs"):
        for row in siblings:
            listed = _listed(row["rfilename"], repo.commits[sha][row["rfilename"]])
            row |= {"size": listed["size"], "blobId": listed["oid"]}
            if "lfs" in listed:
                row["lfs"] = {**listed["lfs"], "sha256": listed["lfs"]["oid"]}
    when = {"createdAt": "2026-01-01T00:00:00.000Z", "lastModified": "2026-01-01T00:00:00.000Z"}
    about = {"_id": "0", "id": repo.id, "author": repo.id.split("/")[0], "sha": sha, **when}
    state = {"private": repo.private, "gated": "auto" if repo.gated else False, "disabled": False}
    rest = {"tags": [], "downloads": 0, "likes": 0, "cardData": {}, "siblings": siblings}
    return Answer.of({**about, **state, **rest})


def _listed(path: str, entry: Entry) -> dict[str, Any]:
    row = {"type": "file", "path": path, "size": entry.size, "oid": entry.oid}
    if entry.lfs:
        row["lfs"] = {"oid": entry.sha256, "size": entry.size, "pointerSize": 134}
    return row


def _directory(path: str) -> dict[str, Any]:
    return {"type": "directory", "path": path, "size": 0, "oid": blob_id(path.encode())}


def tree(store: Store, request: Request) -> Answer:
    """Files and folders of a revision."""
    repo = find_repo(store, request)
    tree = repo.commits[find_sha(repo, request.parts["rev"])]
    top = unquote(request.parts.get("path") or "")
    rows = {row["path"]: row for row in _below(tree, top, request.flag("recursive"))}
    if top and not rows:
        raise Refusal(404, "EntryNotFound", f"{top} does not exist")
    return Answer.of(list(rows.values()))


def _below(tree: Mapping[str, Entry], top: str, deep: bool) -> Iterator[dict[str, Any]]:
    prefix = f"{top}/" if top else ""
    for path, entry in sorted(tree.items()):
        if path.startswith(prefix):
            names = path[len(prefix) :].split("/")
            for depth in range(1, len(names) if deep else min(2, len(names))):
                yield _directory(prefix + "/".join(names[:depth]))
            if deep or len(names) == 1:
                yield _listed(path, entry)


def paths_info(store: Store, request: Request) -> Answer:
    """Some of them."""
    repo = find_repo(store, request)
    tree = repo.commits[find_sha(repo, request.parts["rev"])]
    rows = []
    sent = request.json if request.body[:1] == b"{" else parse_qs(request.body.decode())
    for path in sent.get("paths", []):
        if path in tree:
            rows.append(_listed(path, tree[path]))
        elif any(known.startswith(f"{path}/") for known in tree):
            rows.append(_directory(path))
    return Answer.of(rows)


def refs(store: Store, request: Request) -> Answer:
    """Branches and tags."""
    repo = find_repo(store, request)
    rows = {
        name: [{"name": n, "ref": f"refs/{ref}/{n}", "targetCommit": c} for n, c in found.items()]
        for name, ref, found in (("branches", "heads", repo.branches), ("tags", "tags", repo.tags))
    }
    return Answer.of({**rows, "converts": [], "pullRequests": []})


def resolve(store: Store, request: Request) -> Answer:
    """A file's headers, bytes, or a range of them."""
    repo = find_repo(store, request)
    if repo.gated and request.role != "write":
        status = 401 if request.role is None else 403
        raise Refusal(status, "GatedRepo", "Access to this repository is restricted")
    sha = find_sha(repo, request.parts["rev"])
    headers = {"X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
    entry = repo.commits[sha].get(unquote(request.parts["path"]))
    if entry is None:
        raise Refusal(404, "EntryNotFound", "Entry not found", **headers)
    headers["ETag"] = f'"{entry.sha256 if entry.lfs else entry.oid}"'
    headers["Content-Type"] = "application/octet-stream"
    if entry.lfs:
        headers |= {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(entry.size)}
    data = store.blobs[entry.sha256]
    asked = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("Range") or "")
    if asked is None or not any(asked.groups()):
        return Answer(200, data, headers)
    first, last = asked.groups()
    start = int(first) if first else max(0, len(data) - int(last))
    end = min(int(last) if first and last else len(data) - 1, len(data) - 1)
    if start >= len(data):
        return Answer(416, b"", {**headers, "Content-Range": f"bytes */{len(data)}"})
    headers["Content-Range"] = f"bytes {start}-{end}/{len(data)}"
    return Answer(206, data[start : end + 1], headers)


def discussions(store: Store, request: Request) -> Answer:
    """The pull requests, all open, on one page."""
    repo = find_repo(store, request)
    found = [
        {
            "title": title,
            "num": number,
            "author": {"name": "tester"},
            "createdAt": "2027-01-01T00:00:00.000Z",
            "status": "open",
            "repo": {"name": repo.id, "type": repo.kind},
            "isPullRequest": True,
        }
        for number, title in enumerate(repo.requests, 1)
    ]
    return Answer.of({"discussions": found, "count": len(found), "start": 0})
