"""What is written: tables, figures, the page; escaped, repeatable, whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import tomllib
import warnings
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from faithshift_bench.agreement import agree, read_settings
from faithshift_bench.agreement.claims import check_claim, lint_claim
from faithshift_bench.agreement.figures import figures_of
from faithshift_bench.agreement.judge_tables import sheet_of
from faithshift_bench.agreement.output import page_html, report_md, write_report
from faithshift_bench.agreement.reading import assemble
from faithshift_bench.agreement.report_tables import tables_of
from faithshift_bench.agreement.summary import headline_lines
from faithshift_bench.agreement.table import rows_of
from faithshift_bench.agreement.tables import Table, no_markup
from faithshift_bench.cli import main
from faithshift_data.errors import InputError
from tests.bench.agreement.rows import trace
from tests.bench.agreement.simulated import Judge, Model, World, columns_of, write_csv

EVIL = "<script>alert(1)</script> $x^2$ & |co|"


@pytest.fixture(scope="module")
def rows():
    models = [
        Model(EVIL, early=0.2, said=(0.8, 0.6), filler=(0.2, 0.6), kind="instruct"),
        Model("b", early=0.5, said=(0.5, 0.3), filler=(0.7, 0.9)),
        Model("c", early=0.8, said=(0.2, 0.2), filler=(0.1, 0.5)),
    ]
    world = World(models, 80, [Judge("one"), Judge("<two>", wrong=0.4)], reference=0.5)
    return world.rows(1)


@pytest.fixture(scope="module")
def study(rows):
    return assemble("table.csv", rows_of(columns_of(rows), "table.csv"))


@pytest.fixture(scope="module")
def made(study):
    plan = read_settings().amend("judge", "one", "test").amend("n_resamples", 200, "test")
    return agree(study, plan)


@pytest.fixture(scope="module")
def folder(made, study, tmp_path_factory):
    return write_report(made, study, tmp_path_factory.mktemp("out") / "report")


@pytest.fixture
def no_figures(monkeypatch):
    """Drawing takes a second or two, which most tests here need not spend."""
    drawn = {"ranks": {"svg": b"<svg/>", "png": b"png"}}
    monkeypatch.setattr("faithshift_bench.agreement.output.figures_of", lambda made: drawn)


def test_the_folder_holds_it_all(folder, made):
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    figures = {"ranks", "preferences", "reversal_curve", "judge_swap"}
    assert {f"figures/{name}.{kind}" for name in figures for kind in ("svg", "png")} <= names
    assert {"report.html", "report.md", "agreement.json", "claim.toml"} <= names
    for table in tables_of(made):
        assert {f"tables/{table.name}.csv", f"tables/{table.name}.md"} <= names
    assert {"tables/disagreements.csv", "tables/verdicts.csv"} <= names


def test_page_and_text_say_what_to_know_before_citing(folder, made):
    assert made.flags, "the world has a judge who is wrong"
    text = (folder / "report.md").read_text("utf-8")
    assert text.count("\n## Before you cite this\n") == 1
    for flag in made.flags:
        assert f"\n- {no_markup(flag)}.\n" in text


def test_nothing_to_know_has_no_heading(made):
    text = report_md(replace(made, flags=[]), tables_of(made))
    assert "Before you cite this" not in text and text.startswith("# Do the metrics agree?\n\n- ")


def test_names_cannot_become_markup(folder):
    page = (folder / "report.html").read_text("utf-8")
    assert "<script" not in page and "&lt;script&gt;alert(1)" in page
    assert "&lt;two&gt;" in page
    assert not re.search(r"""(?:src|href)=["'](?!data:image/svg\+xml;base64,)""", page)
    for path in (folder / "figures").glob("*.svg"):
        tags = {element.tag.rpartition("}")[2] for element in ElementTree.parse(path).iter()}
        assert "script" not in tags
    for path in (folder / "figures").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000
    table = (folder / "tables" / "models.md").read_text("utf-8")
    assert "\\|co\\|" in table
    for path in folder.rglob("*.md"):
        text = path.read_text("utf-8")
        assert "<script" not in text and "<two>" not in text, path
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in table


def test_no_cell_is_a_formula():
    cells = "=HYPERLINK(1)", "+1", "-1", "@SUM(1)", " =1", "a=1", "", -0.5, -1, (-0.5, 0.5), None
    columns = tuple("abcdefghijk")
    table = Table("t", "T", ("=a", *columns[1:]), (cells,))
    header, row = csv.reader(io.StringIO(table.to_csv()))
    assert header == ["'=a", *"bcdefghi", "low", "high", "k"]
    assert row == ["'=HYPERLINK(1)", "'+1", "'-1", "'@SUM(1)", "' =1", "a=1", "", "-0.5", "-1",
                   "-0.5", "0.5", ""]  # fmt: skip


