"""Benchmarks: ratios to a plain way of doing the same; ``make bench`` writes results.json."""
