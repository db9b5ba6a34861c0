"""``faithshift submit``: checked as the board does, and sent to a folder, a board, or the Hub."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faithshift_data as fd
from faithshift_bench.submission import read_package, validate
from faithshift_bench.submission.card import check_card
from faithshift_bench.submission.package import about_data
from leaderboard.api import MAX_BODY, answer
from leaderboard.store import Store
from tests.leaderboard.crowd import FREE
from tests.leaderboard.hostile import CARD, _card


@pytest.fixture
def made(synthetic, tmp_path):
    """Scores that are right about most labels, two seeds, and a card."""
    rows = fd.open(synthetic).table("traces").select(["trace_id", "split", "label"]).to_pylist()
    rows = [row for row in rows if row["split"] != "train"]
    score = [0.9 if row["label"] else 0.2 for row in rows]
    table = {
        "trace_id": [row["trace_id"] for row in rows] * 2,
        "seed": np.repeat([0, 3], len(rows)),
        "score": score * 2,
    }
    scores, card = tmp_path / "scores.parquet", tmp_path / "card.toml"
    pq.write_table(pa.table(table), scores)
    card.write_text(CARD)
    return scores, card


def submit(run, made, synthetic, *more):
    return run("submit", made[0], "--card", made[1], "--data", synthetic, *more)


def test_to_a_folder_twice(run, made, synthetic, tmp_path):
    status, out, err = submit(run, made, synthetic, "--to", tmp_path / "box")
    assert status == 0, err
    name = out.strip()
    assert "2 seeds; AUROC on validation 1.000" in err and "sent: " in err
    package = read_package(tmp_path / "box" / name)
    assert package.card.name == "mine" and package.data["name"] == "synthetic"
    status, out, err = submit(run, made, synthetic, "--to", tmp_path / "box", "--json")
    said = json.loads(out)
    assert status == 0 and said["id"] == name and said["new"] is False and said["seeds"] == [0, 3]
    assert len(list((tmp_path / "box").iterdir())) == 1


def test_without_a_place_it_only_checks(run, made, synthetic, tmp_path):
    before = sorted(tmp_path.iterdir())
    status, out, err = submit(run, made, synthetic)
    assert status == 0 and "sound; not sent" in err and len(out.strip()) == 64
    assert sorted(tmp_path.iterdir()) == before


def test_the_id_follows_the_content(run, made, synthetic, tmp_path):
    _, first, _ = submit(run, made, synthetic)
    made[0].rename(tmp_path / "other.parquet")
    _, renamed, _ = run(
        "submit", tmp_path / "other.parquet", "--card", made[1], "--data", synthetic
    )
    made[1].write_text(CARD.replace("v1", "v2"))
    _, card, _ = run("submit", tmp_path / "other.parquet", "--card", made[1], "--data", synthetic)
    assert first == renamed != card


def test_scores_of_the_other_direction(run, made, synthetic):
    table = pq.read_table(made[0])
    turned = pa.array([1 - value for value in table["score"].to_pylist()])
    pq.write_table(table.set_column(2, "score", turned), made[0])
    status, out, err = submit(run, made, synthetic)
    assert status == 1 and not out and "--i-mean-it" in err and "got 0.000" in err
    status, out, err = submit(run, made, synthetic, "--i-mean-it")
    assert status == 0 and "AUROC on validation 0.000" in err


def test_a_declaration_is_said(run, made, synthetic):
    made[1].write_text(CARD.replace("asks_models = false", "asks_models = true"))
    assert "declared, so ranked among its like: asks_models" in submit(run, made, synthetic)[2]


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("http://example.org", "--to: not an address of a board .expected https://"),
        ("ftp://127.0.0.1/x", "not an address"),
        ("hub:nothing", "--to: not a repository"),
        ("hub:org/name@main", "--to: not a repository"),
        ("http://127.0.0.1:9", "no answer"),
        ("", "--to: no place .expected a folder"),
        (" ", "--to: no place"),
    ],
)
def test_a_place_that_is_none(run, made, synthetic, tmp_path, monkeypatch, to, message):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    status, out, err = submit(run, made, synthetic, "--to", to)
    assert status == 1 and not out and err.count("\n") == 1
    assert re.search(message, err) and sorted(tmp_path.iterdir()) == before


def test_the_folder_one_stands_in_has_a_name(run, made, synthetic, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for scores, card, message in (
        (".", made[1], ".: unknown kind of file (expected .parquet"),
        (made[0], ".", ".: not a plain file (expected a file, got a folder)"),
    ):
        status, out, err = run("submit", scores, "--card", card, "--data", synthetic)
        assert status == 1 and not out and err.startswith(f"faithshift: {message}")


@pytest.fixture
def server(synthetic, tmp_path):
    """A board behind HTTP: its address, its store, and what else it should answer."""
    store, odd = Store(tmp_path / "store", FREE), []
    hashes = frozenset({about_data(fd.open(synthetic))["hash"]})

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format, *args):
            pass

        def do(self):
            size = int(self.headers.get("Content-Length") or 0)
            assert size <= MAX_BODY and "Authorization" not in self.headers
            status, said = answer(store, hashes, self.command, self.path, self.rfile.read(size))
            body = odd[0] if odd else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{found.server_address[1]}", store, odd
        found.shutdown()


def test_to_a_board(run, made, synthetic, server):
    address, store, odd = server
    status, out, err = submit(run, made, synthetic, "--to", address)
    name = out.strip()
    assert status == 0 and store.queue() == [name], err
    assert f"sent: {address}/api/submissions/{name}" in err
    assert "was there before" in submit(run, made, synthetic, "--to", f"{address}/")[2]
    assert (store.path(name) / "scores.parquet").read_bytes() == made[0].read_bytes()
    for path, expected in ((name, (200, "waiting")), ("0" * 64, (404, "unknown"))):
        status, said = answer(store, frozenset(), "GET", f"/api/submissions/{path}")
        assert (status, said["state"]) == expected
    assert answer(store, frozenset(), "GET", "/api/submissions/../x")[0] == 422
    assert answer(store, frozenset(), "DELETE", "/api/submissions")[0] == 404


def test_a_boards_refusal_is_one_line(run, made, synthetic, server, tmp_path):
    address, store, _ = server
    other = tmp_path / "other"
    shutil.copytree(synthetic, other)
    manifest = json.loads((other / "manifest.json").read_text())
    # The same traces, and one file more: other data.
    (other / "extra.txt").write_text("x")
    found = hashlib.sha256(b"x").hexdigest()
    manifest["files"]["extra.txt"] = {"bytes": 1, "rows": None, "sha256": found}
    (other / "manifest.json").write_text(json.dumps(manifest))
    status, out, err = run("submit", made[0], "--card", made[1], "--data", other, "--to", address)
    assert status == 1 and not out and "other data than this board ranks" in err
    assert store.queue() == [] and err.count("\n") == 1


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"[" * 5000, b'{"id": "x"}'])
def test_what_is_no_board(run, made, synthetic, server, body):
    address, _, odd = server
    odd.append(body)
    status, out, err = submit(run, made, synthetic, "--to", address)
    assert status == 1 and "not the answer of a board" in err and not out


def test_to_the_hub_as_a_pull_request(online, made, synthetic, tmp_path):
    repo = online.hub.store.create("dataset", "org/board")
    before = online.hub.store.contents(repo)
    words = ["faithshift", "submit", str(made[0]), "--card", str(made[1])]
    words += ["--data", str(synthetic), "--to", "hub:org/board"]
    code = f"import sys\nsys.argv = {words!r}\nfrom faithshift_bench.cli import main\nmain()"
    done = online.client.python(code, tmp_path)
    name = done.out.strip()
    assert done.status == 0, done.err
    assert online.hub.store.contents(repo) == before and repo.requests == [f"Submission {name}"]
    files = online.hub.store.contents(repo, "refs/pr/1")
    assert set(files) == {
        f"submissions/{name}/{each}" for each in ("scores.parquet", "submission.json")
    }
    folder = tmp_path / "merged" / name
    folder.mkdir(parents=True)
    for path, data in files.items():
        (folder / path.rsplit("/", 1)[1]).write_bytes(data)
    assert read_package(folder).card.name == "mine"
    # Once more: the request is still open, and no second one is made.
    again = online.client.python(code, tmp_path)
    assert again.status == 0 and "was there before" in again.err and len(repo.requests) == 1
    repo.requests.clear()
    online.hub.store.commit(repo, files)
    merged = online.client.python(code, tmp_path)
    assert "was there before: org/board/submissions/" in merged.err and repo.requests == []
    gone = online.client.python(code.replace("org/board", "org/none"), tmp_path)
    assert gone.status == 1 and "the Hub answered 404" in gone.err
    assert "hf_" not in done.err + again.err + gone.err.replace("hf auth", "")


def test_csv_and_json_lines_are_read_alike(made, synthetic, tmp_path):
    data, card = fd.open(synthetic), check_card(_card())
    rows = pq.read_table(made[0]).to_pylist()
    lines = [f"{row['trace_id']},{row['seed']},{row['score']}" for row in rows]
    (tmp_path / "s.csv").write_text("\n".join(["trace_id,seed,score", *lines]))
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = [validate(tmp_path / name, card, data) for name in ("s.csv", "s.jsonl")]
    assert found == [validate(made[0], card, data)] * 2
    assert found[0].auroc == 1.0 and found[0].n_labelled > 0
