"""Prespecified hypotheses: the file is whole, and outcomes fall where its limits say."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_bench import InputError
from faithshift_bench.studies.hypotheses import (
    LIMITS,
    Estimate,
    hypotheses,
    hypotheses_sha256,
    judge,
)

ABOVE, BELOW, ACROSS = (0.20, 0.16, 0.24), (0.10, 0.06, 0.14), (0.15, 0.11, 0.19)
ORDER = ("not supported", "undefined", "inconclusive", "supported")


def gaps(*values):
    units = hypotheses()["S.H1"].units
    return {"gap_worst": {u: Estimate(*v) for u, v in zip(units, values, strict=False)}}


def test_the_file_holds_the_prespecified_ones():
    found = hypotheses()
    assert list(found) == [
        "S.H1", "S.H2a.raw", "S.H2a.excess", "S.H2b", "S.H3", "S.H4", "M.H1", "M.H2", "M.H3",
    ]  # fmt: skip
    for h in found.values():
        assert h.needs in ("every", "any") and h.units and h.claim
        for part in h.parts:
            assert set(part) == {"quantity", "supported", "refuted"}
            assert part["supported"] and part["refuted"]
            assert set(part["supported"]) | set(part["refuted"]) <= set(LIMITS)
    assert [h.id for h in found.values() if h.post_hoc] == ["M.H3"]
    assert len(hypotheses_sha256()) == 64


@pytest.mark.parametrize(
    ("id", "limit"),
    [("S.H1", 0.15), ("S.H2a.raw", 0.25), ("S.H2a.excess", 0.25), ("S.H2b", 0.5),
     ("S.H3", 0.10), ("M.H2", 0.4), ("M.H3", 0.0)],
)  # fmt: skip
def test_published_limits(id, limit):
    for part in hypotheses()[id].parts:
        assert {*part["supported"].values(), *part["refuted"].values()} == {limit}


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ([ABOVE] * 5, "supported"),
        ([ABOVE] * 4 + [ACROSS], "inconclusive"),
        ([ABOVE] * 4 + [BELOW], "not supported"),
        ([ACROSS] * 4 + [BELOW], "not supported"),
        ([ABOVE] * 4, "undefined"),
        ([ABOVE] * 3 + [BELOW], "not supported"),  # the fifth is missing, yet one refutes
        ([ABOVE] * 4 + [(0.2, None, None)], "undefined"),
        ([ABOVE] * 4 + [(0.2, 0.15, 0.3)], "supported"),  # at least: the limit counts
        ([ABOVE] * 4 + [(0.1, 0.0, 0.15)], "inconclusive"),
        ([], "undefined"),
    ],
)
def test_every_detector_decides_a_transfer_gap(values, outcome):
    found = judge("S.H1", gaps(*values))
    assert found.outcome == outcome
    assert len(found.parts) == 5


def pairs(*values):
    units = hypotheses()["M.H1"].units
    return {"tau_b": {u: Estimate(*v) for u, v in zip(units, values, strict=True)}}


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        # One pair under .6 whose interval stays under .8 is enough.
        ([(0.5, 0.1, 0.79), (0.9, 0.7, 1), (None, None, None)], "supported"),
        ([(0.5, 0.1, 0.80), (0.7, 0.5, 0.9), (0.7, 0.5, 0.9)], "inconclusive"),
        ([(0.61, 0.2, 0.75), (0.7, 0.5, 0.9), (0.7, 0.5, 0.9)], "inconclusive"),
        ([(0.85, 0.61, 1), (0.9, 0.7, 1), (0.81, 0.601, 1)], "not supported"),
        ([(0.85, 0.60, 1), (0.9, 0.7, 1), (0.81, 0.601, 1)], "inconclusive"),
        ([(0.85, 0.61, 1), (0.9, 0.7, 1), (None, None, None)], "undefined"),
    ],
)
def test_any_pair_of_metrics_decides_divergence(values, outcome):
    assert judge("M.H1", pairs(*values)).outcome == outcome


@pytest.mark.parametrize(
    ("bound", "coverage", "outcome"),
    [
        (0.24, (0.70, 0.65, 0.75), "supported"),
        (0.24, (0.60, 0.55, 0.65), "inconclusive"),
        (0.249, (0.50, 0.46, 0.54), "not supported"),
        (0.31, (0.0, 0.0, 0.0), "not supported"),  # nothing certified
        (0.31, (0.70, 0.65, 0.75), "inconclusive"),  # a bound over alpha says nothing of the risk
    ],
)
def test_certified_coverage(bound, coverage, outcome):
    estimates = {
        "certified_bound": {"sift": Estimate(bound, 0.0, bound, 56)},
        "certified_coverage": {"sift": Estimate(*coverage, 188)},
    }
    found = judge("S.H4", estimates)
    assert found.outcome == outcome
    assert "n = 56" in found.to_text() and "n = 188" in found.to_text()


def test_text_says_what_is_undefined_and_what_was_chosen_afterwards():
    text = judge("M.H3", {}).to_text()
    assert text.startswith("M.H3: undefined (statistic chosen afterwards).")
    assert "kappa_difference of instruct - thinking: undefined: undefined" in text


@given(
    st.permutations(range(5)),
    st.lists(st.sampled_from([ABOVE, BELOW, ACROSS, (None, None, None)]), min_size=5, max_size=5),
)
def test_order_of_units_does_not_matter_and_the_worst_part_decides(order, values):
    units = hypotheses()["S.H1"].units
    shuffled = {"gap_worst": {units[i]: Estimate(*values[i]) for i in order}}
    found = judge("S.H1", shuffled)
    assert found == judge("S.H1", gaps(*values))
    assert found.outcome == min((p.outcome for p in found.parts), key=ORDER.index)


@pytest.mark.parametrize("id", list(hypotheses()))
def test_no_interval_both_supports_and_refutes(id):
    grid = [x / 20 for x in range(-4, 24)]
    for part in hypotheses()[id].parts:
        for low, high in itertools.combinations_with_replacement(grid, 2):
            for value in (low, (low + high) / 2, high):
                e = Estimate(value, low, high)
                both = [
                    all(LIMITS[k][1](getattr(e, LIMITS[k][0]), x) for k, x in part[side].items())
                    for side in ("supported", "refuted")
                ]
                assert not all(both)


@pytest.mark.parametrize(
    ("id", "estimates", "message"),
    [
        ("S.H9", {}, "no such hypothesis"),
        ("S.H1", {"gap_mean": {}}, "not prespecified"),
        ("S.H1", {"gap_worst": {"best_of_many": Estimate(*ABOVE)}}, "not prespecified"),
        ("S.H1", gaps((0.2, 0.3, 0.1)), "bad interval"),
        ("S.H1", gaps((0.2, math.nan, 0.3)), "bad interval"),
    ],
)
def test_bad_input_is_refused(id, estimates, message):
    with pytest.raises(InputError, match=message):
        judge(id, estimates)
