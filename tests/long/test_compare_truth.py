"""Gaps between detectors of known worth: their intervals, their tests, the resolvable gap.

Scores are z = d (2y - 1) / 2 + noise of unit variance, verdict z > 0, so that with p = Phi(d / 2)
IVR = 2p(1 - p), AS = p^2 and HM follows. 500 repeats here, 2,000 with FAITHSHIFT_LONG=1.
"""

import os

import numpy as np
import pytest
from scipy.stats import norm

import faithshift_bench as fb
from faithshift_bench.blocks import Design, block
from faithshift_bench.sides import Side
from faithshift_bench.stats import item_weights, swap_signs

REPEATS = 2000 if os.environ.get("FAITHSHIFT_LONG") == "1" else 500
N_ITEMS, N_ROWS = 50, 12


def true_hm(d):
    p = norm.cdf(d / 2)
    return fb.harmonic_mean(2 * p * (1 - p), p**2)


@pytest.fixture(scope="module")
def frame():
    """Ten pairs an item, all from the item's two anchors, so that pairs are dependent."""
    item, row = np.repeat(np.arange(N_ITEMS), N_ROWS), np.tile(np.arange(N_ROWS), N_ITEMS)
    trace = np.array([f"{i:03}-{j:02}" for i, j in zip(item, row, strict=True)])
    partner = np.flatnonzero(row > 1)
    altering = row[partner] % 4 < 2
    anchor = item[partner] * N_ROWS + np.where(altering, 1 - row[partner] % 2, row[partner] % 2)
    return fb.build_frame(
        trace,
        item.astype(str),
        row % 2,
        anchor_id=trace[anchor],
        partner_id=trace[partner],
        axis=np.where(altering, "a", "p"),
        kind=np.where(altering, "altering", "preserving"),
    )


def gaps(frame, d_first, d_second, seed):
    """(gap, interval, p, resolvable) of each repeat; the detectors share half of their noise."""
    rng = np.random.default_rng(seed)
    items = np.arange(N_ITEMS)
    keep = swap_signs(N_ITEMS, 199, seed)
    everything = np.ones((1, len(frame.trace_id)), bool)
    found = []
    for repeat in range(REPEATS):
        weights = item_weights(np.zeros(N_ITEMS), 300, repeat)
        design = Design(items, weights, keep, 1, True)
        shared = rng.normal(size=len(frame.trace_id))
        sides = []
        for name, d in (("first", d_first), ("second", d_second)):
            noise = np.sqrt(0.5) * (shared + rng.normal(size=len(shared)))
            verdict = (d * (2 * frame.label - 1) / 2 + noise > 0).astype(np.int8)
            sides.append(Side(name, verdict[None], np.ones(everything.shape), (0.0,)))
        (pair,) = block(frame, sides, [everything] * 2, design, None)["pairs"]
        found.append((pair["gap"], *pair["interval"], pair["p"], pair["resolvable"]))
    return np.array(found).T


def test_paired_intervals_cover_the_true_gap(frame):
    truth = true_hm(2.0) - true_hm(1.4)
    gap, low, high, p, _ = gaps(frame, 2.0, 1.4, 1)
    assert gap.mean() == pytest.approx(truth, abs=0.01)
    assert ((low <= truth) & (truth <= high)).mean() >= 0.92
    # Unpaired draws would give wider intervals, draws of rows other ones.
    assert (high - low).mean() / 2 == pytest.approx(1.96 * gap.std(), rel=0.12)
    assert (p <= 0.05).mean() > 0.5


def test_equal_detectors_are_told_apart_at_the_level(frame):
    gap, low, high, p, _ = gaps(frame, 1.6, 1.6, 2)
    assert gap.mean() == pytest.approx(0, abs=4 * gap.std() / np.sqrt(REPEATS))
    assert abs((p <= 0.05).mean() - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / REPEATS)
    assert ((low > 0) | (high < 0)).mean() <= 0.08


def test_the_resolvable_gap_is_found_in_four_of_five(frame):
    resolvable = gaps(frame, 1.6, 1.6, 3)[4].mean()
    grid = np.linspace(1.6, 3.0, 1401)
    better = grid[np.argmin(np.abs([true_hm(d) - true_hm(1.6) - resolvable for d in grid]))]
    p = gaps(frame, better, 1.6, 4)[3]
    assert (p <= 0.05).mean() == pytest.approx(0.8, abs=0.08)