def test_a_dash_of_an_interval_is_explained():
    full = Table("t", "T", ("a", "95%"), (("x", (0.1, 0.2)), ("no interval is asked for", "")))
    assert full.remarks == "" and full.to_markdown().endswith("|  |\n")
    dashed = Table("t", "T", ("a", "95%"), (("x", None),), "A note.")
    assert dashed.remarks.startswith("A note. An interval is - where its figure is, and where")
    assert dashed.to_markdown().endswith("over 5% of the resamples.\n")


def table_named(made, name):
    (table,) = [each for each in tables_of(made) if each.name == name]
    return table


def test_a_share_has_its_n_and_what_is_undefined_its_reason(study, made):
    table = table_named(made, "models")
    for row, each in zip(table.rows, made.health, strict=True):
        counts = [n for n, name in zip(row, table.columns, strict=True) if name == "n"]
        assert counts == [each.accuracy.n, each.flipped.n, each.truncated.n]
    assert "of questions with a hint and an explicit answer with it and without" in table.note
    few = agree(replace(study, model_types=("",) * 3), made.plan.amend("min_traces", 10**6, "test"))
    table = table_named(few, "hypotheses")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    taus = [row for row in rows if row["quantity"] == "tau_b"]
    assert {(row["n"], row["part"]) for row in taus} == {
        (80, "undefined: 0 models, at least 3 needed")
    }
    assert rows[-1]["part"] == (
        "undefined: no model is said to be instruct and no model is said to be thinking"
    )
    (line, *_) = [line for line in headline_lines(few) if line.startswith("Rankings")]
    assert line.endswith("tau-b undefined (0 models, at least 3 needed).")


def test_one_is_not_many():
    made = agree(assemble("t", rows_of(columns_of(trace("m", "q", "A", "B", "A")), "t")))
    page = page_html(made, tables_of(made), {})
    assert "<p>1 model, 1 question, 3 generations." in page
    said = page + "".join(made.flags)
    assert not re.search(r"\b1 (?:models|questions|objects|traces|injections)\b", said)


def test_a_name_that_the_font_lacks_is_drawn_in_silence(monkeypatch):
    rows = trace("模型 \N{GRINNING FACE}", "q", "A", "B", "A", said={"j": "yes"})
    plan = read_settings().amend("min_traces", 1, "test").amend("n_resamples", 100, "test")
    made = agree(assemble("t", rows_of(columns_of(rows), "t")), plan)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert "ranks" in figures_of(made)
    assert [str(each.message) for each in caught] == []


def test_the_same_input_gives_the_same_bytes(folder, made, study, tmp_path):
    again = write_report(made, study, tmp_path / "again")
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (again / path.relative_to(folder)).read_bytes(), path


def test_json_holds_the_figures_of_the_tables(folder, made):
    found = json.loads((folder / "agreement.json").read_text("utf-8"))
    by_hand = {
        each["model"]: each["value"] for each in found["rankings"]["filler_tokens"]["models"]
    }
    rows = csv.DictReader(io.StringIO((folder / "tables" / "scores.csv").read_text("utf-8")))
    read = {
        row["model"]: float(row["score"])
        for row in rows
        if row["metric"] == "filler_tokens" and row["on"] == "all traces"
    }
    assert read == pytest.approx(by_hand, abs=1e-5)
    assert found["plan"]["sha256"] == made.plan.sha256
    assert found["plan"]["sha256"] in (folder / "report.md").read_text("utf-8")
    assert found["hypotheses_sha256"] in (folder / "report.html").read_text("utf-8")
    assert "draws" not in found["rankings"]["filler_tokens"]


def test_the_sheet_holds_texts_as_they_are(rows):
    texts = {"question": "Q?", "cue": "c", "reasoning": 'He said "no",\n=1+1 and left.'}
    made = agree(
        assemble("t", rows_of(columns_of(trace("m", "q", "A", "B", **{
            "said": {"j": "yes"}, "reference": "no", "question": "Q?", "cue": "c",
            "reasoning": texts["reasoning"],
        })), "t"))
    )  # fmt: skip
    (row,) = csv.DictReader(io.StringIO(sheet_of(made).to_csv()))
    assert row["reasoning"] == texts["reasoning"]
    assert (row["first_verdict"], row["second_verdict"], row["who_is_right"]) == ("yes", "no", "")


