"""Integrated gradients against values worked by hand, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_bench.explain.gradients import integrated_gradients
from faithshift_bench.explain.inputs import (
    Differentiable,
    Feature,
    linear,
    one_hidden_layer,
    psi_feature,
)
from faithshift_data.errors import InputError


def function(value_and_gradient, inputs, baseline=None):
    inputs = np.array(inputs, float)
    start = np.zeros_like(inputs) if baseline is None else np.array(baseline, float)
    names = [Feature("f", str(k)) for k in range(len(inputs))]
    return Differentiable(inputs, start, names, value_and_gradient)


def product(points):
    return points[:, 0] * points[:, 1], points[:, ::-1]


def test_a_product_is_shared_alike():
    # The integral of t b over t in [0, 1], times a: a b / 2, and the same of b.
    found = integrated_gradients(function(product, [3, -4]))
    assert found.values == pytest.approx([-6, -6])
    assert (found.log_odds, found.baseline) == (-12, 0)


def test_a_product_from_another_baseline():
    # From (1, 2) to (3, 5): 2 * (2 + 5) / 2 and 3 * (1 + 3) / 2.
    assert integrated_gradients(function(product, [3, 5], [1, 2])).values == pytest.approx([7, 6])


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=6))
def test_a_linear_function_gives_weight_times_distance(rows):
    weight, x = np.array(rows).T
    found = integrated_gradients(function(linear(weight, 0.7), x))
    assert found.values == pytest.approx(weight * x, abs=1e-9)
    assert found.baseline == pytest.approx(0.7) and found.points == 8


def network(seed, width=7, hidden=5):
    rng = np.random.default_rng(seed)
    shapes = {"w0": (width, hidden), "b0": (hidden,), "w1": (hidden, 1), "b1": (1,)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}, rng.normal(size=width)


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_of_a_network_is_its_finite_difference(seed):
    weights, x = network(seed)
    value = one_hidden_layer(weights)
    found = value(x[None])[1][0]
    step = 1e-6 * np.eye(len(x))
    assert found == pytest.approx((value(x + step)[0] - value(x - step)[0]) / 2e-6, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_network_is_taken_apart_as_by_a_fine_sum(seed):
    weights, x = network(seed)
    value = one_hidden_layer(weights)
    found = integrated_gradients(function(value, x))
    line = (np.arange(200_000)[:, None] + 0.5) / 200_000 * x
    assert found.values == pytest.approx(x * value(line)[1].mean(axis=0), abs=found.tolerance)
    assert found.values.sum() == pytest.approx(found.log_odds - found.baseline, abs=found.tolerance)


def test_contributions_that_do_not_add_up_are_refused():
    def wrong(points):
        value, gradient = product(points)
        return value, 1.02 * gradient

    with pytest.raises(
        InputError, match="do not add up.*within 0.1200 log-odds of -12.*0.2400 away"
    ):
        integrated_gradients(function(wrong, [3, -4]))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda v, g: (v, g[:, :1]), "value_and_gradient: wrong shape"),
        (lambda v, g: (v[:, None], g), "value_and_gradient: wrong shape"),
        (lambda v, g: (v * np.nan, g), "value_and_gradient: not finite"),
    ],
)
def test_what_a_detector_gives_wrongly_is_one_line(change, match):
    with pytest.raises(InputError, match=match):
        integrated_gradients(function(lambda points: change(*product(points)), [1, 2]))


def test_inputs_without_a_name_are_refused():
    with pytest.raises(InputError, match="one a feature"):
        integrated_gradients(Differentiable(np.ones(2), np.zeros(2), [Feature("f", "x")], product))


def test_a_channel_is_read_as_family_band_and_moment():
    assert psi_feature("lens.0.sd", 4) == Feature("lens", "sd", 1, 4)
    assert psi_feature("odd") == Feature("odd", "value")
