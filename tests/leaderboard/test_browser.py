"""A person's path through the board's pages, and through the static one, in Chromium.

Needs the extra ``leaderboard``, ``playwright``, and Debian's ``chromium``.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import pytest

import faithshift_data as fd
from faithshift_bench.detectors.registry import CONTROLS
from leaderboard.page import render
from tests.leaderboard.conftest import EVIL
from tests.leaderboard.hostile import CARD
from tests.leaderboard.served import PATIENCE

pytest.importorskip("gradio", reason="pip install -e '.[leaderboard]' -c constraints.txt")
CHROMIUM = shutil.which("chromium")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
QUIET += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]


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

    # By keys alone: the menu of a head is for a mouse.
    for steps, first in ((["ArrowDown"], EVIL), (["ArrowUp"], "detector 12")):
        page.get_by_label("Order").focus()
        for key in (*steps, "Enter"):
            page.keyboard.press(key)
        until(lambda first=first: first_cells(page)[0] == first)
        page.get_by_label("Order").blur()

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