def test_cells_of_a_table():
    table = Table("t", "T", ("a", "95%", "a", "b"), (("x|y", (0.1, 0.25), 0.5, None),), "note")
    assert table.to_csv() == "a,low,high,a 2,b\nx|y,0.1,0.25,0.5,\n"
    assert table.shown() == [["x|y", "[0.10, 0.25]", "0.500", "-"]]
    assert table.to_markdown().splitlines()[4] == "| x\\|y | [0.10, 0.25] | 0.500 | - |"
    assert Table("t", "T", ("95%",), ((None,),)).to_csv() == "low,high\n,\n"


def test_the_claim_is_one_that_the_linter_reads(folder):
    claim = check_claim(tomllib.loads((folder / "claim.toml").read_text("utf-8")))
    kept = {each.number: each.outcome for each in lint_claim(claim)}
    # What only the author knows is missing: the sentence, the cue, the checks.
    assert [number for number, outcome in kept.items() if outcome == "kept"] == [2, 3]


def test_a_fault_while_writing_leaves_nothing(made, study, tmp_path, monkeypatch, no_figures):
    with monkeypatch.context() as patch:
        patch.setattr("faithshift_bench.agreement.output.page_html", lambda *a: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_report(made, study, tmp_path / "report")
    monkeypatch.setattr("pathlib.Path.write_bytes", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(made, study, tmp_path / "report")
    assert list(tmp_path.iterdir()) == []


def test_without_jinja2_the_extra_is_named(made, study, tmp_path, monkeypatch, no_figures):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match=r"faithshift\[report\]"):
        write_report(made, study, tmp_path / "report")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(made, study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"faithshift\[report\]"):
        write_report(made, study, tmp_path / "report")
    assert list(tmp_path.iterdir()) == []


def run(monkeypatch, capsys, *argv):
    monkeypatch.setattr(sys, "argv", ["faithshift", *map(str, argv)])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    return ended.value.code or 0, out, err


def test_the_command(rows, tmp_path, monkeypatch, capsys, no_figures):
    folder = tmp_path / "run"
    folder.mkdir()
    write_csv(folder / "answers.csv", rows)
    fixed = 'n_resamples = 100\njudge = "one"\nelicitation = "Answer: ("\n'
    (folder / "preregistration.toml").write_text(fixed)
    code, out, err = run(monkeypatch, capsys, "agree", folder, "-o", tmp_path / "out")
    assert (code, err) == (0, f"{tmp_path / 'out' / 'report.html'}\n")
    assert out.startswith("Judge: one; cue Answer: (.\nRankings by biasing_features")
    assert read_settings(folder).sha256 in out
    before = sorted(tmp_path.rglob("*"))
    # Nothing is written over, and that is said before anything is computed.
    monkeypatch.setattr("faithshift_bench.agreement.read_study", lambda path: 1 / 0)
    code, out, err = run(monkeypatch, capsys, "agree", folder, "-o", tmp_path / "out")
    assert (code, out) == (1, "") and "already exists" in err and err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_the_command_asks_for_the_judge(rows, tmp_path, monkeypatch, capsys):
    table = write_csv(tmp_path / "t.csv", rows)
    code, out, err = run(monkeypatch, capsys, "agree", table, "-o", tmp_path / "out")
    assert (code, out) == (1, "") and "say whose verdicts count" in err
    assert not (tmp_path / "out").exists()
    argv = ("agree", table, "-o", tmp_path / "out", "--ask", "rules", "--judge", "rules")
    code, out, err = run(monkeypatch, capsys, *argv)
    assert code == 1 and "a judge needs the texts" in err


def test_the_linter_command(tmp_path, monkeypatch, capsys):
    claim = tmp_path / "claim.toml"
    claim.write_text('claim = "A is more faithful than B."\nkind = "ranking"\n')
    code, out, err = run(monkeypatch, capsys, "lint-claim", claim)
    assert (code, err) == (1, "")
    assert "2. broken" in out and "   add: kind" not in out
    code, out, _ = run(monkeypatch, capsys, "lint-claim", claim, "--json")
    assert code == 1 and json.loads(out)[0]["outcome"] == "broken"
    code, out, err = run(monkeypatch, capsys, "lint-claim", tmp_path / "absent.toml")
    assert (code, out) == (1, "") and "no such file" in err
