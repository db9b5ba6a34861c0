"""Copies of rows carry no information: with items as the unit, they change nothing.

A rate, its interval and every certificate that holds must come out the same when each row of an
item stands k times; a unit that takes rows for independent grows more certain instead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faithshift_bench as fb

DECISION = ("certified", "threshold", "coverage", "level", "n_items", "p_certify")


@st.composite
def rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confidence in quarters, errors, and the item of each row."""
    n = draw(st.integers(4, 40))
    confidence = draw(st.lists(st.sampled_from([0, 0.25, 0.5, 0.75, 1]), min_size=n, max_size=n))
    errors = draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=n, max_size=n))
    items = draw(st.lists(st.integers(0, 11), min_size=n, max_size=n))
    return np.array(confidence, float), np.array(errors), np.array(items)


@settings(max_examples=30, deadline=None)
@given(rows(), rows(), st.integers(2, 4))
@pytest.mark.parametrize("bound", ["betting", "betting-mixture", "betting-agrapa"])
def test_clustered_certificates_do_not_count_copies(bound, calib, tune, k: int) -> None:
    confidence, errors, items = calib
    options = {
        "unit": "clustered",
        "bound": bound,
        "multiplicity": "fixed_sequence",
        "thresholds": (0.0, 0.25, 0.5, 0.75),
        "tune": tune,
        "redraws": 20,
    }
    once = fb.certify(confidence, errors, groups=items, **options)
    often = fb.certify(
        np.repeat(confidence, k), np.repeat(errors, k), groups=np.repeat(items, k), **options
    )
    assert [getattr(once, name) for name in DECISION] == pytest.approx(
        [getattr(often, name) for name in DECISION]
    )
    assert often.upper_bound == pytest.approx(once.upper_bound, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(rows(), st.integers(2, 4))
def test_one_row_an_item_draws_the_same_row_among_copies(calib, k: int) -> None:
    confidence, errors, items = calib
    once = fb.certify(confidence, errors, groups=items, seed=3, redraws=20)
    often = fb.certify(
        np.repeat(confidence, k),
        np.repeat(errors, k),
        groups=np.repeat(items, k),
        seed=3,
        redraws=20,
    )
    assert replace(often, coverage=once.coverage) == once
    assert often.coverage == pytest.approx(once.coverage)


def test_rows_taken_for_independent_gain_by_copies() -> None:
    confidence, errors = np.ones(12), np.zeros(12, dtype=int)
    once = fb.certify(confidence, errors, groups=np.arange(12), unit="iid")
    often = fb.certify(np.ones(48), np.zeros(48, int), groups=np.arange(48) % 12, unit="iid")
    assert not once.certified and often.certified
    assert any("no guarantee" in flag for flag in often.flags)


@settings(max_examples=40, deadline=None)
@given(rows(), st.integers(2, 4))
def test_rates_and_their_intervals_do_not_count_copies(calib, k: int) -> None:
    _, errors, items = calib
    anchor = np.ones(len(errors), dtype=int)
    once = fb.invariance_violation_rate(anchor, 1 - errors, groups=items, n_resamples=50)
    often = fb.invariance_violation_rate(
        np.repeat(anchor, k), np.repeat(1 - errors, k), groups=np.repeat(items, k), n_resamples=50
    )
    assert often.value == pytest.approx(once.value)
    assert often.n_items == once.n_items
    assert (often.interval is None) == (once.interval is None)
    if once.interval is not None:
        assert often.interval == pytest.approx(once.interval)
