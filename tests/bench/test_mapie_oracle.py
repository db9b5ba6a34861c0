"""Certificates against MAPIE, wherever both define the same thing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faithshift_bench import certify
from faithshift_bench.risk.bounds import Exact, binomial_p_value
from faithshift_bench.risk.plan import Procedure

mapie = pytest.importorskip("mapie.risk_control")
methods = pytest.importorskip("mapie.risk_control.methods")

NAMES = {
    "bonferroni": "bonferroni", "fixed_sequence": "fixed_sequence", "holm": "bonferroni_holm",
}  # fmt: skip
# Powers of two and multiples of delta / K: ties, and p-values that equal their level.
P_VALUES = st.lists(
    st.one_of(
        st.floats(0, 1),
        st.floats(0, 0.05),
        st.integers(0, 9).map(lambda k: 2.0**-k),
        st.integers(1, 12).map(lambda k: 0.05 / k),
    ),
    min_size=1,
    max_size=12,
)


def ours(p_values, delta, multiplicity, order=None):
    procedure = Procedure(Exact(0.25), order, multiplicity, delta)
    return np.flatnonzero(procedure.decide(np.array(p_values))).tolist()


@pytest.mark.parametrize("multiplicity", NAMES)
@given(p_values=P_VALUES, delta=st.sampled_from([0.05, 0.1, 0.5]), data=st.data())
@settings(deadline=None)
def test_decisions_equal_mapie(multiplicity, p_values, delta, data):
    order = np.arange(len(p_values))
    if multiplicity == "fixed_sequence":
        order = np.array(data.draw(st.permutations(order.tolist())))
    # MAPIE tests a fixed sequence from left to right.
    there = mapie.control_fwer(np.array(p_values)[order], delta, NAMES[multiplicity])
    sequence = order if multiplicity == "fixed_sequence" else None
    assert ours(p_values, delta, multiplicity, sequence) == sorted(order[there].tolist())


@pytest.mark.parametrize("multiplicity", ["bonferroni", "fixed_sequence"])
@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_threshold_that_selects_nothing_is_not_certified_by_either(multiplicity, empty):
    """There its p-value is NaN, here 1; a sequence stops at both. Holm's there takes NaN first."""
    p_values = np.full(3, 0.001)
    here, there = p_values.copy(), p_values.copy()
    here[empty], there[empty] = 1, np.nan
    order = np.arange(3) if multiplicity == "fixed_sequence" else None
    found = ours(here, 0.05, multiplicity, order)
    assert found == mapie.control_fwer(there, 0.05, multiplicity).tolist()
    assert empty not in found and len(found) == (empty if order is not None else 2)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.25, 0.5, 0.9])
def test_exact_p_values_are_never_above_hoeffding_bentkus(alpha):
    """For 0/1 losses theirs is the smaller of the binomial tail and a bound on it, so the same.

    Their count ``ceil(n * (errors / n))`` is one too many where the product rounds upwards.
    """
    n = np.repeat(np.arange(1, 121), np.arange(2, 122))
    errors = np.concatenate([np.arange(size + 1) for size in range(1, 121)])
    exact = binomial_p_value(errors, n, alpha)
    rates = errors / n

    def theirs(binary):
        return methods.compute_hoeffding_bentkus_p_value(rates, n, alpha, binary=binary)[:, 0]

    assert (theirs(False) >= exact * (1 - 1e-9)).all()
    assert (theirs(True) >= exact * (1 - 1e-9)).all()
    counted = np.ceil(n * rates) == errors
    assert counted.mean() > 0.9
    assert theirs(True)[counted] == pytest.approx(exact[counted], rel=1e-9, abs=1e-300)
    assert (theirs(False) > exact * 1.5).any()


@pytest.mark.parametrize("multiplicity", ["bonferroni", "holm"])
@pytest.mark.parametrize("seed", range(8))
def test_certificates_of_single_rows_equal_learn_then_test(seed, multiplicity):
    """One row an item: thresholds certified here are those that MAPIE's parts accept."""
    rng = np.random.default_rng(seed)
    confidence = rng.integers(0, 65, 256) / 64
    errors = (rng.random(256) > 0.5 + 0.5 * confidence).astype(int)
    found = certify(
        confidence, errors, unit="one_per_item", bound="exact", multiplicity=multiplicity
    )
    n, wrong = (np.array([getattr(row, name) for row in found.scan]) for name in ("n", "errors"))
    # A hair below the rate, so that rounding does not count one error more.
    rates = np.maximum(wrong - 1e-9, 0) / n
    p_values = methods.compute_hoeffding_bentkus_p_value(rates, n, 0.25, binary=True)[:, 0]
    accepted = mapie.control_fwer(p_values, 0.05, NAMES[multiplicity])
    assert np.flatnonzero([row.certified for row in found.scan]).tolist() == accepted.tolist()
    assert found.certified == (len(accepted) > 0)
    assert 0 < len(accepted) < len(n)
