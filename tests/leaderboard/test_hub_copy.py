"""On a Space: acknowledged after the commit and not before, once, and there after a lost disk."""

from __future__ import annotations

import json
import tomllib

import pytest

from leaderboard import space_files
from leaderboard.space_files import ROOT, write_space

SEND = """
import json
from pathlib import Path
from faithshift_bench.submission.send import ROUTE, request_of
from leaderboard.api import answer
from leaderboard.hub import HubCopy
from leaderboard.store import Store
from tests.leaderboard.crowd import FREE, made

store = Store(Path("store"), FREE)
copy = HubCopy(store, "org/kept")
for number in NUMBERS:
    package, scores = made(number, Path("."))
    body = request_of(package, scores.read_bytes())
    told = (store, frozenset({"0" * 64}), "POST", ROUTE, body)
    print(json.dumps(answer(*told, keep=copy.push)))
"""
FETCH = """
from pathlib import Path
from leaderboard.hub import HubCopy
from leaderboard.store import Store

store = Store(Path("new"))
HubCopy(store, "org/kept").fetch()
print(*store.queue())
"""


def send(online, folder, *numbers):
    done = online.client.python(SEND.replace("NUMBERS", str(numbers)), folder)
    assert done.status == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.parametrize("how", ["status", "drop", "lose"])
def test_no_acknowledgement_without_a_commit(online, tmp_path, how):
    repo = online.hub.store.create("dataset", "org/kept", private=True)
    fault = online.hub.fail("commit", how, status=403)
    (status, said), (again, told), (once_more, _) = send(online, tmp_path, 1, 1, 1)
    assert fault.struck and status == 503
    assert said["error"].startswith("not kept yet, so send it again: org/kept: cannot be committed")
    assert (again, once_more) == (200, 200) and told["state"] == "waiting"
    files = online.hub.store.contents(repo)
    name = told["id"]
    assert {path.rsplit("/", 1)[0] for path in files} == {f"submissions/{name}"} and len(files) == 3
    # One commit, whether it was made at the first try or at the second.
    assert len(repo.commits) == 2


def test_a_lost_disk_loses_nothing_that_was_acknowledged(online, tmp_path):
    online.hub.store.create("dataset", "org/kept", private=True)
    said = send(online, tmp_path, 1, 2, 3, 2)
    assert [status for status, _ in said] == [201, 201, 201, 200]
    done = online.client.python(FETCH, tmp_path)
    assert done.status == 0, done.err
    assert set(done.out.split()) == {told["id"] for _, told in said}
    gone = online.client.python(FETCH.replace("org/kept", "org/none"), tmp_path)
    assert gone.status == 1 and "org/none: cannot be fetched: the Hub answered 404" in gone.err
    assert "hf_" not in done.err + gone.err.replace("hf auth", "")


def test_the_files_of_a_space(tmp_path, monkeypatch):
    monkeypatch.setattr(space_files, "PACKAGES", ("leaderboard",))
    space = write_space(tmp_path / "space")
    pins = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines()[1:]
    )
    assert f"sdk_version: {pins['gradio']}\n" in (space / "README.md").read_text()
    needed = (space / "requirements.txt").read_text().split()
    assert f"gradio=={pins['gradio']}" in needed and f"numpy=={pins['numpy']}" in needed
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(needed) == len(project["dependencies"]) + 3
    assert (space / "leaderboard" / "RULES.md").exists()
    assert (
        not list(space.rglob("__pycache__"))
        and "app_file: app.py" in (space / "README.md").read_text()
    )


def test_a_spaces_settings_are_words(monkeypatch):
    from leaderboard.space.app import words

    monkeypatch.setenv("BOARD_DATA", "org/board@v1.0")
    for name in ("BOARD_KEY", "BOARD_COPY", "OAUTH_CLIENT_ID", "BOARD_STORE"):
        monkeypatch.delenv(name, raising=False)
    plain = ["serve", "store", "--data", "org/board@v1.0", "--host", "0.0.0.0", "--port", "7860"]
    assert words() == plain
    monkeypatch.setenv("BOARD_COPY", "org/kept")
    monkeypatch.setenv("OAUTH_CLIENT_ID", "x")
    assert words()[4:7] == ["--copy", "org/kept", "--login"]
