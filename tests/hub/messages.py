"""A request and an answer, and the refusals by which clients tell errors apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tests.hub.store import Repo, Store


@dataclass(frozen=True)
class Request:
    """A request whose route is known."""

    base: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    parts: Mapping[str, str]
    body: bytes
    role: str | None

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body or b"null")

    def flag(self, name: str) -> bool:
        """Whether a query parameter is true."""
        return self.query.get(name, [""])[0].lower() in ("true", "1")


@dataclass(frozen=True)
class Answer:
    """Status, headers and body."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: object, status: int = 200, **headers: str) -> Answer:
        """A JSON answer."""
        made = {"Content-Type": "application/json", **headers}
        return cls(status, json.dumps(value).encode(), made)


class Refusal(Exception):
    """An answer of 400 or more, with the headers by which the client tells errors apart."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        """Keep what the answer needs."""
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers

    def answer(self) -> Answer:
        """The answer."""
        named = {"X-Error-Code": self.code, "X-Error-Message": self.message}
        return Answer.of({"error": self.message}, self.status, **named, **self.headers)


def find_repo(store: Store, request: Request, *, write: bool = False) -> Repo:
    """The repository of a request, if its sender may read it, or write to it."""
    kind = request.parts.get("kinds") or "models"
    repo = store.repos.get((kind.removesuffix("s"), unquote(request.parts["id"])))
    if repo is None or (repo.private and request.role is None):
        status = 401 if request.role is None else 404
        raise Refusal(status, "RepoNotFound", "Repository not found")
    if write and request.role != "write":
        refuse_writer(request)
    return repo


def refuse_writer(request: Request) -> None:
    """Say why the sender may not write."""
    if request.role is None:
        raise Refusal(401, "Unauthorized", "Invalid username or password.")
    raise Refusal(403, "Forbidden", "You do not have the rights to write here")


def find_sha(repo: Repo, revision: str) -> str:
    """The commit of a revision as it stands in a path."""
    sha = repo.sha(unquote(revision))
    if sha is None:
        raise Refusal(404, "RevisionNotFound", f"Invalid rev id: {unquote(revision)}")
    return sha
