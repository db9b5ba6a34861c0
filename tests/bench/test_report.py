"""The report's forms: JSON and back, Markdown, HTML, the board."""

import dataclasses
import json
from xml.etree import ElementTree

import pytest

import faithshift_bench as fb
from faithshift_bench.board import board_order
from tests.bench.test_golden import SCORES, evaluate


@pytest.fixture(scope="module")
def report():
    return evaluate(SCORES)


@pytest.fixture(scope="module")
def constant():
    return evaluate(dict.fromkeys(SCORES, 0.7), name="constant")


def test_json_round_trip(report):
    text = report.to_json()
    assert fb.Report.from_json(text) == report
    assert fb.Report.from_json(text).to_json() == text
    value = json.loads(text)
    for point in ("headline", "full", "certified"):
        assert {"mfs", "hm", "coverage", "ivr", "as"} <= value[point].keys()
    assert value["data"]["name"] == "tiny" and len(value["data"]["hash"]) == 64
    assert value["version"] == fb.__version__


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda v: v.pop("seeds"), "field seeds: missing key"),
        (lambda v: v.update(extra=1), "field extra: unknown key"),
        (lambda v: v.update(report_version=99), "made by another version"),
        (lambda v: v["full"].pop("as"), "field full.as: missing key"),
    ],
)
def test_json_of_another_shape_is_refused(report, edit, message):
    value = json.loads(report.to_json())
    edit(value)
    with pytest.raises(fb.InputError, match=message):
        fb.Report.from_json(json.dumps(value))


@pytest.mark.parametrize("text", ["", "[1]", "{"])
def test_text_that_is_no_report_is_refused(text):
    with pytest.raises(fb.InputError, match="not JSON|not a report"):
        fb.Report.from_json(text)


def test_a_report_without_the_figures_of_a_later_version_still_reads(report):
    value = json.loads(report.to_json())
    for point in (value["full"], value["headline"], *(seed["full"] for seed in value["seeds"])):
        for name in ("auroc", "auroc_sd", "ap", "brier", "ece", "aurc", "augrc", "undefined"):
            point.pop(name, None)
        point.pop("decomposition", None)
    older = fb.Report.from_json(json.dumps(value))
    for word in ("AUROC", "oise floor"):
        assert word in report.to_markdown() and word not in older.to_markdown()


def test_report_is_frozen(report):
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.detector = "better"


def test_markdown_prints_the_hand_worked_figures(report):
    text = report.to_markdown()
    assert "| scores | 0.250 | - | 0.500 | - | 0.600 | - | 3/3 | 2 |" in text
    assert "| scores | 1 of 1 | 0.500 | 0.750 | 0.500 | 1.000 | 0.500 | - |" in text
    assert "Chance IVR/AS at the same share of faithful verdicts: scores 0.469/0.234." in text
    assert "a constant verdict errs at 0.417: a constant certifies." in text
    assert "one_per_item/exact/k/20/bonferroni" in text
    assert "0 errors of 2, at least 6 needed without an error" in text
    assert "copied text 1" in text
    assert "AUROC 0.833, AP 0.917, Brier 0.170, ECE 0.329, AURC 0.133, AUGRC 0.082" in text
    assert "Covers new items from these models" in text
    assert "| mean of axes | 0.250 | - | 0.125 | - | 0.125 | - | - | - | 3 | 0 | - |" in text
    assert (
        "| paraphrase | 0.500 | [0.00, 1.00] | 0.250 | [0.00, 0.50] | 0.250 | [0.00, 0.50] "
        "| - | - | 2 | 0 | few |"
    ) in text
    assert "Noise floor from 3 repeat pairs" in text
    assert "Under 30 pairs: hint_format (1)" in text


def test_nothing_certified_is_said_in_words(constant):
    """2 errors of 3 at level 1/4; ln(1/4) / ln(1/2) = 2; bound at 2 of 3: p(<= 2) = 1 - u^3."""
    text = constant.to_markdown()
    assert "Nothing certified: 2 errors of 3, at most 0 allowed; at least 2 items needed" in text
    least = constant.certified["least_alpha_exploratory"]
    assert least == pytest.approx(0.75 ** (1 / 3))
    assert f"smallest alpha that could have been certified {least:.2f} (exploratory)" in text


def test_the_headline_does_not_call_itself_certified_when_nothing_is(constant, report):
    assert constant.headline["operating_point"] == "certified"
    assert not constant.headline["certified"]
    for text in (constant.to_markdown(), constant.to_html()):
        assert "Headline: nothing certified, MFS 0.000." in text
    for text in (report.to_markdown(), report.to_html()):
        assert "Headline: certified, MFS " in text


def test_board_has_two_blocks_and_sorts_by_mfs_then_hm(report, constant):
    idle = dataclasses.replace(
        constant, detector="idle", full=constant.full | {"hm": 0.2}, reads_label_evidence=True
    )
    assert [r.detector for r in board_order([constant, idle, report])] == [
        "scores", "idle", "constant"]  # fmt: skip
    text = fb.render_board([constant, idle, report])
    full, certified = text.split("Certified at alpha 0.5, delta 0.5")
    assert full.startswith("At full coverage (tiny")
    assert full.index("scores") < full.index("idle*") < full.index("constant")
    assert "constant: none: 2 errors of 3" in certified
    assert "0 of 1" in certified and "1 of 1" in certified
    assert "reads evidence" in certified
    flagged = dataclasses.replace(report, flags=["tau was not fitted"])
    assert "scores: tau was not fitted." in fb.render_board([flagged])
    assert fb.render_board([]) == "no reports"


def test_board_does_not_depend_on_the_order_of_reports(report, constant):
    assert fb.render_board([constant, report]) == fb.render_board([report, constant])


def test_html_is_whole_and_escapes_names(report):
    jinja2 = pytest.importorskip("jinja2")
    assert jinja2
    page = dataclasses.replace(report, detector="<script>alert(1)</script>").to_html()
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert "http" not in page.replace("http-equiv", "")
    svg = page[page.index("<svg") : page.index("</svg>") + 6]
    assert len(ElementTree.fromstring(svg).findall("rect")) == 8
    assert "<h3>Instability and noise floor</h3>" in page and "<td>0.125</td>" in page
    assert "0.600" in page and "0.500" in page and "undefined" not in page


def test_html_shows_undefined_as_a_word(report):
    pytest.importorskip("jinja2")
    empty = dataclasses.replace(report, full=report.full | {"as": None, "hm": None})
    assert "undefined" in empty.to_html()


def test_board_shows_the_other_certificates_of_each_detector(report, constant):
    text = fb.render_board([report, constant])
    block = text.split("Other certificates, one trace drawn an item\n")[1].split("\n\n")[0]
    rows = [line.split() for line in block.splitlines()[1:]]
    assert [row[0] for row in rows].count("constant") == 1
    assert len(rows) == len(report.beside) + len(constant.beside)
    for each in (report, constant):
        for row in each.beside:
            assert any(line.endswith(row["reason"]) for line in block.splitlines())
