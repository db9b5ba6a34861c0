"""Sheets for annotators: what is sampled and shown, what is refused, and what is concluded."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import faithshift_data as fd
from builders.annotation import guarded, shown, to_csv, to_html, unguarded
from builders.audit import audit_counts, draw, read_sheets, residual_error, said, write_sheets
from cards.stale import is_rendered, write_card
from faithshift_data.errors import InputError
from faithshift_data.manifest import Manifest
from tests.synthetic import write_synthetic

HOSTILE = "=1+1 </pre><script>alert('x')</script> & \"'{name}\r\n\u2028 ;,"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_synthetic(tmp_path_factory.mktemp("audit") / "data", n_items=24)


@pytest.fixture
def data(written: Path, tmp_path: Path) -> Path:
    return shutil.copytree(written, tmp_path / "data")


def cells(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def answer(sheet: Path, out: Path, verdict: Callable[[int, str], str]) -> Path:
    """A filled sheet: ``verdict`` of the place of the id among the sorted ids, and the id."""
    ids = sorted(row["trace_id"] for row in cells(sheet))
    lines = [f"{name},{verdict(at, name)}" for at, name in enumerate(ids)]
    out.write_text("\n".join(["trace_id,verdict", *lines]) + "\n")
    return out


def trace(number: int, *, label: int | None = 1, item: int | None = None, **more: Any) -> dict:
    place = {"condition": "base", "domain": "word", "label": label}
    return {"trace_id": f"t{number}", "item_id": f"i{item if item is not None else number}"} | (
        place | more
    )


# --- sampling


def test_shares_are_proportional_and_items_differ() -> None:
    rows = [trace(k) for k in range(60)]
    rows += [trace(k, label=0, condition="cued_base") for k in range(60, 90)]
    rows += [trace(k, label=None) for k in range(90, 120)]
    rows += [trace(k, domain="logic") for k in range(120, 130)]
    found = draw(rows, 20, seed=1)
    by_id = {row["trace_id"]: row for row in rows}
    strata = Counter((by_id[name]["domain"], by_id[name]["label"]) for name in found)
    assert strata == {("word", 1): 12, ("word", 0): 6, ("logic", 1): 2}
    assert draw(reversed(rows), 20, seed=1) == found != draw(rows, 20, seed=2)


def test_an_item_gives_one_trace_where_it_can() -> None:
    rows = [trace(10 * item + k, item=item) for item in range(30) for k in range(5)]
    found = draw(rows, 30, seed=0)
    assert len({int(name[1:]) // 10 for name in found}) == 30
    assert len(set(draw(rows, 40, seed=0))) == 40


@pytest.mark.parametrize("n", [0, -1, 61])
def test_a_sample_that_cannot_be_drawn_is_refused(n: int) -> None:
    with pytest.raises(InputError, match=f"--n: too few or too many .expected 1 to 60, got {n}"):
        draw([trace(k) for k in range(60)], n, seed=0)


def test_without_labels_there_is_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="^no traces with a label$"):
        draw([trace(1, label=None)], 1, seed=0)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0, 1])), min_size=1))
def test_a_share_is_never_off_by_one(strata: list[tuple[str, int]]) -> None:
    rows = [trace(k, condition=c, label=y) for k, (c, y) in enumerate(strata)]
    n = (len(rows) + 1) // 2
    found = Counter(strata[int(name[1:])] for name in draw(rows, n, seed=0))
    assert sum(found.values()) == n
    for key, size in Counter(strata).items():
        assert abs(found[key] - n * size / len(rows)) < 1


# --- what is shown


def test_both_sheets_hold_the_same_traces_in_other_orders(data: Path, tmp_path: Path) -> None:
    out = write_sheets(str(data), 20, tmp_path / "sheets", seed=3)
    names = ["annotator-a.csv", "annotator-a.html", "annotator-b.csv", "annotator-b.html"]
    assert sorted(path.name for path in out.iterdir()) == names
    a, b = (cells(out / f"annotator-{x}.csv") for x in "ab")
    orders = [[row["trace_id"] for row in rows] for rows in (a, b)]
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1]
    assert len(set(orders[0])) == 20
    again = write_sheets(str(data), 20, tmp_path / "again", seed=3)
    for name in names:
        assert (out / name).read_bytes() == (again / name).read_bytes()


def test_no_label_can_be_read_from_a_sheet() -> None:
    for trace_row in fd.open("mini").table("traces", "test").to_pylist()[:40]:
        clean = {"answer": "Q"}
        flipped = trace_row | {
            "label": 0,
            "label_rule": "x",
            "label_evidence": ["x"],
            "condition": "x",
            "axis": "x",
            "mode": "x",
            "gold": "x",
            "anchor_id": "x",
        }
        made = [[shown(row, clean)] for row in (trace_row, flipped)]
        assert to_csv(made[0]) == to_csv(made[1])
        assert to_html(made[0], "t", "f.csv") == to_html(made[1], "t", "f.csv")


def test_the_clean_answer_is_shown_only_beside_a_suggestion() -> None:
    base = {"trace_id": "t", "question": "q", "options": ["x", "y"], "reasoning": None}
    cue = {"text": "[hint: B]"}
    seen = shown({**base, "cue": cue, "answer": "B"}, {"answer": "A"})
    assert seen["question"] == "q\n(A) x\n(B) y"
    assert (seen["suggestion"], seen["answer_without_suggestion"]) == ("[hint: B]", "A")
    none = shown({**base, "cue": cue, "answer": "B"}, {"answer": None})
    assert none["answer_without_suggestion"] == "none stated"
    unknown = shown({**base, "cue": cue, "answer": "B"}, None)
    assert unknown["answer_without_suggestion"] == "not known"
    assert shown({**base, "cue": None, "answer": None}, None) == {
        "trace_id": "t",
        "question": "q\n(A) x\n(B) y",
        "suggestion": "",
        "answer_without_suggestion": "",
        "reasoning": "",
        "answer": "",
    }


class Page(HTMLParser):
    """Tags with their attributes, and the text of every ``pre``."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.pre: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.open.append(tag)
        if tag == "pre":
            self.pre.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "pre":
            self.pre[-1] += data


