"""What the board answers to ``POST /api/submissions`` and ``GET /api/submissions/<id>``.

A function of the request alone, so that any server can carry it.
"""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

from faithshift_bench.submission.bounds import MAX_BYTES
from faithshift_bench.submission.package import MAX_STATEMENT, check_statement
from faithshift_bench.submission.send import ROUTE
from faithshift_data.errors import InputError
from leaderboard.store import Store

# The scores in base 64, the statement, and what JSON puts around them.
MAX_BODY = MAX_BYTES * 4 // 3 + MAX_STATEMENT + 1024
Answer = tuple[int, dict[str, Any]]


def answer(
    store: Store,
    boards: frozenset[str],
    method: str,
    path: str,
    body: bytes = b"",
    submitter: str | None = None,
) -> Answer:
    """Status and JSON; an error is one line under ``error``.

    Args:
        store: of the board.
        boards: hashes of the data that it ranks.
        method: GET or POST.
        path: without its query.
        body: at most ``MAX_BODY`` bytes; a server reads no more.
        submitter: who asks, where the server knows; else the card's contact.
    """
    try:
        if method == "POST" and path == ROUTE:
            return _take(store, boards, body, submitter)
        if method == "GET" and path.startswith(f"{ROUTE}/"):
            name = path.removeprefix(f"{ROUTE}/")
            state = store.state(name)
            return (404 if state == "unknown" else 200), {"id": name, "state": state}
    except InputError as error:
        return 422, {"error": str(error)}
    return 404, {"error": "no such address"}


def _take(store: Store, boards: frozenset[str], body: bytes, submitter: str | None) -> Answer:
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
    return (201 if receipt.new else 200), {**receipt._asdict(), "state": store.state(receipt.id)}
