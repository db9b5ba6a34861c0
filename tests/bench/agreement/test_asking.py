"""``agree --ask``: nothing is asked in vain, nothing twice, and a silence says why."""

from __future__ import annotations

import json

import pytest

from faithshift_bench.agreement import agree, read_settings
from faithshift_bench.agreement.judges import ask_judge, judge_named
from faithshift_bench.agreement.reading import assemble
from faithshift_bench.agreement.table import rows_of
from faithshift_data.errors import InputError
from tests.bench.agreement.rows import study, trace
from tests.bench.agreement.simulated import columns_of, write_csv
from tests.bench.agreement.test_output import run
from tests.measure.test_judges import FAILED, KEY, NO, Endpoint

pytest.importorskip("openai")
CUE = "A professor thinks it is (B)."
N = 6


def rows(said=None):
    return [
        row
        for k in range(N)
        for row in trace(
            "m", f"q{k}", "A", "B", said=said, question=f"{k}?", cue=CUE, reasoning="B"
        )
    ]


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setattr("faithshift_bench.agreement.output.figures_of", lambda made: {})
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = Endpoint()
    made.replies = [NO]
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def ask(endpoint, tmp_path, monkeypatch, capsys):
    def call(table, *more):
        argv = ("agree", table, "-o", tmp_path / "out", "--base-url", endpoint.url, *more)
        return run(monkeypatch, capsys, *argv)

    return call


def test_whose_verdicts_count_is_clear_before_anything_is_asked(ask, endpoint, tmp_path):
    table = write_csv(tmp_path / "t.csv", rows({"recorded": "yes"}))
    code, out, err = ask(table, "--ask", "new")
    assert (code, out, endpoint.requests) == (1, "", [])
    assert "say whose verdicts count (expected one of recorded, new as --judge or in pre" in err
    code, _, err = ask(table, "--ask", "new", "--judge", "typo")
    assert (code, endpoint.requests) == (1, []) and "no verdicts of it" in err
    code, out, _ = ask(table, "--ask", "new", "--judge", "new")
    assert (code, len(endpoint.requests)) == (0, N) and out.startswith("Judge: new;")


def test_a_run_that_was_interrupted_goes_on_with_the_replies(ask, endpoint, tmp_path):
    table = write_csv(tmp_path / "t.csv", rows())
    endpoint.replies = [NO, NO, (401, FAILED)]
    code, _, err = ask(table, "--ask", "new")
    assert code == 1 and "HTTP 401" in err and not (tmp_path / "out").exists()
    assert len(list((tmp_path / "out.replies").rglob("*.json"))) == 2
    asked = len(endpoint.requests)
    endpoint.replies = [NO]
    assert ask(table, "--ask", "new")[0] == 0
    assert len(endpoint.requests) == asked + N - 2


def test_the_reason_of_a_silence_is_shown_with_its_count(ask, endpoint, tmp_path):
    table = write_csv(tmp_path / "t.csv", rows())
    endpoint.replies = [(400, {"error": {"message": f"no json_schema for {KEY}"}})]
    code, out, err = ask(table, "--ask", "new")
    why = f"(first reason, n = {N}: HTTP 400: no json_schema for ***)"
    assert code == 0 and f"gave no verdict on {N} of {N} eligible traces (100.0%) {why}." in out
    whole = (tmp_path / "out" / "agreement.json").read_text("utf-8")
    assert json.loads(whole)["judges"][0]["silences"] == {"HTTP 400: no json_schema for ***": N}
    assert KEY not in out + err + whole and why in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("blank", [2, 40])
def test_eligible_traces_that_a_judge_was_not_asked_about_are_flagged(blank):
    words = [""] * blank + ["yes"] * (40 - blank)
    made = study(*(trace("m", f"q{k:02d}", "A", "B", said={"j": w}) for k, w in enumerate(words)))
    found = agree(made, read_settings().amend("n_resamples", 100, "test"))
    assert found.judges[0].not_asked == blank / 40
    flag = f"The judge j was not asked about {blank} of 40 eligible traces ({blank / 40:.1%})"
    assert [each for each in found.flags if each.startswith(flag)]
    asked = study(*(trace("m", f"q{k:02d}", "A", "B", said={"j": "no"}) for k in range(40)))
    assert not [flag for flag in agree(asked, found.plan).flags if "not asked" in flag]


def test_a_judge_cannot_have_the_name_of_the_labels():
    columns = columns_of(trace("m", "q", "A", "B", said={"reference": "yes"}))
    with pytest.raises(
        InputError, match="^t.csv, field verdict:reference: a judge of this name cannot"
    ):
        assemble("t.csv", rows_of(columns, "t.csv"))
    with pytest.raises(InputError, match="^table, field judge: a judge of this name cannot"):
        study(trace("m", "q", "A", "B")).with_verdicts("reference", {})


def test_the_rules_keep_nothing(tmp_path):
    judge = judge_named("rules", replies=tmp_path / "replies")
    made = assemble("t", rows_of(columns_of(rows()), "t"))
    assert (ask_judge(made, judge).said("rules")[0] == 0).all()
    assert list(tmp_path.iterdir()) == []
