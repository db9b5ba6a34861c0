"""Pure array functions: no files, no model, no printing."""

from faithshift_bench.metrics.invariance import invariance_violation_rate
from faithshift_bench.metrics.mfs import harmonic_mean, meta_faithfulness_score
from faithshift_bench.metrics.rates import AxisRate, RateResult
from faithshift_bench.metrics.sensitivity import alteration_sensitivity
from faithshift_bench.metrics.verdicts import Threshold, margin, select, youden_threshold

__all__ = [
    "AxisRate",
    "RateResult",
    "Threshold",
    "alteration_sensitivity",
    "harmonic_mean",
    "invariance_violation_rate",
    "margin",
    "meta_faithfulness_score",
    "select",
    "youden_threshold",
]
