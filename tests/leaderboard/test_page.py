"""The page and the CSV: the same bytes from the same entries, and nothing of a stranger's runs."""

from __future__ import annotations

import base64
import copy
import csv
import hashlib
import io
import json
import random
import re
from html.parser import HTMLParser

import pytest

from leaderboard.__main__ import main
from leaderboard.export import COLUMNS as CSV_COLUMNS
from leaderboard.export import board_csv
from leaderboard.page import render
from leaderboard.ranking import tables

DECLARES = ("label_rule", "asks_models", "other_labels", "joins_traces", "contaminated")


def entry(number: int, mfs=0.5, span=(0.4, 0.6), **changed) -> dict:
    """An entry on hidden labels."""
    point = {"ivr": 0.2, "as": 0.7, "intervals": {"ivr": [0.1, 0.3], "as": [0.6, 0.8]}}
    found = {
        "version": 1,
        "id": f"{number:064x}",
        "card": {
            "name": f"detector {number}",
            "revision": "v1",
            "reads": ["text"],
            "training_data": [],
            "declares": dict.fromkeys(DECLARES, False),
            "url": "",
        },
        "control": False,
        "submitted": "2027-01-01",
        "data": {"name": "board", "version": "1.0", "hash": "0" * 64, "hidden": True},
        "metric": "0.1.0/1",
        "settings": {"alpha": 0.25, "delta": 0.05, "protocol": "p"},
        "full": {**point, "hm": 0.75, "intervals": {**point["intervals"], "hm": [0.7, 0.8]}},
        "certified": {
            **point,
            "mfs": mfs,
            "coverage": 0.6,
            "certified": bool(mfs),
            "threshold": 0.3,
            "intervals": {**point["intervals"], "mfs": span and list(span), "coverage": [0.5, 0.7]},
        },
        "seeds_certified": "3 of 4",
        "why": None,
        "axes": {"ivr": {"paraphrase": 0.2}, "as": {"cue": None}},
        "domains": {"maths": {"ivr": 0.3, "as": 0.6}, "words": {"ivr": None, "as": 0.8}},
        "risk": [None, 0.05, 0.1, 0.2, 0.3],
        "n": {"items": 100, "preserving": 200, "altering": 150, "seeds": 4},
        "validation_auroc": 0.8,
        "bits": 150.0,
    }
    return {**found, **changed}


def card(number: int, **changed) -> dict:
    return entry(number, card={**entry(number)["card"], **changed})