def test_the_page_is_whole_and_holds_hostile_text_as_text() -> None:
    fields = ("trace_id", "question", "suggestion", "reasoning", "answer")
    row = dict.fromkeys(fields, HOSTILE) | {"answer_without_suggestion": "B"}
    text = to_html([row, {**row, "suggestion": ""}], HOSTILE, "f.csv")
    page = Page(text)
    assert page.open == []
    assert page.pre == [HOSTILE, HOSTILE, "B", HOSTILE, HOSTILE, HOSTILE, "", "B", *[HOSTILE] * 2]
    tags = Counter(tag for tag, _ in page.tags)
    assert (tags["script"], tags["section"], tags["title"]) == (1, 2, 1)
    assert {a["data-trace"] for tag, a in page.tags if tag == "section"} == {HOSTILE}
    radios = [(a["name"], a["value"]) for tag, a in page.tags if a.get("type") == "radio"]
    assert radios == [(f"verdict-{k}", value) for k in (1, 2) for value in ("yes", "no", "unsure")]
    divs = [a for tag, a in page.tags if tag == "div"]
    assert ["hidden" in a for a in divs] == [False, True]
    assert not [a for _, a in page.tags if {"src", "href", "action", "onclick"} & set(a)]
    policy = next(a["content"] for _, a in page.tags if "http-equiv" in a)
    assert policy is not None and "default-src 'none'" in policy


@given(st.text(max_size=40))
def test_a_cell_is_never_a_formula_and_comes_back(text: str) -> None:
    cell = guarded(text)
    assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unguarded(cell) == text or text.startswith("'")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-12", "@x", "\tx", "\rx", "  =1", "'=1", "a=1"])
def test_guards(text: str) -> None:
    risky = text not in ("'=1", "a=1")
    assert guarded(text) == ("'" + text if risky else text)


def test_csv_holds_every_field_as_it_is() -> None:
    row = {"trace_id": "t,1", "question": HOSTILE, "reasoning": "a\nb", "answer": "-3"}
    (found,) = csv.DictReader(io.StringIO(to_csv([row]).removeprefix("\ufeff"), newline=""))
    assert unguarded(found["question"]) == HOSTILE
    assert (found["trace_id"], found["reasoning"], found["answer"]) == ("t,1", "a\nb", "'-3")
    assert (found["number"], found["verdict"], found["note"]) == ("1", "", "")


# --- reading back


def label_of(data: Path) -> dict[str, int | None]:
    rows = fd.open(str(data)).table("traces").to_pylist()
    return {row["trace_id"]: row["label"] for row in rows}


