"""What is fixed in advance: its hash, its limits, and the log of what was changed."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from importlib.resources import files

import pytest

from faithshift_bench.agreement import agree, read_settings, read_study
from faithshift_bench.agreement.figures import _curve
from faithshift_bench.agreement.report_tables import tables_of
from faithshift_bench.agreement.summary import headline_lines
from faithshift_data.errors import InputError
from tests.bench.agreement.rows import study, trace
from tests.bench.agreement.simulated import write_csv

DAY = '"2026-01-31"'
LOG = """
[[amendment]]
date = {date}
field = "{field}"
to = {to}
reason = "no model stays under it"
after_scores = true
"""


def test_the_shipped_plan_and_its_hash():
    plan = read_settings()
    shipped = (files("faithshift_bench.agreement") / "preregistration.toml").read_bytes()
    assert plan.sha256 == hashlib.sha256(shipped).hexdigest()
    assert (plan.source, plan.amendments) == ("as shipped", ())
    s = plan.settings
    assert (s.n_resamples, s.reversal_level, s.min_traces) == (2000, 0.80, 30)
    assert (s.judge_kappa, s.robust_tau, s.robust_shift) == (0.60, 0.85, 1.0)
    assert (s.accuracy_band, s.truncation_cap, s.trace_cut) == ((0.5, 0.8), 0.05, 60)


def test_an_own_plan_has_its_own_hash_and_an_amendment_leaves_it(tmp_path):
    own = tmp_path / "preregistration.toml"
    own.write_text('variants = ["bf_or_kept", "filler@lines", "ea60"]\ntruncation_cap = 0.02\n')
    plan = read_settings(tmp_path)
    assert plan.settings.variants == ("bf_or_kept", "filler@lines", "ea60")
    assert plan.settings.truncation_cap == 0.02
    assert plan.settings.min_traces == 30
    assert plan.sha256 == hashlib.sha256(own.read_bytes()).hexdigest()
    log = LOG.format(date='"2026-01-31"', field="truncation_cap", to="0.1")
    log += LOG.format(date="2026-02-01", field="truncation_cap", to="0.2")
    (tmp_path / "amendments.toml").write_text(log)
    amended = read_settings(tmp_path)
    assert amended.sha256 == plan.sha256
    assert amended.settings.truncation_cap == 0.2
    assert [(a.date, a.before, a.to) for a in amended.amendments] == [
        ("2026-01-31", 0.02, 0.1),
        ("2026-02-01", 0.1, 0.2),
    ]


def test_what_the_command_line_sets_is_in_the_log():
    plan = read_settings().amend("judge", "j", "set on the command line")
    assert [asdict(each) for each in plan.amendments] == [
        {
            "date": "",
            "field": "judge",
            "before": "",
            "to": "j",
            "reason": "set on the command line",
            "after_scores": None,
        }
    ]
    assert plan.amend("judge", "j", "again").amendments == plan.amendments
    made = agree(study(trace("m", "q", "A", "B", said={"j": "yes"})), plan)
    assert "Not fixed before scores could be seen: judge" in made.flags


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("min_traces = 0", "field min_traces: bad setting (expected a whole number from 1"),
        ("n_resamples = 99", "field n_resamples: bad setting (expected a whole number from 100"),
        ("min_traces = true", "field min_traces: bad setting"),
        ("min_traces = 2.5", "field min_traces: bad setting"),
        ("reversal_level = 0.4", "field reversal_level: bad setting (expected a number from 0.5"),
        ("accuracy_band = [0.8, 0.5]", "field accuracy_band: bad setting"),
        ('accuracy_band = "wide"', "field accuracy_band: bad setting"),
        ('variants = ["filler", "bf", "ea60"]', "field variants: bad setting (expected one vari"),
        ('variants = ["bf", "filler", "half"]', "field variants: bad setting"),
        ("judge = 3", "field judge: bad setting"),
        ("colour = 1", "field colour: no such setting (expected variants"),
        ("variants = ", "not TOML"),
        ("seed = nan", "field seed: bad setting"),
    ],
)
def test_a_bad_plan_is_one_line(tmp_path, text, line):
    (tmp_path / "preregistration.toml").write_text(text)
    with pytest.raises(InputError) as found:
        read_settings(tmp_path)
    assert line in str(found.value) and "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("amendment = 3", "not a log of amendments"),
        ("[[change]]\n", "not a log of amendments"),
        ("[[amendment]]\ndate = 1", "field field: missing or bad"),
        (LOG.format(date='""', field="colour", to="1"), "field colour: no such setting"),
        (LOG.format(date=DAY, field="seed", to="-1"), "row 0, field seed: bad setting"),
        (LOG.format(date='""', field="seed", to="1") + "by = 1", "field by: unknown field"),
        (LOG.format(date='""', field="seed", to="1"), "row 0, field date: no date (expected a d"),
        (LOG.format(date='"2026-02-31"', field="seed", to="1"), "row 0, field date: no date"),
        (LOG.format(date='"31.1.26"', field="seed", to="1"), "row 0, field date: no date"),
        (LOG.format(date="1", field="seed", to="1"), "row 0, field date: no date"),
    ],
)
def test_a_bad_log_is_one_line(tmp_path, text, line):
    (tmp_path / "amendments.toml").write_text(text)
    with pytest.raises(InputError) as found:
        read_settings(tmp_path)
    assert line in str(found.value)


def test_the_cue_of_a_run_is_taken_up(tmp_path) -> None:
    (tmp_path / "run.json").write_text('{"elicitation": "Answer: ("}')
    plan = read_settings(tmp_path)
    assert (plan.settings.elicitation, plan.amendments) == ("Answer: (", ())
    assert plan.sha256 == read_settings().sha256 and not read_settings().settings.elicitation
    (tmp_path / "preregistration.toml").write_text('elicitation = "So: "')
    with pytest.raises(InputError, match="another cue than planned") as caught:
        read_settings(tmp_path)
    assert (caught.value.expected, caught.value.got) == ("So: ", "Answer: (")
    for text in ("{}", '{"elicitation": null}', '{"elicitation": "So: "}'):
        (tmp_path / "run.json").write_text(text)
        assert read_settings(tmp_path).settings.elicitation == "So: "
    for text, line in (
        ("{", "run.json: not JSON"),
        ("[" * 100_000, "run.json: not JSON"),
        ("[]", "run.json: not an object .expected a JSON object, got list"),
        ('{"elicitation": 3}', "run.json, field elicitation: bad type .expected text, got int"),
    ):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(InputError, match=line):
            read_settings(tmp_path)


def test_a_table_has_the_files_beside_it_like_its_folder(tmp_path, monkeypatch) -> None:
    (tmp_path / "preregistration.toml").write_text("n_resamples = 100\nmin_traces = 1\n")
    (tmp_path / "amendments.toml").write_text(LOG.format(date=DAY, field="seed", to="1"))
    (tmp_path / "run.json").write_text('{"elicitation": "Answer: ("}')
    table = write_csv(tmp_path / "mine.csv", trace("m", "q", "A", "B", said={"j": "yes"}))
    plan = read_settings(table)
    assert plan == read_settings(tmp_path)
    assert (plan.source, plan.settings.seed, plan.run) == ("preregistration.toml", 1, "run.json")
    monkeypatch.chdir(tmp_path)
    assert read_settings("mine.csv") == plan
    made = agree(read_study(table), plan)
    assert headline_lines(made)[0] == "Judge: j; cue Answer: ( (run.json)."
    (settings,) = [each for each in tables_of(made) if each.name == "settings"]
    assert settings.note == (
        f"Fixed in preregistration.toml beside the table; sha256 {plan.sha256}. Not fixed there, "
        "but amended: seed. The elicitation is what run.json beside the table says."
    )


@pytest.mark.parametrize(
    ("after", "standing"),
    [
        ((), "fixed in advance"),
        (("false",), "amended before scores were seen"),
        (("false", "true"), "amended after scores were seen"),
    ],
)
def test_no_figure_calls_fixed_what_was_amended(tmp_path, after, standing) -> None:
    log = "".join(
        LOG.format(date=DAY, field="reversal_level", to=0.6).replace("true", word) for word in after
    )
    (tmp_path / "amendments.toml").write_text(log)
    plan = read_settings(tmp_path).amend("n_resamples", 100, "test")
    assert plan.standing("reversal_level") == standing
    assert plan.standing("n_resamples") == "amended"
    rows = [
        trace(name, f"q{k:02d}", "A", "B", "AB"[k % 3 > m], said={"j": ("no", "yes")[k % 3 > m]})
        for m, name in enumerate("mn")
        for k in range(31)
    ]
    (axes,) = _curve(agree(study(*rows), plan)).axes
    assert axes.get_xlabel().endswith(f", {standing})")
