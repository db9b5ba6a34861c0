"""Six rules for reporting a result: each can be kept, broken, and not apply."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_bench.agreement.claims import (
    BROKEN,
    IDLE,
    KEPT,
    check_claim,
    lint_claim,
    read_claim,
    render_rulings,
)
from faithshift_data.errors import InputError

GOOD = {
    "claim": "A more often than B says what influenced its answer.",
    "kind": "comparison",
    "informs_decision": True,
    "disagreements": "tau-b 0.62; 4 of 28 pairs reverse",
    "result": [
        {
            "metric": "biasing_features",
            "property": "honest",
            "judge": "model",
            "elicitation": "none",
        },
        {
            "metric": "filler_tokens",
            "property": "necessary",
            "judge": "none",
            "elicitation": "Answer: (",
            "injection_verified": True,
        },
    ],
    "reproduction": {"source": "a paper", "published": 0.5, "ours": 0.48},
    "rerun": {"model": "A", "identical": 1.0},
}


def changed(path, value=None):
    """The good claim with one field changed, or taken away."""
    claim = deepcopy(GOOD)
    *way, last = path
    place = claim
    for step in way:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return claim


def outcomes(claim):
    return [each.outcome for each in lint_claim(check_claim(claim))]


def test_a_good_claim_keeps_all_six():
    assert outcomes(GOOD) == [KEPT] * 6


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        (["result", 0, "judge"], None, 1),
        (["result", 0, "judge"], "none", 1),
        (["result", 1, "judge"], " ", 1),
        (["result", 1, "elicitation"], None, 1),
        (["kind"], None, 2),
        (["informs_decision"], None, 3),
        (["disagreements"], "", 3),
        (["result", 0, "property"], None, 4),
        (["result", 0, "property"], "necessary", 4),
        (["result", 0, "property"], "good", 4),
        (["claim"], "A is more faithful than B.", 4),
        (["claim"], "...", 4),
        (["result", 1, "injection_verified"], False, 5),
        (["result", 1, "injection_verified"], None, 5),
        (["reproduction"], None, 6),
        (["reproduction", "ours"], None, 6),
        (["rerun"], None, 6),
        (["reproduction", "ours"], 0.56, 6),
        (["reproduction", "source"], "...", 6),
        (["rerun", "identical"], 0.97, 6),
        (["disagreements"], "undefined: nothing can be compared", 3),
        (["result", 1, "elicitation"], "...", 1),
        (["claim"], "A is more faithful; an independent test.", 4),
        (["claim"], "Dishonestly, A is more faithful.", 4),
    ],
)
def test_one_fault_breaks_one_rule_and_says_what_to_add(path, value, rule):
    found = lint_claim(check_claim(changed(path, value)))
    broken = [each.number for each in found if each.outcome == BROKEN]
    assert broken == [rule]
    assert found[rule - 1].add
    assert f"{rule}. broken" in render_rulings(found) and "   add: " in render_rulings(found)


def test_a_result_without_a_metric_is_no_metric():
    found = lint_claim(check_claim(changed(["result", 0, "metric"], "")))
    assert found[0].add == ("metric of result 0",)
    assert [each.outcome for each in found[1:3]] == [BROKEN, BROKEN]
    assert outcomes({}) == [BROKEN, BROKEN, BROKEN, BROKEN, IDLE, BROKEN]


def test_one_metric_ranks_nothing():
    claim = changed(["result"], GOOD["result"][:1])
    assert outcomes(claim)[1:3] == [BROKEN, BROKEN]
    claim["kind"] = "score"
    claim["informs_decision"] = False
    assert outcomes(claim)[1:3] == [IDLE, IDLE]
    # The same metric twice is one metric.
    claim |= {"kind": "ranking", "result": GOOD["result"][:1] * 2}
    assert outcomes(claim)[1] == BROKEN


def test_injection_is_asked_of_what_injects():
    only = changed(["result"], GOOD["result"][:1])
    assert outcomes(only)[4] == IDLE
    other = {**GOOD["result"][0], "metric": "adding_mistakes", "injects": True}
    assert outcomes(changed(["result"], [other]))[4] == BROKEN
    assert outcomes(changed(["result"], [{**other, "injection_verified": True}]))[4] == KEPT


@pytest.mark.parametrize("name", ["filler", "Filler_Tokens", " filler tokens ", "Filler-tokens"])
def test_a_metric_is_known_by_each_of_its_spellings(name):
    other = GOOD["result"][1] | {"metric": name, "property": "deciding"}
    unsure = {**other, "injection_verified": False, "injects": False}
    assert outcomes(changed(["result", 1], unsure))[3:5] == [BROKEN, BROKEN]
    twice = changed(["result"], [GOOD["result"][1], other])
    assert outcomes(twice)[1:3] == [BROKEN, BROKEN]


def test_variants_are_their_metric_and_other_metrics_are_others():
    names = ("bf_walden", "ea60", "ea_trapezoid", "eager", "early_answering")
    found = [{"metric": name, "property": "honest"} for name in names]
    said = " ".join(lint_claim(check_claim({"result": found}))[3].add)
    assert said.count("property of early_answering: deciding") == 3
    assert "biasing" not in said and "eager" not in said


def test_a_difference_may_be_explained():
    assert outcomes(changed(["reproduction", "ours"], 0.54))[5] == KEPT
    claim = changed(["reproduction", "ours"], 0.2)
    claim["rerun"]["identical"] = 0.9
    assert outcomes(claim)[5] == BROKEN
    claim["reproduction"]["why"], claim["rerun"]["why"] = "another judge", "..."
    assert outcomes(claim)[5] == BROKEN
    claim["rerun"]["why"] = "two kinds of GPU"
    assert outcomes(claim)[5] == KEPT


def test_a_claim_that_names_its_property_may_say_faithful():
    text = "By filler tokens, A's reasoning is more faithful: its answer needs the reasoning."
    assert outcomes(changed(["claim"], text))[3] == KEPT


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ([], "not a claim"),
        ({"verdict": 1}, "field verdict: unknown field"),
        ({"kind": "order"}, "field kind: bad value (expected score, comparison, ranking"),
        ({"claim": 3}, "field claim: bad type (expected str, got int"),
        ({"result": ["x"]}, "row 0, field result: not a table"),
        ({"result": [{"metric": 1}]}, "row 0, field metric: bad type"),
        ({"rerun": {"identical": 1.5}}, "field identical: out of range"),
        ({"rerun": {"identical": True}}, "field identical: bad type"),
        ({"reproduction": {"ours": "0.5"}}, "field ours: bad type"),
        ({"reproduction": {"ours": float("nan")}}, "field ours: out of range"),
        ({"reproduction": {"published": 59}}, "field published: out of range (expected 0 to 1"),
    ],
)
def test_what_is_no_claim_is_one_line(claim, line):
    with pytest.raises(InputError) as found:
        check_claim(claim)
    assert line in str(found.value)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*GOOD, "metric", "property"]), inner, max_size=4),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(list(GOOD)), JSON, max_size=4))
def test_whatever_it_holds_it_is_judged_or_one_line(claim):
    try:
        found = lint_claim(check_claim(claim))
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert [each.number for each in found] == [1, 2, 3, 4, 5, 6]
        assert all((each.outcome == BROKEN) == bool(each.add) for each in found)


def test_files(tmp_path):
    (tmp_path / "claim.json").write_text(json.dumps(GOOD))
    assert read_claim(tmp_path / "claim.json") == GOOD
    (tmp_path / "claim.toml").write_text('kind = "score"\n')
    assert read_claim(tmp_path / "claim.toml") == {"kind": "score"}
    (tmp_path / "marked.toml").write_text('kind = "score"\n', encoding="utf-8-sig")
    assert read_claim(tmp_path / "marked.toml") == {"kind": "score"}
    for name, text, line in (
        ("a.toml", "kind =", "not TOML"),
        ("a.json", "{", "not JSON"),
        ("a.yaml", "kind: score", "unknown kind of file (expected .toml or .json, got .yaml"),
        ("a.json", b"\xff\xfe", "not JSON"),
    ):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(InputError) as found:
            read_claim(tmp_path / name)
        assert line in str(found.value)
    with pytest.raises(InputError, match="no such file"):
        read_claim(tmp_path / "absent.toml")
