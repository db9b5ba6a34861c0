"""The board as a server, and a person's path through it and the static page in Chromium.

One server and one browser for all of it. Needs the extra ``leaderboard``; the browser's part needs
``playwright`` and Debian's ``chromium``, too.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faithshift_data as fd
from faithshift_bench.core import DEFAULT
from faithshift_bench.detectors.registry import CONTROLS
from faithshift_bench.submission.package import about_data
from faithshift_bench.submission.send import ROUTE, request_of
from leaderboard.entry import metric_version
from leaderboard.page import render
from leaderboard.store import Store
from leaderboard.worker import SELF_TEST
from tests.leaderboard.crowd import FREE, made
from tests.leaderboard.hostile import CARD
from tests.leaderboard.served import PATIENCE, ask, served
from tests.leaderboard.test_page import entry

pytest.importorskip("gradio", reason="pip install -e '.[leaderboard]' -c constraints.txt")
CHROMIUM = shutil.which("chromium")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
QUIET += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
EVIL = "<img src=x onerror=\"document.title='won'\">"


class Served(NamedTuple):
    """Where the board listens, its store, and the data that it ranks."""

    url: str
    store: Store
    data: Path


@pytest.fixture(scope="module")
def board(synthetic, tmp_path_factory):
    """A board with entries on hidden labels, and on open ones with controls that need no run."""
    folder = tmp_path_factory.mktemp("served") / "store"
    (folder / "entries").mkdir(parents=True)
    data = {**about_data(fd.open(synthetic)), "hidden": False}
    entries = [entry(k, mfs=k / 20, span=(k / 20 - 0.01, k / 20 + 0.01)) for k in range(1, 13)]
    entries[2]["card"] |= {"name": EVIL, "revision": EVIL, "training_data": [EVIL]}
    entries[3]["card"]["reads"] = ["states"]
    entries.append(entry(50, mfs=0.0, span=None, control=True))
    for k, name in enumerate(CONTROLS, start=60):
        entries.append(entry(k, control=True, data=data, metric=metric_version()))
        entries[-1]["settings"] |= {"protocol": DEFAULT.name}
        entries[-1]["card"]["name"] = name
    for each in entries:
        (folder / "entries" / f"{each['id']}.json").write_text(json.dumps(each))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    tested = {"at": now, "same": True, "outcome": "the same"}
    (folder / SELF_TEST).write_text(json.dumps(tested))
    process, url = served(folder, synthetic)
    try:
        yield Served(url, Store(folder, FREE), synthetic)
    finally:
        process.terminate()
        assert process.wait(PATIENCE) in (0, -15)


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


@pytest.fixture(scope="module")
def page():
    """A page, with what it complained of and what it asked for."""
    api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        made_ = browser.new_page(viewport={"width": 1360, "height": 900})
        made_.set_default_timeout(PATIENCE * 1000)
        made_.complaints, made_.asked = [], set()
        made_.on("pageerror", lambda error: made_.complaints.append(str(error)))
        made_.on("console", lambda m: m.type == "error" and made_.complaints.append(m.text))
        made_.on("request", lambda request: made_.asked.add(request.url))
        yield made_
        browser.close()


def first_cells(page, column: int = 0) -> list[str]:
    """The first line of a cell of each row that is shown."""
    cells = page.locator(f"#board .body-cell[data-col='{column}']").all_inner_texts()
    return [text.split("\n")[0] for text in cells]


def sort(page, column: str, entry: str) -> None:
    """By the menu of a column's head."""
    head = page.locator("#board").get_by_role("columnheader", name=column, exact=False).first
    head.hover()
    head.get_by_label("Open cell menu").click()
    page.get_by_role("menuitem", name=entry).click()


def upload(page, file: Path) -> None:
    with page.expect_response(re.compile("/gradio_api/upload")):
        page.locator("#scores input[type=file]").set_input_files(file)
    page.locator("#scores .file-preview").wait_for()


