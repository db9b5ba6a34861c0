"""Coverage of the cluster bootstrap beside that of a bootstrap that takes pairs for independent.

60 items of 10 pairs, a violation rate of each item from a Beta law with mean .3 and intraclass
correlation .4: the variance of the mean is 1 + 9 x .4 = 4.6 times that of independent pairs, so
an interval that ignores items is 2.1 times too short and covers about 2 Phi(1.96 / 2.14) - 1 =
.64 of the time.
"""

from __future__ import annotations

import numpy as np
import pytest

import faithshift_bench as fb

ITEMS, PAIRS, RATE, ICC, REPEATS = 60, 10, 0.3, 0.4, 500


@pytest.fixture(scope="module")
def coverage() -> tuple[float, float]:
    """(clustered, naive) share of repeats whose 95 % interval holds the true rate."""
    rng = np.random.default_rng(11)
    size = 1 / ICC - 1
    item = np.repeat(np.arange(ITEMS), PAIRS)
    anchor = np.ones(ITEMS * PAIRS, dtype=int)
    inside = np.zeros(2)
    for repeat in range(REPEATS):
        rates = rng.beta(RATE * size, (1 - RATE) * size, ITEMS)
        partner = 1 - (rng.random(ITEMS * PAIRS) < rates[item])
        for k, groups in enumerate((item, None)):
            found = fb.invariance_violation_rate(
                anchor, partner, groups=groups, n_resamples=400, seed=repeat
            )
            assert found.interval is not None
            inside[k] += found.interval[0] <= RATE <= found.interval[1]
    return tuple(inside / REPEATS)


def test_the_cluster_bootstrap_covers(coverage: tuple[float, float]) -> None:
    # A percentile bootstrap on 60 items may fall short of .95, not of .92 by more than chance.
    spread = 3 * np.sqrt(0.92 * 0.08 / REPEATS)
    assert 0.92 - spread <= coverage[0] <= 0.99


def test_the_naive_bootstrap_does_not(coverage: tuple[float, float]) -> None:
    assert coverage[1] == pytest.approx(0.64, abs=0.08)
