"""Submissions to a leaderboard: scores and a detector card, checked alike here and by the board."""

from faithshift_bench.submission.card import DetectorCard, read_card
from faithshift_bench.submission.package import Package, read_package, write_package
from faithshift_bench.submission.validator import Validated, validate

__all__ = [
    "DetectorCard",
    "Package",
    "Validated",
    "read_card",
    "read_package",
    "validate",
    "write_package",
]
