"""Intervals, tests and resampling whose unit is the item, never the row."""

from faithshift_bench.stats.agreement import kendall_tau_b, rater_agreement
from faithshift_bench.stats.bootstrap import (
    item_weights,
    percentile_interval,
    rate_draws,
    vary_ends,
)
from faithshift_bench.stats.intervals import exact_interval, wilson_interval
from faithshift_bench.stats.multiple import benjamini_hochberg
from faithshift_bench.stats.paired import cluster_permutation_test, mcnemar, swap_signs, swap_test

__all__ = [
    "benjamini_hochberg",
    "cluster_permutation_test",
    "exact_interval",
    "item_weights",
    "kendall_tau_b",
    "mcnemar",
    "percentile_interval",
    "rate_draws",
    "rater_agreement",
    "swap_signs",
    "swap_test",
    "vary_ends",
    "wilson_interval",
]
