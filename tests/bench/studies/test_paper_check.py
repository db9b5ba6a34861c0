"""paper-check: figures worked out by hand, soundness on doctored tables, and the command."""

from __future__ import annotations

import copy
import itertools
import json
import sys
from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_bench import InputError
from faithshift_bench.cli import main
from faithshift_bench.studies.paper_check import (
    VERDICTS,
    count_verdicts,
    derivations,
    paper_check,
    published_figures,
    render_checks,
)
from faithshift_bench.studies.sheet import Figure, Sheet


@pytest.fixture(scope="module")
def checks():
    return paper_check()


def find(checks, claim, formula=""):
    found = [c for c in checks if c.claim == claim and formula in c.formula]
    assert len(found) == 1, found
    return found[0]


def hm(invariance, sensitivity):
    return 2 * invariance * sensitivity / (invariance + sensitivity)


@pytest.mark.parametrize(
    ("claim", "formula", "value", "verdict"),
    [
        # .49 * 2 * .90 * .76 / 1.66, and 2 * .72 * .35 / 1.07
        ("T1d.sift.mfs", "hm", F("0.49") * hm(F("0.90"), F("0.76")), "contradicts"),
        ("T1d.attribution.mfs", "hm", hm(F("0.72"), F("0.35")), "consistent"),
        ("T1a.attribution.gap", "min", F("0.77") - F("0.48"), "contradicts"),
        ("T1a.sift.gap", "min", F("0.75") - F("0.65"), "consistent"),
        ("T1c.sift.raw", "floor", F("0.028") + F("0.074"), "consistent"),
        ("text.ivr_reduction", "min", 100 * (1 - F("0.102") / F("0.250")), "contradicts"),
        ("text.ivr_reduction", "attribution", 100 * (1 - F("0.102") / F("0.282")), "consistent"),
        ("text.base_items", "domains", F(1000), "contradicts"),
        # 100 (1 - .10 / .27) = 63.0, but .10 and .27 can stand for .099 and .272
        ("text.ivr_reduction_c7", "", 100 * (1 - F("0.10") / F("0.27")), "rounding"),
        # half of erf(1 / sqrt(8)) is Phi(1/2) - 1/2
        ("text.gauss_half", "", F("0.1914625"), "consistent"),
        ("T3b.sift.slack", "", F("0.102") / F("0.012"), "consistent"),
        ("T8.attribution_ens.mfs", "hm", hm(F("0.759"), F("0.38")), "contradicts"),
        ("T30.bbh.reduction_pct", "", 100 * F(11, 15), "contradicts"),
    ],
)
def test_figures_worked_out_by_hand(checks, claim, formula, value, verdict):
    check = find(checks, claim, formula)
    assert check.recomputed == pytest.approx(float(value), rel=1e-6)
    assert check.verdict == verdict
    assert check.low <= check.recomputed <= check.high


def test_mfs_above_coverage_is_impossible(checks):
    rows = {c.claim for c in checks if c.impossible and "MFS" in c.rule}
    ablations = published_figures()["T4a"]["rows"]
    assert len(ablations) == 7
    assert rows == {
        "T1d.sift.mfs", *(f"T4a.{row}.mfs" for row in ablations), "T17.F.hi", "T24.ens4.mfs",
        "T24.sift_no_abstention.mfs", "T24.sift_certified.mfs",
    }  # fmt: skip


def test_what_was_not_published_is_named(checks):
    check = find(checks, "T11.scientific.kappa_star")
    assert (check.verdict, check.recomputed) == ("cannot be derived", None)
    assert "T11.scientific.error_rates_by_coverage was not published" in check.reason


def test_counts_add_up(checks):
    counts = count_verdicts(checks)
    assert counts["checks"] == len(checks) == sum(counts[v] for v in VERDICTS)
    assert min(counts[v] for v in VERDICTS) > 0


def test_derivations_hold_no_verdict():
    allowed = {"rows", "claim", "equals", "at_most", "at_least", "law", "place", "rule"}
    for line in derivations():
        assert set(line) <= allowed
        assert len({"equals", "at_most", "at_least"} & set(line)) == 1
        assert not any(v in str(line) for v in (*VERDICTS, "impossible"))


def lines_of(*tables):
    """Derivations within single rows of these tables, which can all be met at once."""
    return [
        line
        for line in derivations()
        if line.get("rows", "").split(":")[0].split(" - ")[0] in tables
        and "." not in line["claim"]
        and not any(f"{t}." in str(line) for t in ("T1a", "T1c", "T1e", "T25", "T27", "T5"))
    ]


def test_a_doctored_consistent_table_has_no_contradiction():
    lines = lines_of("T1a", "T1d", "T4a", "T8", "T17", "T30")
    tables = copy.deepcopy(published_figures())
    assert count_verdicts(paper_check(tables, lines))["contradicts"] > 15
    for _ in range(2):  # A mended figure can be another one's ingredient.
        mended = set()
        for check in paper_check(tables, lines):
            if check.verdict == "contradicts" and check.claim not in mended:
                mended.add(check.claim)
                table, row, column = check.claim.split(".")
                at = tables[table]["columns"].index(column)
                digits = len(check.published.partition(".")[2])
                tables[table]["rows"][row][at] = f"{check.recomputed:.{digits}f}"
    counts = count_verdicts(paper_check(tables, lines))
    assert counts["contradicts"] == counts["impossible"] == 0
    assert counts["checks"] == count_verdicts(paper_check(lines=lines))["checks"]