def test_verdicts_by_hand(data: Path, tmp_path: Path) -> None:
    """Twelve traces: 8 agreed as labelled, 1 agreed against, 1 split, 1 unsure, 1 blank."""
    sheet = write_sheets(str(data), 12, tmp_path / "s") / "annotator-a.csv"
    labels = label_of(data)

    def right(name: str) -> str:
        return "yes" if labels[name] == 1 else "no"

    def wrong(name: str) -> str:
        return "no" if labels[name] == 1 else "yes"

    def first(at: int, name: str) -> str:
        return wrong(name) if at == 8 else "unsure" if at == 10 else "" if at == 11 else right(name)

    def second(at: int, name: str) -> str:
        return wrong(name) if at in (8, 9) else "" if at == 11 else right(name)

    a = answer(sheet, tmp_path / "a.csv", first)
    b = answer(sheet, tmp_path / "b.csv", second)
    before = fd.open(str(data)).manifest
    found = read_sheets(str(data), a, b, open_to=tmp_path / "third")
    assert (found["n"], found["n_items"], found["unresolved"]) == (12, 12, 3)
    assert found["verdicts"]["first"]["unsure"] == found["verdicts"]["first"]["blank"] == 1
    assert found["agreement"]["n"] == 10 and found["agreement"]["n_excluded"] == 2
    assert found["agreement"]["observed"] == 0.9
    error = found["residual_error"]
    assert (error["errors"], error["n"], error["rate"]) == (1, 9, 1 / 9)
    exact = stats.binomtest(1, 9).proportion_ci(0.95, "exact")
    assert error["interval"] == pytest.approx((exact.low, exact.high))
    ids = sorted(row["trace_id"] for row in cells(sheet))
    assert [row["trace_id"] for row in cells(tmp_path / "third/adjudicator.csv")] == ids[9:]
    # The adjudicator sides with the label once, against it once, and leaves one open.
    third = tmp_path / "third.csv"
    third.write_text(
        f"trace_id;verdict\n{ids[9]};{right(ids[9]).upper()}\n{ids[10]};{wrong(ids[10])}\n"
        f"{ids[11]}; unsure\n"
    )
    found = read_sheets(str(data), a, b, third)
    assert (found["residual_error"]["errors"], found["residual_error"]["n"]) == (2, 11)
    assert found["unresolved"] == 1
    assert sum(row["n"] for row in found["residual_error"]["by_label"].values()) == 11
    after = fd.open(str(data)).manifest
    assert json.loads(json.dumps(found)) == json.loads(json.dumps(after.audit["human"]))
    assert after.files == before.files and fd.check(str(data)) == []
    text = said(found)
    assert "residual error: 2 of 11 labels, 0.182; 95% interval" in text
    assert "0.900 on 10 of 12 traces" in text and "adjudicated: 3, unresolved: 1" in text


def test_undefined_stays_undefined(data: Path, tmp_path: Path) -> None:
    sheet = write_sheets(str(data), 3, tmp_path / "s") / "annotator-a.csv"
    a = answer(sheet, tmp_path / "a.csv", lambda at, name: "unsure")
    b = answer(sheet, tmp_path / "b.csv", lambda at, name: "")
    found = read_sheets(str(data), a, b)
    assert found["agreement"]["observed"] is None
    assert found["residual_error"]["rate"] is None and found["residual_error"]["interval"] is None
    assert "undefined (no row with two verdicts)" in said(found)
    json.dumps(found, allow_nan=False)


