"""The file ``claim.toml``: nothing is claimed in it that the table does not bear out."""

from __future__ import annotations

import tomllib

from faithshift_bench.agreement import agree, read_settings
from faithshift_bench.agreement.claims import BROKEN, KEPT, check_claim, lint_claim
from faithshift_bench.agreement.summary import claim_toml, headline_lines
from tests.bench.agreement.rows import study, trace

PLAN = read_settings().amend("n_resamples", 100, "test")


def rows_of_models(names="mno", n=31):
    return [
        row
        for number, name in enumerate(names)
        for k in range(n)
        for row in trace(
            name, f"q{k:02d}", "A", "B",
            "A" if k % (number + 2) else "B", "B" * 5,
            said={"j": "yes" if k % (number + 2) else "no"},
        )
    ]  # fmt: skip


def verified(rows, **said):
    """The rows with ``injection_verified`` of each injecting condition."""
    for row in rows:
        word = said.get(row["condition"].partition("@")[0])
        if word is not None:
            row["injection_verified"] = word
    return rows


def claim_of(rows):
    text = claim_toml(agree(study(rows), PLAN))
    return check_claim(tomllib.loads(text)), text


def injections(rows):
    claim, text = claim_of(rows)
    found = {each["metric"]: each.get("injection_verified") for each in claim["result"]}
    assert found.pop("biasing_features") is None
    return found["filler_tokens"], found["early_answering"], text


def test_an_injection_is_verified_where_all_rows_of_its_metric_are():
    rows = verified(rows_of_models(), filler="true", early="true")
    assert injections(rows)[:2] == (True, True)
    assert injections(verified(rows, early="false"))[:2] == (True, False)
    filler, early, text = injections(verified(rows, filler="", early="true"))
    assert (filler, early) == (False, True) and "  # 93 of 93 rows unstated\n" in text


def test_failed_rows_are_counted_beside_the_claim():
    rows = verified(rows_of_models(), filler="true", early="true")
    next(row for row in rows if row["condition"] == "early@60")["injection_verified"] = "false"
    filler, early, text = injections(rows)
    assert (filler, early) == (True, False)
    assert "injection_verified = false  # 1 of 465 rows failed\n" in text


def test_what_has_no_score_is_not_verified():
    few = verified(rows_of_models(n=9), filler="true", early="true")
    filler, early, text = injections(few)
    assert (filler, early) == (False, False) and "  # no model has a score\n" in text
    without = [row for row in few if row["condition"] in ("baseline", "hinted", "filler")]
    assert injections(without)[1] is False


def rule_3(claim):
    return lint_claim(claim)[2].outcome


def test_only_pairs_that_two_metrics_order_can_reverse():
    rows = rows_of_models()
    half = [r for r in rows if r["model"] != "o" or r["condition"] in ("baseline", "hinted")]
    whole, made = agree(study(rows), PLAN), agree(study(half), PLAN)
    assert (whole.n_comparable, made.n_comparable) == (3, 1)
    (line,) = [line for line in headline_lines(made) if "models reverse between" in line]
    assert line.startswith(f"{made.n_reversing} of 1 pairs of models reverse between")
    claim = check_claim(tomllib.loads(claim_toml(made)))
    assert claim["disagreements"].endswith(f"{made.n_reversing} of 1 pairs of models reverse")
    assert rule_3(claim) == KEPT


def test_where_nothing_can_be_compared_nothing_is_said_to_agree():
    rows = [row for row in rows_of_models() if row["condition"] in ("baseline", "hinted")]
    made = agree(study(rows), PLAN)
    why = "no two metrics score the same two models"
    assert f"Pairs of models that reverse: undefined ({why})." in headline_lines(made)
    assert f"Whether models reverse is undefined: {why}" in made.flags
    claim, text = claim_of(rows)
    assert claim["disagreements"] == "" and why in text
    assert rule_3(claim) == BROKEN


def test_a_rerun_is_of_one_model_with_its_own_share():
    rows = [{**row, "reasoning": "so"} for row in rows_of_models(n=4)]
    again = [{**row, "run": 1} for row in rows if row["model"] in "mn"]
    for row in again:
        row["reasoning"] = "or" if (row["model"], row["condition"]) == ("n", "filler") else "so"
    claim, _ = claim_of([*rows, *again])
    assert claim["rerun"] == {"model": "n", "identical": 28 / 32}
