"""The most memory this process has held."""

from __future__ import annotations

import resource
import sys


def peak_mb() -> float:
    """Peak resident memory of the process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