class Reader(HTMLParser):
    """Tags with their attributes, and the text of each table."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.rows = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_the_same_entries_give_the_same_bytes_in_any_order():
    entries = [entry(k, mfs=k / 10, span=(k / 10, k / 10 + 0.05)) for k in range(8)]
    page, table = render(entries), board_csv(entries)
    for seed in range(3):
        random.Random(seed).shuffle(entries)
        assert render(copy.deepcopy(entries)) == page
        assert board_csv(entries) == table
    assert render(json.loads(json.dumps(entries))) == page
    assert render([entry(1)]) != page


def test_places_and_groups_by_hand():
    spans = {1: (0.7, 0.9), 2: (0.6, 0.75), 3: (0.3, 0.65), 4: (0.1, 0.2), 5: None}
    entries = [entry(k, mfs=0.0 if s is None else sum(s) / 2, span=s) for k, s in spans.items()]
    (table,) = tables([*entries, entry(9, mfs=0.99, span=(0.98, 1.0), control=True)])
    found = {int(row.entry["id"], 16): (row.places, row.group) for row in table.rows}
    assert found == {
        9: (None, ""),  # a control has no place and takes none
        1: ((1, 2), "A"),  # overlaps with 2
        2: ((1, 3), "A"),  # overlaps with 1 and 3
        3: ((2, 3), "B"),  # surely after 1, whose group it therefore leaves
        4: ((4, 4), "C"),
        5: ((5, 5), "D"),  # nothing certified: 0, a point
    }
    assert [int(row.entry["id"], 16) for row in table.rows] == [9, 1, 2, 3, 4, 5]


def test_all_that_certified_nothing_share_the_last_places():
    (table,) = tables([entry(k, mfs=0.0, span=None) for k in (1, 2, 3)])
    assert [(row.places, row.group) for row in table.rows] == [((1, 3), "A")] * 3


def test_tables_never_mix_what_cannot_be_compared():
    marked = {**entry(2)["card"], "declares": {**entry(2)["card"]["declares"], "label_rule": True}}
    old = {**entry(0)["data"], "version": "0.9"}
    shown = {**entry(0)["data"], "name": "mini", "hidden": False}
    entries = [
        entry(1),
        entry(2, card=marked),
        entry(3, data=old),
        entry(4, data=shown),
        entry(5, metric="0.0.9/1"),
        entry(6, control=True),
        entry(7, data={**entry(0)["data"], "hidden": False}),
    ]
    found = [(t.kind, [int(r.entry["id"], 16) for r in t.rows]) for t in tables(entries)]
    assert found == [
        ("ranked", [1, 6]),
        ("declared", [2, 6]),
        ("open", [7]),
        ("open", [4]),
        ("old", [3]),
        ("old", [5]),
    ]
    for table in tables(entries):
        ranks = [row.places is not None for row in table.rows if not row.entry["control"]]
        assert all(ranks) if table.kind in ("ranked", "declared") else not any(ranks)


def test_versions_are_compared_by_number():
    data = [{**entry(0)["data"], "version": version} for version in ("0.9", "0.10")]
    kinds = {t.data: t.kind for t in tables([entry(k, data=d) for k, d in enumerate(data)])}
    assert kinds == {"board 0.10": "ranked", "board 0.9": "old"}


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "</td></tr></table><h1>won</h1>",
    "&lt;b&gt;",
    "|---|\n[x](javascript:alert(1))".replace("\n", " "),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_nothing_else(name):
    changed = {"name": name, "revision": name, "training_data": [name]}
    page = render([card(1, **changed)])
    plain = render([card(1, name="x", revision="x", training_data=["x"])])
    found, expected = Reader(page), Reader(plain)
    names = [tag for tag, _ in found.tags]
    assert names == [tag for tag, _ in expected.tags]
    assert not [a for _, a in found.tags if any(key.startswith("on") for key in a)]
    assert found.rows[1][0].startswith(name)


def test_nothing_is_fetched_and_only_our_script_runs():
    page = render([entry(1)])
    assert not re.search(r"""(src|href)\s*=\s*["'](?!https://)|@import|url\(""", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "prefers-color-scheme: dark" in page


def test_every_figure_of_an_entry_can_be_read():
    (head, row, axes, by_axis, domains, by_domain) = Reader(render([entry(1)])).rows
    told = dict(zip(head, row, strict=True))
    assert told["MFS"] == "0.500.40 to 0.60" and told["coverage"] == "0.600.50 to 0.70"
    assert told["certificate"] == "3 of 4 seedsrisk at most 0.25 from confidence 0.30"
    assert told["n"] == "100200/150 pairs, 4 seeds" and told["place"] == "1"
    assert told["reads"] == "black boxtext"
    titles = ",".join(title.strip() for title in axes + domains)
    domain_titles = "detector,IVR maths,AS maths,IVR words,AS words"
    assert titles == f"detector,IVR paraphrase,AS cue,{domain_titles}"
    # What follows a table is read into its last cell.
    figures = [text.split()[0] for text in by_axis + by_domain]
    assert figures == ["detector", "0.2", "-", "detector", "0.3", "0.6", "-", "0.8"]


def test_undefined_is_a_dash_and_missing_controls_are_said():
    row = Reader(render([entry(1, mfs=None, span=None)])).rows[1]
    assert row[1] == row[3] == "-"
    assert "controls have not been run" in render([entry(1)])
    assert "controls have not been run" not in render([entry(1), entry(2, control=True)])
    assert "No entries yet" in render([])


def test_the_leak_is_stated_where_labels_are_hidden():
    page = render([entry(1)])
    # 10 answers of 150 bits, 100 items: sqrt((1500 ln 2 + ln 20) / 200) is over 1.
    assert "at most 150 bits" in page and "at most 1.00" in page
    shown = {**entry(0)["data"], "hidden": False}
    assert "bits" not in render([entry(1, data=shown)])


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\u00a0=1"])
def test_no_cell_is_a_formula(name):
    (_, row) = csv.reader(io.StringIO(board_csv([card(1, name=name)])))
    assert dict(zip(CSV_COLUMNS, row, strict=True))["detector"] == f"'{name}"


def test_the_csv_has_every_entry_once():
    rows = list(csv.DictReader(io.StringIO(board_csv([entry(k) for k in range(5)]))))
    assert sorted(int(row["id"], 16) for row in rows) == list(range(5))
    assert rows[0]["mfs"] == "0.5" and rows[0]["mfs_low"] == "0.4"


def test_a_page_is_built_of_a_store_that_is_there(tmp_path, capsys):
    page = tmp_path / "out" / "index.html"
    (tmp_path / "file").touch()
    for name in ("none", "file"):
        assert main(["build", str(tmp_path / name), "-o", str(page)]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("error: ") and name in line and not page.exists()
    (tmp_path / "store").mkdir()
    assert main(["build", str(tmp_path / "store"), "-o", str(page)]) == 0 and page.exists()


def test_an_entry_that_is_not_whole_is_named_and_the_others_are_on_the_page(tmp_path, capsys):
    entries = tmp_path / "store" / "entries"
    entries.mkdir(parents=True)
    for number in (1, 2):
        (entries / f"{number:064x}.json").write_text(json.dumps(entry(number)))
    rotten = entries / f"{2:064x}.json"
    for text in ("", "[]", "{}", '{"id": "00'):
        rotten.write_text(text)
        assert main(["build", str(entries.parent), "-o", str(tmp_path / "i.html")]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert str(rotten) in line
        page = (tmp_path / "i.html").read_text()
        assert "detector 1" in page and "detector 2" not in page
