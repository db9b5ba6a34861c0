"""A Hub on the loopback device: an HTTP server that knows the clients' endpoints and no others."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.hub.faults import Fault, Faults
from tests.hub.messages import Answer, Refusal, Request
from tests.hub.routes import ROUTES, find_route
from tests.hub.store import Store

TOKEN = "hf_loopbackWriterDoNotPrint"
READER = "hf_loopbackReaderDoNotPrint"


@dataclass(frozen=True)
class Seen:
    """A request that came, the status of its answer (0: none was given), bytes in its body."""

    route: str | None
    method: str
    path: str
    status: int
    authorized: bool
    size: int = 0


class LoopbackHub:
    """The server, what it keeps, the faults planted in it, and the requests it saw.

    Use it as a context manager. A request for an unknown endpoint is answered with 404, and the
    end of the context fails with a list of them.
    """

    def __init__(self) -> None:
        """An empty Hub; it starts with the context."""
        self.roles: dict[str, str] = {TOKEN: "write", READER: "read"}
        self.reset()
        self.lock = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    def reset(self) -> None:
        """Forget repositories, faults and requests."""
        self.store, self.faults = Store(), Faults()
        self.seen: list[Seen] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def unknown(self) -> list[str]:
        """Requests for endpoints that it does not have."""
        return [f"{seen.method} {seen.path}" for seen in self.seen if seen.route is None]

    def env(self, home: object, token: str | None = TOKEN) -> dict[str, str]:
        """Variables of a process whose clients are to talk to it; they are read at import.

        Args:
            home: the clients' cache, an empty folder.
            token: the user's; None: not logged in.
        """
        found = {"HF_ENDPOINT": self.url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"}
        for name in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE", "HF_DATASETS_OFFLINE"):
            found[name] = "0"
        for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS"):
            found[name] = "1"
        found["HF_UPDATE_DOWNLOAD_COUNTS"] = "0"
        found["HF_TOKEN"] = token or ""
        return found

    def fail(self, route: str, how: str = "status", **options: Any) -> Fault:
        """Plant a fault; see :class:`Fault`."""
        assert route in ROUTES, route
        return self.faults.plant(Fault(route, how, **options))

    def calls(self, since: int = 0) -> Counter[str | None]:
        """How often each route was asked for, from the request of that number on."""
        return Counter(seen.route for seen in self.seen[since:])

    def intrude(self, kind: str, name: str) -> None:
        """Let somebody else commit to main."""
        repo = self.store.repos[kind, name]
        self.store.commit(repo, {"theirs.txt": b"%d" % len(repo.commits)})

    def __enter__(self) -> Self:
        """Start to listen."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop, and fail if something unknown was asked for."""
        self._server.shutdown()
        self._server.server_close()
        assert error is not None or not self.unknown, self.unknown


def _handler(hub: LoopbackHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer goes out in two writes, and Nagle's algorithm would hold the second back.
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on stderr; the hub keeps what it saw."""

        def serve(self) -> None:
            found = find_route(self.command, urlsplit(self.path).path)
            fault = hub.faults.take(found[0]) if found else None
            how = fault.how if fault else None
            if how == "half" and self.command in ("PUT", "POST"):
                self.rfile.read(int(self.headers.get("Content-Length") or 2) // 2)
                return self.hang_up(found)
            body = self.read_body()
            if how == "drop":
                return self.hang_up(found)
            answer = self.answer(found, body, fault)
            if how == "lose":
                return self.hang_up(found)
            if how == "corrupt":
                body = answer.body[:-1] + bytes([answer.body[-1] ^ 1])
                answer = replace(answer, body=body)
            self.send(found, answer, half=how == "half")

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = serve

        def answer(self, found: Any, body: bytes, fault: Fault | None) -> Answer:
            if found is None:
                return Refusal(404, "NoSuchEndpoint", f"no endpoint {self.path}").answer()
            if fault is not None and fault.how == "status":
                refusal = Refusal(fault.status, "Planted", fault.message, **fault.headers)
                return refusal.answer()
            name, parts = found
            route: Callable[[Store, Request], Answer] = ROUTES[name][2]
            try:
                role = self.role()
                query = parse_qs(urlsplit(self.path).query)
                request = Request(hub.url, query, self.headers, parts, body, role)
                with hub.lock:
                    if fault is not None and fault.how == "intrude":
                        hub.intrude(parts.get("kinds", "models").removesuffix("s"), parts["id"])
                    return route(hub.store, request)
            except Refusal as refusal:
                return refusal.answer()

        def role(self) -> str | None:
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            if token and token not in hub.roles:
                raise Refusal(401, "Unauthorized", "Invalid credentials in Authorization header")
            return hub.roles.get(token)

        def read_body(self) -> bytes:
            if "chunked" not in (self.headers.get("Transfer-Encoding") or "").lower():
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def send(self, found: Any, answer: Answer, *, half: bool) -> None:
            self.note(found, answer.status, 0 if self.command == "HEAD" else len(answer.body))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body[: len(answer.body) // 2] if half else answer.body)
            if half:
                self.close()

        def hang_up(self, found: Any) -> None:
            self.note(found, 0)
            self.close()

        def close(self) -> None:
            self.close_connection = True
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)

        def note(self, found: Any, status: int, size: int = 0) -> None:
            signed = "Authorization" in self.headers
            route = found[0] if found else None
            hub.seen.append(Seen(route, self.command, self.path, status, signed, size))

    return Handler