def until(check, seconds: float = PATIENCE):
    """What ``check`` gives, once it gives something."""
    end = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.2)
    return found


def test_a_persons_path(board, page, tmp_path):
    page.goto(board.url, wait_until="commit")
    page.get_by_text("detector 12", exact=False).first.wait_for()
    assert first_cells(page)[:2] == ["detector 12", "detector 11"]
    assert EVIL in first_cells(page) and page.title() == "FaithShift leaderboard"

    sort(page, "MFS", "Sort ascending")
    until(lambda: first_cells(page)[:2] == ["detector 50", "detector 1"])
    assert first_cells(page, 3)[:3] == ["0.00", "0.05", "0.10"]
    sort(page, "MFS", "Clear sort")
    until(lambda: first_cells(page)[0] == "detector 12")

    page.get_by_label("Search").fill("detector 7")
    until(lambda: first_cells(page) == ["detector 7", "detector 50"])
    page.get_by_label("Search").fill("")
    page.get_by_label("white box").check()
    until(lambda: first_cells(page) == ["detector 4", "detector 50"])
    page.get_by_label("both", exact=True).check()
    until(lambda: len(first_cells(page)) > 5)

    rows = fd.open(board.data).table("traces").select(["trace_id", "split", "label"]).to_pylist()
    rows = [row for row in rows if row["split"] != "train"]
    scores = {row["trace_id"]: 0.9 if row["label"] else 0.2 for row in rows}
    lines = [f"{name},{score}" for name, score in scores.items()]
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    bad.write_text("\n".join(["trace_id,score", *lines[1:], "<b>x</b>,2"]))
    good.write_text("\n".join(["trace_id,score", *lines]))
    page.get_by_role("tab", name="Submit").click()
    said = page.locator("#outcome p")
    page.locator("#card textarea").fill(CARD.replace("mine", "newcomer <i>"))
    upload(page, bad)
    page.get_by_role("button", name="Check").click()
    said.filter(has_text="field score").wait_for()
    assert re.search(r"row \d+, field score: bad value .*got 2", said.inner_text())
    page.locator("#scores").get_by_label("Clear").first.click()
    upload(page, good)
    page.get_by_role("button", name="Submit").click()
    said.filter(has_text="Received: waiting").wait_for()
    (name,) = board.store.submissions()
    until(lambda: board.store.state(name) == "entered")

    page.get_by_role("tab", name="History").click()
    # A table has a hidden line, too, that measures the widths.
    page.locator("#judged .body-cell").get_by_text("entered").first.wait_for()
    assert page.get_by_text("a baseline, run anew, is the same").count() == 1

    page.get_by_role("tab", name="Leaderboard").click()
    page.get_by_label("Open labels").check()
    until(lambda: "newcomer <i>" in first_cells(page))
    assert set(CONTROLS) <= set(first_cells(page))
    assert not page.complaints and page.title() == "FaithShift leaderboard"
    assert not [url for url in page.asked if not url.startswith((board.url, "data:", "blob:"))]


def test_the_static_page_sorts_and_filters(page, board, tmp_path):
    (tmp_path / "index.html").write_text(render(board.store.entries()))
    page.asked.clear()
    page.goto((tmp_path / "index.html").as_uri())
    table = page.locator("table").first

    def names() -> list[str]:
        cells = table.locator("tbody tr:visible .name").all_inner_texts()
        return [text.split("\n")[0] for text in cells]

    assert names()[:2] == ["detector 12", "detector 11"] and EVIL in names()
    for click, first in enumerate(["detector 12", "detector 50"]):
        table.get_by_role("button", name="MFS").click()
        assert names()[0] == first, click
    page.get_by_label("Search").fill("detector 7")
    assert names() == ["detector 50", "detector 7"]
    page.get_by_label("Search").fill("")
    page.get_by_label("Access").select_option("white")
    assert names() == ["detector 50", "detector 4"]
    assert page.locator("svg").count() >= 2
    assert not page.complaints and page.title() == "FaithShift leaderboard"
    assert len(page.asked) == 1
