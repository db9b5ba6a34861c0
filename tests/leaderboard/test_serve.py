"""What the board as a server answers, and what it refuses; needs the extra ``leaderboard``."""

from __future__ import annotations

import http.client
import json
import socket
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faithshift_bench.detectors.registry import CONTROLS
from faithshift_bench.submission.send import ROUTE, request_of
from leaderboard.worker import SELF_TEST
from tests.leaderboard.crowd import made
from tests.leaderboard.hostile import CARD
from tests.leaderboard.served import PATIENCE, ask

pytest.importorskip("gradio", reason="pip install -e '.[leaderboard]' -c constraints.txt")


def test_files_and_lists(board):
    status, text = ask(f"{board.url}/board.csv")
    assert status == 200 and text.count(b"\n") == 1 + 13 + len(CONTROLS)
    records = json.loads(ask(f"{board.url}/board.json")[1])
    assert (
        records == pq.read_table(pa.BufferReader(ask(f"{board.url}/board.parquet")[1])).to_pylist()
    )
    entries = json.loads(ask(f"{board.url}/api/entries")[1])
    assert entries == board.store.entries()
    name = entries[0]["id"]
    assert json.loads(ask(f"{board.url}/api/entries/{name}")[1]) == entries[0]
    assert ask(f"{board.url}/api/entries/..%2f..%2fx")[0] == 404
    assert json.loads(ask(f"{board.url}/api/rejections")[1]) == []


@pytest.mark.parametrize(
    ("path", "body", "headers", "expected"),
    [
        (ROUTE, b"[", {}, 422),
        (ROUTE, b"x" * 300_000, {}, 422),
        (ROUTE, b"x", {"Content-Length": "209715200"}, 413),
        ("/gradio_api/upload", b"x", {"Content-Length": "209715200"}, 413),
        ("/gradio_api/queue/join", b"x", {"Content-Length": "300000"}, 413),
        (
            "/gradio_api/upload",
            b"garbage",
            {"Content-Type": "multipart/form-data; boundary=b"},
            400,
        ),
        ("/gradio_api/upload", b"--b\r\n\r\n", {"Content-Type": "multipart/form-data"}, 400),
    ],
)
def test_what_is_malformed_or_too_large_is_refused(board, path, body, headers, expected):
    status, said = ask(f"{board.url}{path}", body, **headers)
    assert status == expected and b"Traceback" not in said and len(said) < 300


def test_no_file_of_the_board_is_served(board):
    for path in (
        board.data / "manifest.json",
        board.store.folder / SELF_TEST,
        "leaderboard/store.py",
    ):
        assert ask(f"{board.url}/gradio_api/file={path}")[0] in (403, 404)


def test_twenty_at_once_are_all_taken_or_refused_in_one_line(board, tmp_path):
    """Sound statements of other data: each is refused, and nothing is stored."""
    packages = [made(k, tmp_path) for k in range(20)]
    bodies = [request_of(package, scores.read_bytes()) for package, scores in packages]
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda body: ask(f"{board.url}{ROUTE}", body), bodies))
    assert {status for status, _ in found} == {422}
    assert all("other data than this board ranks" in json.loads(said)["error"] for _, said in found)
    assert board.store.submissions() == []


def called(url: str, function: int, *data: object) -> str:
    """What a function of the pages answers to a request that no page would send."""
    body = {"fn_index": function, "data": data, "session_hash": f"s{function}{time.monotonic_ns()}"}
    headers = {"Content-Type": "application/json"}
    status, _ = ask(f"{url}/gradio_api/queue/join", json.dumps(body).encode(), **headers)
    assert status == 200
    return ask(f"{url}/gradio_api/queue/data?session_hash={body['session_hash']}")[1].decode()


def test_no_file_is_read_that_was_not_uploaded(board, tmp_path):
    """Neither its cells nor whether it is there come back, and nobody else's scores are taken."""
    config = json.loads(ask(f"{board.url}/config")[1])
    checks = [each["id"] for each in config["dependencies"] if len(each["inputs"]) == 3]
    assert len(checks) == 2
    (tmp_path / "s.csv").write_text("trace_id,score\nt,my secret value\n")
    for name in (tmp_path / "s.csv", tmp_path / "none.csv", board.data / "manifest.json"):
        file = {"path": str(name), "meta": {"_type": "gradio.FileData"}, "orig_name": "s.csv"}
        said = [called(board.url, check, file, CARD, False) for check in checks]
        assert all("Sound" not in each and "Received" not in each for each in said)
        assert all("secret" not in each and "No such file" not in each for each in said)
        assert all('"success":false' in each for each in said)


def test_a_body_in_chunks_is_refused_whatever_length_it_states(board):
    where = urllib.parse.urlsplit(board.url)
    for headers in ({}, {"Content-Length": "10"}):
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=PATIENCE)
        connection.putrequest("POST", ROUTE)
        for name, value in {**headers, "Transfer-Encoding": "chunked"}.items():
            connection.putheader(name, value)
        connection.endheaders(b"0\r\n\r\n")
        response = connection.getresponse()
        assert response.status in (400, 411) and b"Traceback" not in response.read()
        connection.close()


def test_slow_senders_do_not_hold_the_places_of_others(board):
    where, held = urllib.parse.urlsplit(board.url), []
    for _ in range(6):
        held.append(socket.create_connection((where.hostname, where.port), timeout=PATIENCE))
        held[-1].sendall(
            f"POST {ROUTE} HTTP/1.1\r\nHost: x\r\nContent-Length: 30000000\r\n\r\n[".encode()
        )
    status, said = ask(f"{board.url}{ROUTE}", b"[" * 300_000)
    assert status == 422 and b"not a submission" in said
    assert b" 408 " in held[0].recv(100)
    for each in held:
        each.close()
