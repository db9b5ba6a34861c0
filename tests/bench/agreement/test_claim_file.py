"""The file ``claim.toml``: nothing is claimed in it that the table does not bear out."""

from __future__ import annotations

import tomllib

from faithshift_bench.agreement import agree, read_settings
from faithshift_bench.agreement.claims import check_claim
from faithshift_bench.agreement.summary import claim_toml
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
