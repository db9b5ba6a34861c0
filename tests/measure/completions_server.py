"""A server on loopback that speaks the completions protocol; a script says what it answers."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]
Script = Callable[[Request], "str | Fault | Raw | dict[str, Any]"]


class Fault:
    """An HTTP status instead of a completion, with what the server says of it."""

    def __init__(self, status: int, message: str = "no", headers: dict[str, str] | None = None):
        self.status, self.message, self.headers = status, message, headers or {}


class Raw:
    """Bytes instead of JSON; ``hang`` waits before them, ``drip`` before each of them."""

    def __init__(
        self,
        body: bytes = b"",
        *,
        kind: str = "application/json",
        hang: float = 0.0,
        drip: float = 0.0,
    ):
        self.body, self.kind, self.hang, self.drip = body, kind, hang, drip


def words(text: str) -> list[str]:
    """Tokens of the scripted server: they join to the text."""
    return re.findall(r"\s*[^\s]+|\s+\Z", text)


class Server:
    """What it was asked, and where it is."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Request] = []
        self.most_at_once = 0


def obedient(prompt: str) -> str:
    """A model that goes on with the last option it read of, or else always with the first."""
    letters = re.findall(r"must be \((\w)\)", prompt)
    return f"{letters[-1] if letters else 'A'}).\nThat is all."


@contextmanager
def serving(script: Script, *, begins: list[str] | None = None, echoes: bool = True):
    """Run the script as a server; ``begins`` are tokens it puts before every prompt."""
    lock, under_way = threading.Lock(), [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked = {**json.loads(body), "_authorization": self.headers.get("Authorization")}
            with lock:
                server.asked.append(asked)
                under_way[0] += 1
                server.most_at_once = max(server.most_at_once, under_way[0])
            try:
                said = script(asked)
                if isinstance(said, Raw) and said.hang:
                    threading.Event().wait(said.hang)
                self._send(asked, said)
            except (BrokenPipeError, ConnectionResetError):
                pass
            finally:
                with lock:
                    under_way[0] -= 1

        def _send(self, asked: Request, said: Any) -> None:
            status, kind, headers = 200, "application/json", {}
            if isinstance(said, Fault):
                status, headers = said.status, said.headers
                content = json.dumps({"error": {"message": said.message, "code": status}}).encode()
            elif isinstance(said, Raw):
                content, kind = said.body, said.kind
            else:
                said = said if isinstance(said, dict) else {"text": said}
                content = json.dumps(completion(asked, said, begins or [], echoes)).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            step = 1 if getattr(said, "drip", 0.0) else max(len(content), 1)
            for start in range(0, len(content), step):
                self.wfile.write(content[start : start + step])
                self.wfile.flush()
                threading.Event().wait(getattr(said, "drip", 0.0))

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        server = Server(f"http://127.0.0.1:{listening.server_address[1]}/v1")
        thread = threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()


def completion(asked: Request, said: dict[str, Any], begins: list[str], echoes: bool) -> Any:
    """A reply in the protocol's shape; it stops at the request's stop strings, wherever."""
    text, finish = said["text"], said.get("finish", "stop")
    stops = [text.index(stop) for stop in asked.get("stop") or () if stop in text]
    if stops:
        text, finish = text[: min(stops)], "stop"
    read = said.get("read", asked["prompt"])
    tokens = [*begins, *words(read)]
    logprobs = None
    if asked.get("echo") and echoes:
        text = read + text
        logprobs = {"tokens": [*tokens, "x"], "token_logprobs": [], "text_offset": []}
    return {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 0,
        "model": asked["model"],
        "choices": [{"index": 0, "text": text, "finish_reason": finish, "logprobs": logprobs}],
        "usage": {
            "prompt_tokens": len(tokens),
            "completion_tokens": len(words(text)),
            "total_tokens": 0,
        },
    }


def failing_first(times: int, fault: Any, then: Script) -> Script:
    """A script that fails so many times, and then answers."""
    left: Iterator[int] = iter(range(times))
    return lambda asked: fault if next(left, None) is not None else then(asked)
