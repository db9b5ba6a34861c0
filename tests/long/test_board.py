"""The board under many clients and kills, over HTTP too, and with a thousand entries.

One kill here; ``FAITHSHIFT_LONG=1`` has more.
"""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from faithshift_bench.submission.send import ROUTE, request_of
from leaderboard.api import answer
from leaderboard.export import board_csv
from leaderboard.page import render
from leaderboard.store import Store
from tests.leaderboard.crowd import FREE, made
from tests.leaderboard.test_page import entry
from tests.leaderboard.test_store import check_crowd

FULL = os.environ.get("FAITHSHIFT_LONG") == "1"
ROOT = Path(__file__).parent.parent.parent
CLIENTS = 50


def serve(folder: str) -> None:
    """A board behind HTTP until it is killed; prints its port."""
    store = Store(Path(folder), FREE)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format, *args):
            pass

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, said = answer(store, frozenset({"0" * 64}), "POST", self.path, body)
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    class Server(ThreadingHTTPServer):
        request_queue_size = 2 * CLIENTS

    with Server(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


def start(folder: Path) -> tuple[subprocess.Popen, int]:
    argv = [sys.executable, "-m", "tests.long.test_board", str(folder)]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


def post(port: int, body: bytes) -> dict | None:
    """What the board acknowledged; None: no answer came."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", ROUTE, body)
        response = connection.getresponse()
        said = json.loads(response.read())
        assert response.status in (200, 201), said
        return said
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.skipif(not FULL, reason="FAITHSHIFT_LONG=1; tests/leaderboard kills once")
def test_kills_of_writing_processes(tmp_path):
    check_crowd(tmp_path, clients=CLIENTS, each=20, kills=10)


@pytest.mark.slow
def test_fifty_clients_and_a_server_that_is_killed(tmp_path):
    """Clients send until they have an acknowledgement, as people would, across restarts."""
    each, kills = (10, 5) if FULL else (3, 1)
    packages = [made(k, tmp_path) for k in range(CLIENTS * each)]
    bodies = [request_of(package, scores.read_bytes()) for package, scores in packages]
    process, port = start(tmp_path / "store")
    place, acknowledged, lock = {"port": port}, [], threading.Lock()

    def client(number: int) -> None:
        for body in bodies[number::CLIENTS]:
            while (said := post(place["port"], body)) is None:
                time.sleep(0.05)
            with lock:
                acknowledged.append((said["id"], said["new"]))

    with ThreadPoolExecutor(CLIENTS) as pool:
        waits = [pool.submit(client, number) for number in range(CLIENTS)]
        for kill in range(1, kills + 1):
            while len(acknowledged) < kill * len(bodies) // (kills + 1):
                time.sleep(0.01)
            process.kill()
            process.wait()
            there = set(Store(tmp_path / "store", FREE).submissions())
            assert {name for name, _ in acknowledged} <= there
            process, place["port"] = start(tmp_path / "store")
        for wait in waits:
            wait.result()
    process.kill()
    process.wait()
    store = Store(tmp_path / "store", FREE)
    assert sorted(store.queue()) == sorted({package.id for package, _ in packages})
    assert sorted(name for name, _ in acknowledged) == sorted(store.queue())


def test_a_thousand_entries_are_a_page_within_seconds(tmp_path):
    entries = [entry(k, mfs=k / 1000, span=(k / 1000, k / 1000 + 0.05)) for k in range(1000)]
    start_ = time.process_time()
    page = render(entries)
    assert page.count("<tr") == 3 * 1001 and board_csv(entries).count("\n") == 1001
    assert time.process_time() - start_ < 10


if __name__ == "__main__":
    serve(sys.argv[1])
