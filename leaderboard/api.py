"""The board's JSON interface: a function of the request alone, so that any server can carry it.

``POST /api/submissions`` and ``GET /api/submissions/<id>`` take submissions; ``GET`` of
``/api/entries``, ``/api/entries/<id>``, ``/api/queue`` and ``/api/rejections`` says what came of
them.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faithshift_bench.submission.bounds import MAX_BYTES
from faithshift_bench.submission.package import MAX_STATEMENT, check_statement
from faithshift_bench.submission.send import ROUTE
from faithshift_data.errors import InputError
from leaderboard.store import Store

# The scores in base 64, the statement, and what JSON puts around them.
MAX_BODY = MAX_BYTES * 4 // 3 + MAX_STATEMENT + 1024
ENTRIES, QUEUE, REJECTIONS = "/api/entries", "/api/queue", "/api/rejections"
Answer = tuple[int, Any]


def nothing() -> None:
    """What a board with a disk of its own does to keep a submission: it lies there already."""


def answer(
    store: Store,
    boards: frozenset[str],
    method: str,
    path: str,
    body: bytes = b"",
    submitter: str | None = None,
    keep: Callable[[], None] = nothing,
) -> Answer:
    """Status and JSON; an error is one line under ``error``.

    Args:
        store: of the board.
        boards: hashes of the data that it ranks.
        method: GET or POST.
        path: without its query.
        body: at most ``MAX_BODY`` bytes; a server reads no more.
        submitter: who asks, where the server knows; else the card's contact.
        keep: puts what the store holds where a lost disk does not reach it, before a submission
            is acknowledged; where it raises InputError, none is (503), and the sender tries again.
    """
    try:
        if method == "POST" and path == ROUTE:
            return _take(store, boards, body, submitter, keep)
        if method == "GET":
            return _tell(store, path)
    except InputError as error:
        return 422, {"error": str(error)}
    return 404, {"error": "no such address"}


def _take(
    store: Store,
    boards: frozenset[str],
    body: bytes,
    submitter: str | None,
    keep: Callable[[], None],
) -> Answer:
    if len(body) > MAX_BODY:
        raise InputError("too large", file="body", expected=f"{MAX_BODY} bytes at most")
    try:
        value = json.loads(body)
        statement, text = value["statement"], value["scores"]
        scores = base64.b64decode(text, validate=True)
    except (ValueError, KeyError, TypeError, RecursionError):
        expected = "JSON with a statement, and scores in base 64"
        raise InputError("not a submission", file="body", expected=expected) from None
    package = check_statement(statement)
    if package.data["hash"] not in boards:
        message = "scores of other data than this board ranks"
        raise InputError(message, field="data", got=package.data["name"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / package.file
        file.write_bytes(scores)
        receipt = store.receive(package, file, submitter=submitter)
    try:
        keep()
    except InputError as error:
        return 503, {"error": f"not kept yet, so send it again: {error}"}
    return (201 if receipt.new else 200), {**receipt._asdict(), "state": store.state(receipt.id)}


def _tell(store: Store, path: str) -> Answer:
    if path.startswith(f"{ROUTE}/"):
        name = path.removeprefix(f"{ROUTE}/")
        state = store.state(name)
        return (404 if state == "unknown" else 200), {"id": name, "state": state}
    if path.startswith(f"{ENTRIES}/"):
        name = path.removeprefix(f"{ENTRIES}/")
        found = next((e for e in store.entries() if e["id"] == name), None)
        return (200, found) if found else (404, {"error": "no such entry"})
    lists = {ENTRIES: store.entries, QUEUE: store.queue, REJECTIONS: store.rejections}
    return (200, lists[path]()) if path in lists else (404, {"error": "no such address"})
