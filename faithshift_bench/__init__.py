"""FaithShift benchmark: what a detector of unfaithful reasoning is worth.

Names are imported on first use, so that ``import faithshift_bench`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AxisRate": "metrics.rates",
    "Certificate": "risk.certificate",
    "Comparison": "comparison",
    "InputError": "",
    "Protocol": "risk.protocol",
    "RateResult": "metrics.rates",
    "Report": "report",
    "ScoreTable": "scores",
    "alteration_sensitivity": "metrics.sensitivity",
    "build_frame": "frame",
    "certify": "risk.certificate",
    "compare": "comparison",
    "evaluate_arrays": "core",
    "evaluate_scores": "evaluation",
    "harmonic_mean": "metrics.mfs",
    "install_metric": "meta_faithfulness",
    "invariance_violation_rate": "metrics.invariance",
    "list_certificates": "risk.plan",
    "list_detectors": "detectors.registry",
    "load_detector": "detectors.registry",
    "run_detector": "detectors.runs",
    "meta_faithfulness_score": "metrics.mfs",
    "render_board": "board",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    """Import a public name from its home module on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = f"{__name__}.{_HOME[name]}" if _HOME[name] else "faithshift_data.errors"
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from faithshift_bench.board import render_board as render_board
    from faithshift_bench.comparison import Comparison as Comparison
    from faithshift_bench.comparison import compare as compare
    from faithshift_bench.core import evaluate_arrays as evaluate_arrays
    from faithshift_bench.detectors.registry import list_detectors as list_detectors
    from faithshift_bench.detectors.registry import load_detector as load_detector
    from faithshift_bench.detectors.runs import run_detector as run_detector
    from faithshift_bench.evaluation import evaluate_scores as evaluate_scores
    from faithshift_bench.frame import build_frame as build_frame
    from faithshift_bench.meta_faithfulness import install_metric as install_metric
    from faithshift_bench.metrics.invariance import (
        invariance_violation_rate as invariance_violation_rate,
    )
    from faithshift_bench.metrics.mfs import harmonic_mean as harmonic_mean
    from faithshift_bench.metrics.mfs import meta_faithfulness_score as meta_faithfulness_score
    from faithshift_bench.metrics.rates import AxisRate as AxisRate
    from faithshift_bench.metrics.rates import RateResult as RateResult
    from faithshift_bench.metrics.sensitivity import (
        alteration_sensitivity as alteration_sensitivity,
    )
    from faithshift_bench.report import Report as Report
    from faithshift_bench.risk.certificate import Certificate as Certificate
    from faithshift_bench.risk.certificate import certify as certify
    from faithshift_bench.risk.plan import list_certificates as list_certificates
    from faithshift_bench.risk.protocol import Protocol as Protocol
    from faithshift_bench.scores import ScoreTable as ScoreTable
    from faithshift_data.errors import InputError as InputError
