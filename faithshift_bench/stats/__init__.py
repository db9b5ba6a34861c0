"""Intervals and resampling whose unit is the item, never the row."""

from faithshift_bench.stats.bootstrap import item_weights, percentile_interval
from faithshift_bench.stats.intervals import exact_interval

__all__ = ["exact_interval", "item_weights", "percentile_interval"]
