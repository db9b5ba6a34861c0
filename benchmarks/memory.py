"""The most memory this process has held."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_mb() -> float:
    """Peak resident memory of the process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def reset_peak() -> None:
    """Let ``resident_mb(peak=True)`` start again from what is held now; Linux only."""
    Path("/proc/self/clear_refs").write_text("5")


def resident_mb(*, peak: bool = False) -> float:
    """Resident memory now, or the most since ``reset_peak``, in MB; Linux only."""
    name = "VmHWM:" if peak else "VmRSS:"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 2**10
