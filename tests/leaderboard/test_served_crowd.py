"""Fifty clients at the app at once, and SIGKILL while it takes their submissions."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import faithshift_data as fd
from faithshift_bench.submission.package import about_data
from faithshift_bench.submission.send import ROUTE, request_of
from leaderboard.limits import Limits
from leaderboard.store import Store
from tests.leaderboard.crowd import made
from tests.leaderboard.served import ask, served

pytest.importorskip("gradio", reason="pip install -e '.[leaderboard]' -c constraints.txt")


def test_nothing_acknowledged_is_lost_and_no_limit_passed(synthetic, tmp_path):
    """More clients than a day has places; each sends until it has an answer."""
    places, clients = Limits().a_day, Limits().a_day + 10
    data = about_data(fd.open(synthetic))
    packages = [made(k, tmp_path, contact=f"a@{k}.org", data=data) for k in range(clients)]
    bodies = [request_of(package, scores.read_bytes()) for package, scores in packages]
    pairs = [*zip(packages, bodies, strict=True)]
    folder = tmp_path / "store"
    process, url = served(folder, synthetic)
    where, told, lock = {"url": url}, [], threading.Lock()

    def client(body: bytes) -> None:
        while True:
            try:
                status, said = ask(f"{where['url']}{ROUTE}", body)
                break
            except OSError:
                time.sleep(0.05)
        with lock:
            told.append((status, json.loads(said)))

    try:
        with ThreadPoolExecutor(clients) as pool:
            waits = [pool.submit(client, body) for body in bodies]
            while len(told) < clients // 3:
                time.sleep(0.005)
            process.kill()
            process.wait()
            taken = {said["id"] for status, said in [*told] if status in (200, 201)}
            assert taken and taken <= set(Store(folder).submissions())
            process, where["url"] = served(folder, synthetic)
            for wait in waits:
                wait.result()
        acknowledged = [said["id"] for status, said in told if status in (200, 201)]
        refused = {said["error"] for status, said in told if status == 422}
        assert refused == {
            f"too many submissions by everybody in a day (expected {places} at most)"
        }
        store, sent = Store(folder), {package.id: body for (package, _), body in pairs}
        # The board's own controls are there, too; whoever is rejected gives the place back.
        stored = [name for name in store.submissions() if name in sent]
        assert sorted(acknowledged) == sorted(stored) and len(told) == clients
        assert places <= len(stored) <= places + len(store.rejections())
        # Sent again by who lost the answer: the same one.
        status, said = ask(f"{where['url']}{ROUTE}", sent[stored[0]])
        assert (status, json.loads(said)["new"]) == (200, False)
    finally:
        process.kill()
        process.wait()