def test_a_spoiled_figure_is_found():
    lines = [{"rows": "T1c", "claim": "raw", "equals": "floor + shift"}]
    assert count_verdicts(paper_check(lines=lines))["contradicts"] == 0
    tables = copy.deepcopy(published_figures())
    tables["T1c"]["rows"]["hidden"][0] = "0.253"
    spoiled = [c.claim for c in paper_check(tables, lines) if c.verdict == "contradicts"]
    assert spoiled == ["T1c.hidden.raw"]


def small(mfs, ivr, sensitivity, coverage):
    columns = ["mfs", "ivr", "sensitivity", "coverage"]
    return {"T": {"columns": columns, "rows": {"a": [mfs, ivr, sensitivity, coverage]}}}


LINES = [
    {"rows": "T", "claim": "mfs", "equals": "coverage * hm(1 - ivr, sensitivity)"},
    {"rows": "T", "claim": "mfs", "at_most": "coverage", "law": True},
]


@given(st.floats(0, 0.98), st.floats(0.02, 1), st.floats(0, 1), st.integers(1, 3))
def test_a_truthful_table_is_never_contradicted(ivr, sensitivity, coverage, digits):
    """Whatever is true, printing it rounded contradicts nothing: the range is wide enough."""
    mfs = coverage * hm(1 - ivr, sensitivity)
    table = small(*(f"{x:.{digits}f}" for x in (mfs, ivr, sensitivity, coverage)))
    found = paper_check(table, LINES)
    # 1 - ivr and AS can both print as 0, where the harmonic mean is 0 / 0.
    assert {c.verdict for c in found} <= {"consistent", "rounding", "cannot be derived"}


@pytest.mark.parametrize(
    ("printed", "formula", "verdict"),
    [
        ("0.20", "ivr - sensitivity", "consistent"),
        ("0.21", "ivr - sensitivity", "rounding"),  # .805 - .595 = .21
        ("0.22", "ivr - sensitivity", "contradicts"),  # the difference stays below .21
        ("0.81", "ivr", "contradicts"),  # one number cannot print as .80 and .81
        ("0.8", "ivr", "consistent"),
        ("0.30", "ivr * coverage", "rounding"),  # .805 * .4 is .322, .795 * .3 is .239
        ("0.2", "ivr / (coverage - coverage)", "cannot be derived"),
    ],
)
def test_rounding_lies_between(printed, formula, verdict):
    table = small(printed, "0.80", "0.60", "0.4" if "*" in formula else "1")
    line = {"rows": "T", "claim": "mfs", "equals": formula}
    assert paper_check(table, [line])[0].verdict == verdict


def test_a_pole_within_rounding_has_no_bound():
    line = {"rows": "T", "claim": "mfs", "equals": "ivr / (coverage - 0.05)"}
    (found,) = paper_check(small("90", "1.0", "0.1", "0.1"), [line])
    assert found.recomputed == pytest.approx(20) and found.verdict == "rounding"
    assert found.high is None and found.low is None
    assert "unbounded within rounding" in render_checks([found])


def test_the_range_is_that_of_all_corners():
    """Shares of a sum: which end of A is better depends on the others."""
    lines = [line for line in derivations() if "Shapley" in line["rule"]]
    cells = published_figures()["T17"]["rows"]
    for check in paper_check(lines=lines):
        corners = []
        for signs in itertools.product((-1, 1), repeat=len(cells)):
            values = {
                f"T17.{row}.mfs": float(cells[row][0]) + 0.005 * sign
                for row, sign in zip(cells, signs, strict=True)
            }
            formula = check.formula
            for name, value in values.items():
                formula = formula.replace(name, repr(value))
            corners.append(eval(formula))
        assert (check.low, check.high) == pytest.approx((min(corners), max(corners)))


def test_printed_digits_are_the_precision():
    assert Figure.parse("0.50") == Figure(0.5, 0.005)
    assert Figure.parse("-3") == Figure(-3.0, 0.5)
    assert Figure.parse("<0.001") is None and Figure.parse(None) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"claim": "T1d.sift.mfs", "equals": "T1d.sift.nothing"}, "no such figure"),
        ({"claim": "T1d.nobody.mfs", "equals": "1"}, "no such figure"),
        ({"claim": "T99.sift.mfs", "equals": "1"}, "no such table"),
        ({"claim": "T1d.sift.mfs", "equals": "exec(1)"}, "bad formula"),
        ({"claim": "T1d.sift.mfs", "equals": "1 +"}, "bad formula"),
        ({"claim": "T1d.sift.mfs"}, "bad derivation"),
        ({"claim": "T24.single.coverage", "equals": "1"}, "no published number"),
    ],
)
def test_bad_derivations_are_refused(line, message):
    with pytest.raises(InputError, match=message) as error:
        paper_check(lines=[line])
    assert "\n" not in str(error.value)


def test_published_rows_are_whole():
    sheet = Sheet(published_figures())
    for name, table in sheet.tables.items():
        for row in sheet.rows(name):
            assert len(table["rows"][row]) == len(table["columns"]), (name, row)


@pytest.mark.parametrize("argv", [(), ("--json",)])
def test_command(monkeypatch, capsys, checks, argv):
    monkeypatch.setattr(sys, "argv", ["faithshift", "paper-check", *argv])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert not ended.value.code and err == ""
    counts = count_verdicts(checks)
    if argv:
        value = json.loads(out)
        assert value["counts"] == counts and len(value["checks"]) == len(checks)
    else:
        assert len(out.splitlines()) == len(checks) + 2
        assert f"{counts['contradicts']} contradicts" in out.splitlines()[-1]
