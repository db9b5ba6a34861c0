"""What changes a repository: create, delete, upload, commit, tag, branch."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from urllib.parse import unquote

from tests.hub.messages import Answer, Refusal, Request, find_repo, find_sha, refuse_writer
from tests.hub.store import Store


def _named(request: Request) -> tuple[str, str]:
    asked = request.json
    owner = asked.get("organization") or "tester"
    return asked.get("type") or "model", f"{owner}/{asked['name']}"


def create(store: Store, request: Request) -> Answer:
    """A new repository."""
    if request.role != "write":
        refuse_writer(request)
    kind, name = _named(request)
    url = f"{request.base}{'' if kind == 'model' else f'/{kind}s'}/{name}"
    if (kind, name) in store.repos:
        return Answer.of({"error": f"You already created this {kind} repo", "url": url}, 409)
    if kind == "space" and not request.json.get("sdk"):
        raise Refusal(400, "BadRequest", "a Space needs an sdk")
    private = request.json.get("private") or request.json.get("visibility") == "private"
    store.create(kind, name, private=bool(private))
    return Answer.of({"url": url, "name": name, "id": "0"})


def delete(store: Store, request: Request) -> Answer:
    """A repository goes."""
    if request.role != "write":
        refuse_writer(request)
    if store.repos.pop(_named(request), None) is None:
        raise Refusal(404, "RepoNotFound", "Repository not found")
    return Answer.of({})


def validate_yaml(store: Store, request: Request) -> Answer:
    """Whether the front matter of a card is YAML."""
    import yaml

    front = re.match(r"---\n(.*?)^---$", request.json["content"], re.DOTALL | re.MULTILINE)
    try:
        if front is not None:
            yaml.safe_load(front[1])
    except yaml.YAMLError as error:
        return Answer.of({"errors": [{"message": str(error)}], "warnings": []}, 400)
    return Answer.of({"errors": [], "warnings": []})


def preupload(store: Store, request: Request) -> Answer:
    """Which files go to LFS, and what is there already."""
    repo = find_repo(store, request, write=True)
    tree = repo.commits[find_sha(repo, request.parts["rev"])]
    modes = []
    for file in request.json["files"]:
        path, sample = file["path"], base64.b64decode(file["sample"])
        large = store.is_large(repo, path, file["size"], sample)
        mode = {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False}
        if path in tree:
            mode["oid"] = tree[path].sha256 if tree[path].lfs else tree[path].oid
        modes.append(mode)
    return Answer.of({"files": modes})


def batch(store: Store, request: Request) -> Answer:
    """Where to upload LFS files that are not stored."""
    find_repo(store, request, write=True)
    objects = []
    for asked in request.json["objects"]:
        found = {"oid": asked["oid"], "size": asked["size"]}
        if asked["oid"] not in store.blobs:
            upload = {"href": f"{request.base}/_lfs/{asked['oid']}", "header": {}}
            verify = {"href": f"{request.base}/_lfs/verify", "header": {}}
            found["actions"] = {"upload": upload, "verify": verify}
        objects.append(found)
    return Answer.of({"transfer": "basic", "objects": objects})


def upload(store: Store, request: Request) -> Answer:
    """The bytes of an LFS file."""
    if hashlib.sha256(request.body).hexdigest() != request.parts["oid"]:
        raise Refusal(400, "BadDigest", "the bytes do not have this sha256")
    store.put(request.body)
    return Answer(headers={"ETag": f'"{request.parts["oid"]}"'})


def verify(store: Store, request: Request) -> Answer:
    """Whether an LFS file arrived."""
    asked = request.json
    if len(store.blobs.get(asked["oid"], b"")) != asked["size"]:
        raise Refusal(404, "NotFound", "no such object")
    return Answer.of({})


def commit(store: Store, request: Request) -> Answer:
    """All or nothing, on top of the parent that the client knows."""
    repo, branch = find_repo(store, request, write=True), unquote(request.parts["rev"])
    head = find_sha(repo, branch)
    asks = request.flag("create_pr")
    tree = dict(repo.commits[head])
    title = ""
    for line in request.body.decode().splitlines():
        key, value = (json.loads(line)[name] for name in ("key", "value"))
        if key == "header":
            title = value["summary"]
            if value.get("parentCommit") not in (None, head):
                message = "A commit has happened since. Please refresh and try again."
                raise Refusal(412, "PreconditionFailed", message)
        elif key == "file":
            assert value["encoding"] == "base64"
            tree[value["path"]] = store.plain(base64.b64decode(value["content"]))
        elif key == "lfsFile":
            if value["oid"] not in store.blobs:
                raise Refusal(400, "BadRequest", f"{value['path']}: its bytes are not here")
            tree[value["path"]] = store.large(value["oid"])
        elif key == "deletedFile":
            del tree[value["path"]]
        else:
            raise Refusal(400, "BadRequest", f"unknown operation {key}")
    if asks:
        repo.requests.append(title)
        branch = f"refs/pr/{len(repo.requests)}"
    sha = repo.add(tree, title, branch)
    home = f"{request.base}/{request.parts['kinds']}/{repo.id}"
    made = {"success": True, "commitOid": sha, "commitUrl": f"{home}/commit/{sha}"}
    if asks:
        made["pullRequestUrl"] = f"{home}/discussions/{len(repo.requests)}"
    return Answer.of(made | {"hookOutput": ""})


def tag(store: Store, request: Request) -> Answer:
    """A name for a commit; a name is given once."""
    repo, tag = find_repo(store, request, write=True), request.json["tag"]
    if tag in repo.tags:
        raise Refusal(409, "Conflict", f"Tag reference exists already: {tag}")
    repo.tags[tag] = find_sha(repo, request.parts["rev"])
    return Answer.of({})


def branch(store: Store, request: Request) -> Answer:
    """A new branch."""
    repo, name = find_repo(store, request, write=True), unquote(request.parts["rev"])
    if name in repo.branches:
        raise Refusal(409, "Conflict", f"Reference already exists: {name}")
    repo.branches[name] = find_sha(repo, (request.json or {}).get("startingPoint") or "main")
    return Answer.of({})
