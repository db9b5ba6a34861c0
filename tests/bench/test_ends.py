"""Rates of exactly 0 or 1 inside a macro mean: their draws spread as their exact bounds say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import faithshift_bench as fb
from faithshift_bench.stats import exact_interval, vary_ends

ITEMS = 40


def test_draws_of_an_end_have_the_exact_bounds_as_quantiles():
    rates, items = np.array([0.0, 1.0, 0.5]), np.array([ITEMS, 7, 9])
    draws = vary_ends(np.full((20_000, 3), 0.5), rates, items)
    assert stats.kstest(draws[:, 0], stats.beta(1, ITEMS).cdf).pvalue > 0.01
    assert np.quantile(draws[:, 0], 0.975) == pytest.approx(exact_interval(0, ITEMS)[1], rel=0.03)
    assert np.quantile(draws[:, 1], 0.025) == pytest.approx(exact_interval(7, 7)[0], rel=0.03)
    assert (draws[:, 2] == 0.5).all()


def test_what_is_undefined_stays_undefined():
    draws = vary_ends(np.array([[np.nan], [0.0]]), np.zeros(1), np.array([3]))
    assert np.isnan(draws[0, 0]) and 0 < draws[1, 0] < 1


def rate(rng: np.random.Generator, truth: tuple[float, ...], seed: int) -> fb.metrics.RateResult:
    """IVR of one pair an item and axis, whose true rates are ``truth``."""
    axis = np.tile(np.arange(len(truth)), ITEMS)
    partner = 1 - (rng.random(len(axis)) < np.tile(truth, ITEMS))
    groups = np.repeat(np.arange(ITEMS), len(truth))
    return fb.invariance_violation_rate(
        np.ones_like(axis), partner, axis=axis, groups=groups, n_resamples=400, seed=seed
    )


def test_a_mean_of_rates_of_0_and_1_has_a_width():
    found = rate(np.random.default_rng(0), (1.0, 1.0, 0.0), 0)
    assert found.value == pytest.approx(2 / 3)
    low, high = found.interval
    # One axis alone may be off by its exact bound, 1 - .025^(1/40) = .088, a third of it here.
    assert 2 / 3 - 2 * 0.088 / 3 < low < 2 / 3 - 0.088 / 6
    assert 2 / 3 <= high < 2 / 3 + 0.088 / 3


def test_the_interval_covers_where_the_bootstrap_alone_cannot():
    """Rates of .015 on three axes: all are 0 in one of six samples, and one or two in most."""
    rng, truth, inside = np.random.default_rng(1), (0.985, 0.985, 0.015), 0
    for repeat in range(300):
        low, high = rate(rng, truth, repeat).interval
        inside += low <= np.mean(truth) <= high
    assert inside / 300 >= 0.92
