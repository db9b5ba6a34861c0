"""Pure array functions: no files, no model, no printing.

An undefined result has ``value`` None, a reason or flag, and the counts it was sought in.
"""

from faithshift_bench.metrics.costs import Costs, OptimalCoverage, optimal_coverage
from faithshift_bench.metrics.decomposition import Decomposition, decompose, seed_disagreement
from faithshift_bench.metrics.groups import TransferGap, transfer_gap, worst_group
from faithshift_bench.metrics.invariance import invariance_violation_rate
from faithshift_bench.metrics.measure import Measure
from faithshift_bench.metrics.mfs import balanced_score, harmonic_mean, meta_faithfulness_score
from faithshift_bench.metrics.ranking import (
    auroc,
    auroc_draws,
    average_precision,
    brier,
    calibration_error,
)
from faithshift_bench.metrics.rates import AxisRate, RateResult
from faithshift_bench.metrics.selective import (
    RiskCoverage,
    augrc,
    aurc,
    isotonic_risk,
    risk_band,
    risk_coverage,
)
from faithshift_bench.metrics.sensitivity import alteration_sensitivity, score_sensitivity
from faithshift_bench.metrics.verdicts import (
    Threshold,
    cost_threshold,
    margin,
    rate_threshold,
    select,
    youden_threshold,
)

__all__ = [
    "AxisRate",
    "Costs",
    "Decomposition",
    "Measure",
    "OptimalCoverage",
    "RateResult",
    "RiskCoverage",
    "Threshold",
    "TransferGap",
    "alteration_sensitivity",
    "augrc",
    "aurc",
    "auroc",
    "auroc_draws",
    "average_precision",
    "balanced_score",
    "brier",
    "calibration_error",
    "cost_threshold",
    "decompose",
    "harmonic_mean",
    "invariance_violation_rate",
    "isotonic_risk",
    "margin",
    "meta_faithfulness_score",
    "optimal_coverage",
    "rate_threshold",
    "risk_band",
    "risk_coverage",
    "score_sensitivity",
    "seed_disagreement",
    "select",
    "transfer_gap",
    "worst_group",
    "youden_threshold",
]
