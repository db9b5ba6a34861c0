"""Where a package goes: a folder, a board's HTTP interface, or a pull request on the Hub."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from faithshift_bench.submission.package import STATEMENT, Package, write_package
from faithshift_data.atomic import canonical_json
from faithshift_data.errors import InputError, reason_of
from faithshift_data.hub import LOGIN, NAME

HUB = "hub:"
ROUTE = "/api/submissions"
FOLDER = "submissions"
SECONDS = 60
MOST_ANSWER = 64 * 1024
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Sent(NamedTuple):
    """Where a package lies now, and whether it came just now."""

    place: str
    new: bool


def send(package: Package, scores: Path, to: str) -> Sent:
    """Send a package; once more changes nothing.

    Args:
        package: checked by :func:`~faithshift_bench.submission.validate`.
        scores: its file.
        to: a folder, ``https://...`` of a board, or ``hub:ORG/NAME``, a dataset repository.

    Raises:
        InputError: one line, where the place refuses it or cannot be reached.
    """
    if not to.strip():
        expected = "a folder, https://... of a board, or hub:ORG/NAME"
        raise InputError("no place", field="--to", expected=expected, got="nothing")
    if to.startswith(HUB):
        return _to_hub(package, scores, to.removeprefix(HUB))
    if "://" in to:
        return _to_board(package, scores, to)
    folder = Path(to)
    new = not (folder / package.id).exists()
    return Sent(str(write_package(package, scores, folder)), new)


def request_of(package: Package, scores: bytes) -> bytes:
    """The body that a board takes: the statement, and the scores in base 64."""
    body = {"statement": package.statement(), "scores": base64.b64encode(scores).decode()}
    return json.dumps(body, sort_keys=True).encode()


def _to_board(package: Package, scores: Path, to: str) -> Sent:
    parts = urlsplit(to)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise InputError("not an address of a board", field="--to", expected="https://", got=to)
    address = to.rstrip("/") + ROUTE
    headers = {"Content-Type": "application/json"}
    body = request_of(package, scores.read_bytes())
    request = urllib.request.Request(address, body, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            answer = _answer(response.read(MOST_ANSWER))
    except urllib.error.HTTPError as error:
        said = _answer(error.read(MOST_ANSWER)).get("error")
        message = said if isinstance(said, str) else f"the board answered {error.code}"
        raise InputError(message, file=address) from None
    except (OSError, HTTPException) as error:
        raise InputError(f"no answer: {reason_of(error)}", file=address) from None
    if answer.get("id") != package.id:
        raise InputError("not the answer of a board", file=address, expected=package.id)
    return Sent(f"{address}/{package.id}", answer.get("new") is True)


def _answer(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _to_hub(package: Package, scores: Path, name: str) -> Sent:
    if not NAME.fullmatch(name) or "@" in name:
        raise InputError("not a repository", field="--to", expected="hub:ORG/NAME", got=name)
    from huggingface_hub import CommitOperationAdd, HfApi

    api = HfApi()
    place: dict[str, Any] = {"repo_id": name, "repo_type": "dataset"}
    folder, title = f"{FOLDER}/{package.id}", f"Submission {package.id}"
    additions = [
        CommitOperationAdd(f"{folder}/{STATEMENT}", canonical_json(package.statement()).encode()),
        CommitOperationAdd(f"{folder}/{package.file}", scores.read_bytes()),
    ]
    try:
        if api.file_exists(filename=f"{folder}/{STATEMENT}", **place):
            return Sent(f"{name}/{folder}", new=False)
        for found in api.get_repo_discussions(discussion_type="pull_request", **place):
            if found.title == title and found.status in ("open", "draft"):
                return Sent(found.url, new=False)
        said = f"{package.card.name}, {package.card.revision}"
        made = api.create_commit(
            operations=additions,
            commit_message=title,
            commit_description=said,
            create_pr=True,
            **place,
        )
    # The client's errors share no base class, and quote requests.
    except Exception as error:  # noqa: BLE001
        status = getattr(getattr(error, "response", None), "status_code", None)
        told = f"the Hub answered {status}" if status else f"no answer ({type(error).__name__})"
        help_ = f"; {LOGIN}" if status in (401, 403, 404) else ""
        raise InputError(f"cannot be sent: {told}{help_}", file=name) from None
    return Sent(str(made.pr_url), new=True)
