"""The bound of Theorem 4.6: a case worked out by hand, simulations, and what each check sees."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import faithshift_bench as fb
from faithshift_bench import InputError
from faithshift_bench.studies.assumptions import THRESHOLDS
from faithshift_bench.studies.theory import (
    audit_axes,
    audit_bound,
    fitting_half,
    gaussian_bound,
    render_audits,
)

N = 4000


def by_hash(names):
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())


def ids(n):
    return np.array([f"i{k}" for k in range(n)])


def simulate(n=N, *, gamma=0.1, noise=0.0, sd=0.2, seed=0, delta=None, margin=None):
    """First-order world: the margin moves by gamma Delta (and noise); Delta is +-|N(0, 1)|."""
    rng = np.random.default_rng(seed)
    m = rng.normal(0, sd, n) if margin is None else margin
    d = rng.normal(0, 1, n) if delta is None else delta
    return m, m + gamma * d + rng.normal(0, noise, n) * np.abs(d), d


def diagnostics(audit):
    return {d.name: d for d in audit.diagnostics}


def test_worked_out_by_hand():
    """Fitting half: Delta 1 and -2, changes .1 and -.5: gamma = (.1 + 1) / 5 = .22.

    Other half, by Delta: 1 (m .1 to -.12), -1 (.3 to .08), 2 (-.4 to .0), 0 (0 to 0).
    |gamma Delta| = .22 .22 .44 0, so |m| is within for the first and third: bound 1/2 * 2/4.
    The first alone flips (0 is not faithful): IVR 1/4, slack 0. r = -.44 0 -.04 0, so within
    the band less |r| are none (.22 - .44 < 0) and the third (.4 <= .44 - .04): 1/2 * 1/4.
    Nearest fifth of |Delta| 1 1 2: quantile 1, so the first two: (.44^2 + 0) / (2 * .22^2) = 2.
    Signs + - + 0: 1/4.
    """
    names = by_hash([f"item{k}" for k in range(6)])
    m = np.array([0.5, 0.7, 0.1, 0.3, -0.4, 0.0])
    after = np.array([0.6, 0.2, -0.12, 0.08, 0.0, 0.0])
    delta = np.array([1.0, -2.0, 1.0, -1.0, 2.0, 0.0])
    # A third item of the fitting half, whose feature does not change: an even split of six.
    names = [*names[:2], *names[3:], names[2]]
    m, after, delta = (np.append(x, y) for x, y in ((m, 0.9), (after, 0.4), (delta, 0.0)))
    items = [names[0], names[1], names[2], names[3], names[4], names[4], names[5]]
    audit = audit_bound(m, after, delta, items, n_resamples=50)
    assert (audit.n_fit, audit.n_pairs, audit.n_items, audit.n_dropped) == (3, 4, 3, 0)
    assert audit.gamma == pytest.approx(0.22)
    assert audit.bound == 0.25 and audit.ivr == 0.25 and audit.slack == 0
    assert audit.bound_with_remainder == pytest.approx(0.125)
    found = diagnostics(audit)
    assert found["local"].value == pytest.approx(2)
    assert found["symmetry"].value == pytest.approx(0.25)
    x, y = [1, 1, 2, 0], [0.1, 0.3, 0.4, 0]
    assert found["independence"].value == pytest.approx(abs(stats.pearsonr(x, y)[0]))


@pytest.mark.parametrize("ratio", [0.25, 0.5, 1.0, 2.0])
def test_gaussian_corollary_against_simulation(ratio):
    """Margins N(0, sd^2), Delta = +-1, gamma = ratio sd: IVR equals the bound; both measured."""
    sd, n = 0.3, 100_000
    rng = np.random.default_rng(int(ratio * 100))
    m = rng.normal(0, sd, n)
    d = rng.choice([-1.0, 1.0], n)
    audit = audit_bound(*simulate(n, gamma=ratio * sd, delta=d, margin=m), ids(n), n_resamples=0)
    expected = gaussian_bound(ratio * sd, sd)
    assert expected == pytest.approx(stats.norm.cdf(ratio) - 0.5, abs=1e-12)
    four = 4 * math.sqrt(0.25 / audit.n_pairs)
    assert audit.bound == pytest.approx(expected, abs=four)
    assert audit.ivr == pytest.approx(expected, abs=four)


def test_gaussian_figures_of_the_study():
    assert round(gaussian_bound(0.5, 1), 2) == 0.19
    assert round(gaussian_bound(2, 2), 2) == 0.34
    assert gaussian_bound(0, 1) == 0
    for b, sd in ((-1, 1), (1, 0), (math.nan, 1)):
        with pytest.raises(InputError, match="out of range"):
            gaussian_bound(b, sd)


def test_first_order_world_meets_bound_and_assumptions():
    # Antithetic pairs within an item: the signs balance exactly.
    m, after, d = simulate(N)
    m, d = np.tile(m, 2), np.concatenate([d, -d])
    audit = audit_bound(m, m + 0.1 * d, d, np.tile(ids(N), 2))
    assert audit.gamma == pytest.approx(0.1) and audit.n_pairs == N
    assert audit.slack == pytest.approx(0, abs=1e-12)
    assert audit.bound_with_remainder == pytest.approx(audit.bound, abs=0.002)
    assert audit.verdict == "not violated" and audit.assumptions == "holds"


@pytest.mark.parametrize("name", list(THRESHOLDS))
def test_each_broken_assumption_is_seen(name):
    m, after, d = simulate(N, seed=1)
    if name == "local":
        m, after, d = simulate(N, seed=1, noise=0.2)
    elif name == "symmetry":
        m, after, d = simulate(N, seed=1, delta=np.abs(d))
    else:
        m, after, d = simulate(N, seed=1, delta=d * (0.1 + np.abs(m)) * 5)
    audit = audit_bound(m, after, d, ids(N))
    found = diagnostics(audit)
    assert found[name].verdict == "fails" and audit.assumptions == "fails"
    assert found[name].interval[0] > THRESHOLDS[name]
    others = [d for d in audit.diagnostics if d.name != name]
    assert all(d.value < 1.2 * d.threshold for d in others)


def test_away_from_the_boundary_passes_the_diagnostics_and_breaks_the_bound():
    """Delta always points away from tau: no flip at all. Table 20 cannot see it, the bound can."""
    m, _, d = simulate(N, seed=2)
    m, d = np.concatenate([m, -m]), np.tile(np.abs(d), 2)
    d *= np.sign(m)
    audit = audit_bound(m, m + 0.1 * d, d, np.tile(ids(N), 2))
    assert audit.ivr == 0 and audit.bound > 0.1
    assert audit.assumptions == "holds" and audit.verdict == "violated"


def test_a_detector_blind_to_the_feature_has_a_bound_near_zero():
    rng = np.random.default_rng(3)
    m, d = rng.normal(0, 0.2, N), rng.normal(0, 1, N)
    audit = audit_bound(m, m + rng.normal(0, 0.1, N), d, ids(N))
    assert audit.bound < 0.02 and audit.ivr > 0.1
    assert audit.verdict == "not violated" and diagnostics(audit)["local"].verdict == "fails"


def test_gamma_is_not_fitted_on_the_half_that_is_judged():
    m, after, d = simulate(400, seed=4)
    fit = fitting_half(ids(400))
    assert fit.sum() == 200
    other = after.copy()
    other[~fit] = m[~fit] - 0.3 * d[~fit]
    assert audit_bound(m, other, d, ids(400)).gamma == audit_bound(m, after, d, ids(400)).gamma
    other = after.copy()
    other[fit] = m[fit] + 0.3 * d[fit]
    changed = audit_bound(m, other, d, ids(400))
    assert changed.gamma == pytest.approx(0.3)
    assert changed.ivr == audit_bound(m, after, d, ids(400)).ivr


def test_all_pairs_of_an_item_fall_in_one_half():
    names = np.repeat(ids(31), 3)
    half = fitting_half(names)
    assert half.sum() == 45
    assert set(names[half]).isdisjoint(names[~half])
    assert set(names[half]) == set(by_hash(set(names))[:15])


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([0.25, -0.5, 4.0, -1.0]), st.randoms())
def test_order_of_rows_and_unit_of_the_feature_do_not_matter(seed, unit, random):
    m, after, d = simulate(60, noise=0.05, seed=seed)
    names = np.repeat(ids(20), 3)
    audit = audit_bound(m, after, d, names, n_resamples=20)
    order = np.array(random.sample(range(60), 60))
    assert audit == audit_bound(m[order], after[order], d[order], names[order], n_resamples=20)
    scaled = audit_bound(m, after, unit * d, names, n_resamples=20)
    assert scaled.gamma == pytest.approx(audit.gamma / unit)
    assert (scaled.bound, scaled.ivr, scaled.interval) == (audit.bound, audit.ivr, audit.interval)
    for a, b in zip(scaled.diagnostics, audit.diagnostics, strict=True):
        assert a.value == pytest.approx(b.value) and a.verdict == b.verdict


def test_interval_resamples_items_not_pairs():
    m, after, d = simulate(300, noise=0.3, seed=5)
    names = ids(300)
    once = audit_bound(m, after, d, names)
    tenfold = audit_bound(*(np.repeat(x, 10) for x in (m, after, d, names)))
    width = once.interval[1] - once.interval[0]
    assert tenfold.interval == pytest.approx(once.interval, abs=1e-12) and width > 0.05


@pytest.mark.parametrize(
    ("delta", "reason"),
    [
        (np.zeros(8), "the feature never changes in the fitting half"),
        (np.full(8, np.nan), "no pair in one half of the items"),
    ],
)
def test_undefined_bounds_say_why(delta, reason):
    audit = audit_bound(np.ones(8), np.ones(8), delta, ids(8))
    assert audit.reason == reason and audit.bound is None and audit.gamma is None
    assert audit.verdict == audit.assumptions == "undefined"
    assert reason in render_audits([audit])


def test_pairs_without_the_feature_are_counted():
    m, after, d = simulate(100, seed=6)
    d[:7] = np.nan
    audit = audit_bound(m, after, d, ids(100))
    assert audit.n_dropped == 7 and audit.n_fit + audit.n_pairs == 93


def test_constant_margins_leave_independence_undefined():
    d = np.tile([1.0, -1.0, 2.0, -2.0], 10)
    audit = audit_bound(np.full(40, 0.5), 0.5 + 0.1 * d, d, ids(40))
    assert diagnostics(audit)["independence"].verdict == "undefined"
    assert audit.assumptions in ("undefined", "fails")


def test_lengths_are_checked():
    with pytest.raises(InputError, match="wrong length"):
        audit_bound([0.1], [0.1, 0.2], [1.0], ["a"])


def test_every_axis_and_feature_of_a_frame():
    n = 40
    items = np.repeat(ids(n), 3)
    traces = np.array([f"{item}-{k}" for item, k in zip(items, np.tile(range(3), n), strict=True)])
    rng = np.random.default_rng(7)
    length = {t: float(x) for t, x in zip(traces, rng.integers(50, 99, 3 * n), strict=True)}
    anchors = np.repeat(traces[::3], 2)
    partners = np.array([t for t in traces if not t.endswith("-0")])
    frame = fb.build_frame(
        traces, items, np.ones(3 * n, int), anchor_id=anchors, partner_id=partners,
        axis=["paraphrase", "language"] * n, kind=["preserving"] * 2 * n,
    )  # fmt: skip
    value = np.array([length[t] for t in frame.trace_id])
    scores = np.clip(value / 200 + 0.1, 0, 1)
    features = {"length": value, "hashed": rng.normal(size=3 * n)}
    audits = audit_axes(frame, scores, 0.45, features, n_resamples=100)
    assert [(a.axis, a.feature) for a in audits] == [
        ("language", "length"), ("language", "hashed"),
        ("paraphrase", "length"), ("paraphrase", "hashed"),
    ]  # fmt: skip
    exact = audits[0]
    assert exact.gamma == pytest.approx(1 / 200)
    assert exact.n_pairs == 20 and diagnostics(exact)["local"].value == pytest.approx(0, abs=1e-12)
    flips = [
        (length[a] / 200 + 0.1 > 0.45) != (length[b] / 200 + 0.1 > 0.45)
        for a, b, half in zip(anchors, partners, fitting_half(np.repeat(ids(n), 2)), strict=True)
        if b.endswith("-2") and not half
    ]
    assert exact.ivr == pytest.approx(np.mean(flips))
    text = render_audits(audits)
    assert len(text.splitlines()) == 5 and "not violated" in text
    with pytest.raises(InputError, match="wrong shape"):
        audit_axes(frame, scores, 0.45, {"length": value[:-1]})
