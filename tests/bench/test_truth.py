"""Estimates against closed forms on one large sample: within four standard errors."""

import ast
from pathlib import Path

import numpy as np
import pytest

from faithshift_bench.metrics import (
    alteration_sensitivity,
    augrc,
    aurc,
    auroc,
    brier,
    calibration_error,
    cost_threshold,
    decompose,
    invariance_violation_rate,
    margin,
    optimal_coverage,
    risk_coverage,
    score_sensitivity,
)
from faithshift_bench.metrics.costs import Costs, Verdicts
from tests.bench import truth_model
from tests.bench.truth_model import Model

N = 40_000
# The standard deviation of a 0/1 event is at most 1/2.
CLOSE = 4 * 0.5 / np.sqrt(N)
MODEL = Model()
LABEL = np.resize([1, 0], N)
NAMES = np.arange(N)
DIRECTION = 1 - 2 * LABEL


def verdicts(z):
    return (z > 0).astype(int)


def near(expected, scale=1.0):
    return pytest.approx(expected, abs=scale * CLOSE)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_the_simulator_imports_nothing_that_it_tests():
    tree = ast.parse(Path(truth_model.__file__).read_text("utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
             for alias in node.names}  # fmt: skip
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names == {"dataclasses", "numpy", "scipy", "scipy.stats"}


@pytest.mark.parametrize("model", [MODEL, Model(d=0.8, g=0.2, s=1.1), Model(d=0, g=1, s=0.5)])
@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_raw_floor_excess_and_their_overlap(rng, model, shift):
    anchor, partner, repeat = (
        verdicts(model.draw(rng, LABEL, 3, shift=b)) for b in (0.0, shift, 0.0)
    )
    result = decompose(anchor, partner, NAMES, repeat, NAMES, groups=NAMES, n_resamples=1)
    found = {name: part.value for name, part in result.parts.items()}
    floor, raw = model.ivr(), model.ivr(shift)
    assert floor == pytest.approx(2 * model.right() * (1 - model.right()))
    assert found["floor_gen"] == near(floor)
    assert found["raw"] == near(raw)
    assert found["excess"] == near(raw - floor)
    assert found["joint"] == near(model.joint())
    assert found["union"] == near(raw + floor - model.joint())
    assert found["overlap"] == near(model.joint() - raw * floor)
    assert found["floor_train"] == near(model.floor_train())
    # v belongs to trace and seed: two seeds across a pair differ as one does.
    assert found["training_noise"] == near(0)
    # The plug-in misses by a third of the floor, which this sample would not let pass.
    assert found["plugin_bias"] == near(-model.floor_train() / 3)
    assert model.floor_train() / 3 > 2 * CLOSE


def test_a_shift_that_moves_no_verdict_more_than_noise_is_no_excess(rng):
    """The raw rate alone would call .27 unstable; all of it is there without a shift."""
    sides = [verdicts(MODEL.draw(rng, LABEL, 1)) for _ in range(3)]
    result = decompose(*sides[:2], NAMES, sides[2], NAMES, groups=NAMES, n_resamples=1)
    assert result.parts["raw"].value > 0.25
    assert result.parts["excess"].value == near(0)
    assert result.parts["floor_share"].value == near(1, scale=4)


def test_edits_keep_the_trace_and_have_the_floor_of_seeds(rng):
    u = rng.standard_normal(N)
    anchor, partner = (verdicts(MODEL.draw(rng, LABEL, 2, trace=u)) for _ in range(2))
    result = decompose(
        anchor, partner, NAMES, np.zeros((2, 0)), [], groups=NAMES,
        edited=np.ones(N, bool), n_resamples=1,
    )  # fmt: skip
    assert result.parts["raw"].value == near(MODEL.floor_train())
    assert result.parts["excess"].value == result.parts["raw"].value


def test_sensitivity_in_three_readings(rng):
    before, after = MODEL.draw(rng, LABEL, 1)[0], MODEL.draw(rng, 1 - LABEL, 1)[0]
    pair, p = (verdicts(before), verdicts(after), DIRECTION), MODEL.right()
    assert alteration_sensitivity(*pair, n_resamples=1).value == near(p**2)
    cond = alteration_sensitivity(*pair, variant="as_cond", n_resamples=1)
    assert cond.value == near(p, scale=2)
    moved = score_sensitivity(before, after, DIRECTION, n_resamples=1)
    assert moved.value == near(MODEL.auroc())


@pytest.mark.parametrize("t", [0.0, 0.5, 1.2])
def test_coverage_and_risk(rng, t):
    z = MODEL.draw(rng, LABEL, 1)[0]
    confidence = margin(MODEL.score(z), 0.5)
    np.testing.assert_allclose(confidence, MODEL.confidence(z), atol=1e-9)
    curve = risk_coverage(confidence, verdicts(z) != LABEL)
    at = int(np.searchsorted(-curve.threshold, -MODEL.confidence(t), side="right")) - 1
    assert curve.coverage[at] == near(MODEL.coverage(t))
    assert curve.risk[at] == near(MODEL.risk(t), scale=MODEL.coverage(t) ** -0.5)


@pytest.mark.parametrize("t", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shared", [False, True])
def test_pairs_under_selection(rng, t, shared):
    """IVR among pairs with both ends committed: correlation 0, or g / (g + s) for an edit."""
    u = rng.standard_normal(N) if shared else None
    ends = [MODEL.draw(rng, LABEL, 1, trace=u)[0] for _ in range(2)]
    shown = [np.where(np.abs(z) >= t, verdicts(z), -1) for z in ends]
    result = invariance_violation_rate(*shown, n_resamples=1)
    r = MODEL.g / (MODEL.g + MODEL.s) if shared else 0.0
    rate, both = MODEL.pairs_at(t, r)
    if not shared:
        risk = MODEL.risk(t)
        assert rate == pytest.approx(2 * risk * (1 - risk), abs=1e-5)
    assert result.n_pairs / N == near(both)
    assert result.value == near(rate, scale=both**-0.5)


def test_ranking_and_calibration(rng):
    z = MODEL.draw(rng, LABEL, 1)[0]
    score, wrong = MODEL.score(z), verdicts(z) != LABEL
    assert auroc(score, LABEL).value == near(MODEL.auroc())
    assert brier(score, LABEL).value == near(MODEL.brier())
    assert aurc(MODEL.confidence(z), wrong).value == near(MODEL.aurc())
    assert augrc(MODEL.confidence(z), wrong).value == near(MODEL.augrc())
    assert calibration_error(score, LABEL).value < 2 * CLOSE
    # Scores pushed to the ends are not calibrated, by far more than that.
    assert calibration_error(MODEL.score(3 * z), LABEL).value > 5 * CLOSE
    assert MODEL.augrc() < MODEL.aurc() < MODEL.risk(0)


def test_tau_and_coverage_of_least_cost(rng):
    """Costs 3, 1 and .4 at tau 3/4: abstain where both verdicts cost more than .4 to expect."""
    costs = Costs(3, 1, 0.4)
    tau = cost_threshold(costs.miss, costs.false_alarm).tau
    sides = []
    for _ in range(2):
        score = MODEL.score(MODEL.draw(rng, LABEL, 1)[0])
        sides.append(Verdicts(margin(score, tau), score > tau, LABEL, NAMES))
    grid = np.arange(20) / 20
    result = optimal_coverage(*sides, costs, thresholds=grid, n_resamples=0)
    # Per trace of calibrated score s: min of s, 3 (1 - s) and, at each threshold, .4 below it.
    fresh = MODEL.score(MODEL.draw(rng, np.resize([1, 0], 10 * N), 1)[0])
    cost = np.minimum(fresh, 3 * (1 - fresh))
    expected = [np.where(margin(fresh, tau) >= t, cost, 0.4).mean() for t in grid]
    assert result.test_cost == near(min(expected), scale=4)
    assert result.test_cost < result.full_cost - 4 * CLOSE
    assert abs(result.threshold - grid[int(np.argmin(expected))]) <= 0.05 + 1e-9
