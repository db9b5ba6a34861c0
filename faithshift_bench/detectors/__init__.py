"""Detectors: the protocol, the registry, the controls and the baselines."""

from faithshift_bench.detectors.base import Detector
from faithshift_bench.detectors.registry import (
    detector_class,
    list_detectors,
    load_detector,
    load_saved,
)
from faithshift_bench.detectors.runs import apply_saved, run_detector, save_scores

__all__ = [
    "Detector",
    "apply_saved",
    "detector_class",
    "list_detectors",
    "load_detector",
    "load_saved",
    "run_detector",
    "save_scores",
]