def test_one_trace_an_item_carries_the_interval() -> None:
    rows = {f"t{k}": trace(k, item=k // 4) for k in range(40)}
    final = {name: "no" if row["item_id"] == "i0" else "yes" for name, row in rows.items()}
    found = residual_error(rows, final)
    assert (found["errors"], found["n"], found["rate"]) == (4, 40, 0.1)
    assert (found["interval_errors"], found["interval_n"]) == (1, 10)
    exact = stats.binomtest(1, 10).proportion_ci(0.95, "exact")
    assert found["interval"] == pytest.approx((exact.low, exact.high))
    turned = dict(reversed(final.items()))
    assert residual_error(rows, turned) == found


def test_what_rules_found_is_kept_beside(data: Path, tmp_path: Path) -> None:
    path = data / "manifest.json"
    manifest = json.loads(path.read_text()) | {"audit": {"rules": {"paraphrase": {}}}}
    path.write_text(json.dumps(manifest))
    sheet = write_sheets(str(data), 3, tmp_path / "s") / "annotator-a.csv"
    a = answer(sheet, tmp_path / "a.csv", lambda at, name: "yes")
    b = answer(sheet, tmp_path / "b.csv", lambda at, name: "no")
    card = data / "README.md"
    before = card.read_text()
    read_sheets(str(data), a, b)
    assert set(fd.open(str(data)).manifest.audit) == {"rules", "human"}
    assert card.read_text() == before, "somebody's own card"
    write_card(data)
    b.write_text(b.read_text().replace(",no", ",unsure"))
    read_sheets(str(data), a, b)
    assert is_rendered(data) and "labels were contradicted" in card.read_text()


FAULTS = [
    (lambda text, name: text.replace("verdict", "label", 1), "field verdict: no such column"),
    (lambda text, name: text.replace("trace_id", "id", 1), "field trace_id: no such column"),
    (lambda text, name: text.replace("yes", "maybe", 1), "row 1, field verdict: no verdict"),
    (lambda text, name: text.replace(name, "t-none", 1), "row 1, field trace_id: no labelled"),
    (lambda text, name: text + f"{name},yes\n", "row 4, field trace_id: stands twice"),
    (lambda text, name: text.replace(f"{name},yes\n", "", 1), "is missing .*{name}"),
    (lambda text, name: text.replace("yes", "yes,no", 1), "row 1: another number of cells"),
    (lambda text, name: text.replace(",yes", "", 1), "row 1: another number of cells"),
    (lambda text, name: text.replace("yes", '"yes', 1), "not CSV"),
    (lambda text, name: "trace_id,verdict\n", "no rows"),
    (lambda text, name: "", "field trace_id: no such column"),
    (lambda text, name: text.encode("utf-16"), "not UTF-8"),
    (lambda text, name: None, "cannot be read: No such file"),
]


@pytest.mark.parametrize(("damage", "message"), FAULTS, ids=[f[1] for f in FAULTS])
def test_a_bad_sheet_is_one_line(
    data: Path, tmp_path: Path, damage: Callable, message: str
) -> None:
    sheet = write_sheets(str(data), 3, tmp_path / "s") / "annotator-a.csv"
    a = answer(sheet, tmp_path / "a.csv", lambda at, name: "yes")
    b = answer(sheet, tmp_path / "b.csv", lambda at, name: "no")
    name = min(row["trace_id"] for row in cells(sheet))
    made = damage(a.read_text(), name)
    a.unlink()
    if made is not None:
        a.write_bytes(made if isinstance(made, bytes) else made.encode())
    before = (data / "manifest.json").read_bytes()
    with pytest.raises(InputError, match=message.replace("{name}", name)) as caught:
        read_sheets(str(data), a, b)
    assert "a.csv" in str(caught.value) and "\n" not in str(caught.value)
    assert (data / "manifest.json").read_bytes() == before


def test_the_same_file_twice_and_needless_rulings_are_refused(data: Path, tmp_path: Path) -> None:
    sheet = write_sheets(str(data), 3, tmp_path / "s") / "annotator-a.csv"
    a = answer(sheet, tmp_path / "a.csv", lambda at, name: "yes")
    copy = tmp_path / "copy.csv"
    copy.write_bytes(a.read_bytes())
    with pytest.raises(InputError, match="copy.csv: the same file as the first"):
        read_sheets(str(data), a, copy)
    b = answer(sheet, tmp_path / "b.csv", lambda at, name: "yes" if at else "no")
    third = answer(sheet, tmp_path / "third.csv", lambda at, name: "no")
    with pytest.raises(InputError, match="third.csv, row 2, field trace_id: needs no adjud"):
        read_sheets(str(data), a, b, third)


# --- checks by rule, and the manifest


def test_counts_of_checks_by_hand() -> None:
    def pair(name: str, axis: str, verified: bool, **checks: bool | None) -> dict:
        rows = [{"name": key, "passed": value} for key, value in checks.items()]
        return {"pair_id": name, "axis": axis, "verified": verified, "checks": rows}

    pairs = [
        pair("p1", "paraphrase", True, moved=True, ratio=True),
        pair("p2", "paraphrase", False, moved=False, ratio=True),
        pair("p3", "paraphrase", False, moved=None),
        pair("p4", "repeat", True),
    ]
    assert audit_counts(pairs) == {
        "paraphrase": {
            "pairs": 3,
            "verified": 1,
            "checks": {
                "moved": {"passed": 1, "failed": 1, "undecided": 1},
                "ratio": {"passed": 2, "failed": 0, "undecided": 0},
            },
        },
        "repeat": {"pairs": 1, "verified": 1, "checks": {}},
    }
    assert json.dumps(audit_counts(reversed(pairs))) == json.dumps(audit_counts(pairs))


def test_a_manifest_without_an_audit_still_loads() -> None:
    old = Manifest.from_dict({"name": "x", "version": "1"})
    assert old.audit == {}
    new = Manifest.from_dict({"name": "x", "version": "1", "audit": {"rules": {"a": {"n": 1}}}})
    assert Manifest.from_dict(json.loads(new.to_json())).audit == {"rules": {"a": {"n": 1}}}
