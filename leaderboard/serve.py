"""The board as a server: the app's pages, the JSON interface, and the tables as files.

Import this module only to serve: it needs the extra ``leaderboard``.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

# Before gradio is imported: nothing of a visit is told to anybody.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

try:
    import gradio as gr
    import uvicorn
    from fastapi import FastAPI
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
except ImportError as error:
    raise ImportError("the app needs gradio: pip install 'faithshift[leaderboard]'") from error

from faithshift_bench.submission.bounds import MAX_BYTES
from faithshift_bench.submission.send import ROUTE
from leaderboard.api import ENTRIES, MAX_BODY, QUEUE, REJECTIONS, answer
from leaderboard.app import CSS, THEME, pages
from leaderboard.desk import Desk
from leaderboard.export import FILES
from leaderboard.worker import Worker

UPLOAD = "/gradio_api/upload"
# A form around an upload, or what any other request may hold: a card, at most.
SMALL = 256 * 1024
LIMITS = {UPLOAD: MAX_BYTES + SMALL, ROUTE: MAX_BODY}
# Bodies larger than a small one, in memory at once. A sender has some seconds before it has to keep
# to a pace (bytes a second), so that a few slow ones do not hold all places.
LARGE_AT_ONCE, GRACE, PACE = 4, 10.0, 64 * 1024
# The page may ask this server, and nobody else.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
LOGIN = "this board takes submissions of people who are logged in, on its page"


class Gate:
    """Refuses bodies that are too large before a byte of them is read; adds ``HEADERS``."""

    def __init__(self, app: Any) -> None:
        """Stand before an ASGI application."""
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, or let the application do so."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def guarded(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                added = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        refusal = _refusal(scope["method"], scope["path"], dict(scope["headers"]))
        return await (refusal or self._app)(scope, receive, guarded)


def _refusal(method: str, path: str, headers: Mapping[bytes, bytes]) -> JSONResponse | None:
    if method in ("GET", "HEAD", "OPTIONS"):
        return None
    length, most = headers.get(b"content-length", b"-"), LIMITS.get(path, SMALL)
    # Of a body in chunks, the length that stands beside them means nothing.
    if not length.isdigit() or b"transfer-encoding" in headers:
        return JSONResponse({"error": "how long is it? (no Content-Length, or in chunks)"}, 411)
    if int(length) > most:
        return JSONResponse({"error": f"too large (expected {most} bytes at most)"}, 413)
    return None


async def _body(request: Request) -> bytes:
    """What a client sends.

    Raises:
        TimeoutError: it comes too slowly.
    """
    body, graced = bytearray(), asyncio.get_running_loop().time() + GRACE
    async with asyncio.timeout_at(graced) as limit:
        async for part in request.stream():
            body += part
            limit.reschedule(graced + len(body) / PACE)
    return bytes(body)


def application(desk: Desk, *, login: bool = False) -> FastAPI:
    """Everything that is served.

    Args:
        desk: takes submissions.
        login: only people who are logged in with the Hub may submit; on a Space.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    large = asyncio.Semaphore(LARGE_AT_ONCE)
    boards = frozenset({desk.board.hash})

    async def tell(request: Request) -> Response:
        told = (desk.store, boards, "GET", request.url.path)
        status, said = await run_in_threadpool(answer, *told)
        return JSONResponse(said, status)

    async def take(request: Request) -> Response:
        if login:
            return JSONResponse({"error": LOGIN}, 401)
        if int(request.headers["content-length"]) <= SMALL:
            return await take_now(request)
        async with large:
            return await take_now(request)

    async def take_now(request: Request) -> Response:
        try:
            body = await _body(request)
        except TimeoutError:
            return JSONResponse({"error": "the body did not come in time"}, 408)
        told = (desk.store, boards, "POST", ROUTE, body, None, desk.keep)
        status, said = await run_in_threadpool(answer, *told)
        if status in (200, 201):
            desk.wake()
        return JSONResponse(said, status)

    async def file(request: Request) -> Response:
        kind, make = FILES[request.url.path[1:]]
        made = await run_in_threadpool(lambda: make(desk.store.entries()))
        return Response(made, media_type=kind)

    app.add_route(ROUTE, take, ["POST"])
    for path in (f"{ROUTE}/{{name}}", ENTRIES, f"{ENTRIES}/{{name}}", QUEUE, REJECTIONS):
        app.add_route(path, tell, ["GET"])
    for name in FILES:
        app.add_route(f"/{name}", file, ["GET"])
    app.add_middleware(Gate)
    return gr.mount_gradio_app(
        app,
        pages(desk, login=login),
        path="/",
        max_file_size=MAX_BYTES,
        show_error=False,
        footer_links=[],
        theme=THEME,
        css=CSS,
    )


def serve(desk: Desk, worker: Worker, host: str, port: int, *, login: bool = False) -> None:
    """Serve until a signal comes; the address goes to stdout. Port 0 is any that is free."""
    with (
        tempfile.TemporaryDirectory(prefix="board-") as uploads,
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening,
    ):
        # Nobody else on this machine reads what is uploaded, and nothing of it is left.
        os.environ["GRADIO_TEMP_DIR"] = uploads
        app = application(desk, login=login)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        # From now on whoever comes waits, and is not refused.
        listening.listen()
        print(f"http://{host}:{listening.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)
        worker.start()
        try:
            uvicorn.Server(config).run([listening])
        finally:
            worker.stop()
            sys.stdout.flush()
