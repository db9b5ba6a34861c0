"""Run every benchmark, each in a process of its own, and write ``benchmarks/results.json``.

    python -m benchmarks [NAME ...]

A name that is given replaces its entry only. The exit status is 1 where a target is missed.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib import import_module
from pathlib import Path

BENCHMARKS = {
    "bootstrap_vs_pandas": "benchmarks.bootstrap",
    "detectors": "benchmarks.detectors",
    "evaluate_10m_vs_scan": "benchmarks.evaluate",
    "extraction_vs_loop": "benchmarks.extraction",
    "generation_vs_one_by_one": "benchmarks.generation",
    "interventions_vs_one_by_one": "benchmarks.interventions",
}
RESULTS = Path(__file__).parent / "results.json"
RUN = """
import json, sys
from importlib import import_module
print(json.dumps(import_module(sys.argv[1]).run()))
"""


def main(names: list[str]) -> int:
    """Run the benchmarks named, all where none is; returns the exit status."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    missed = False
    for name in names or BENCHMARKS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        argv = [sys.executable, "-c", RUN, BENCHMARKS[name]]
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        faults = import_module(BENCHMARKS[name]).missed(found)
        results[name] = {**found, "targets_missed": faults, "machine": machine()}
        missed = missed or bool(faults)
        print(json.dumps({name: results[name]}, indent=2, sort_keys=True))
    RESULTS.write_text(json.dumps(results, indent=2, sort_keys=True) + "\n")
    return int(missed)


def machine() -> dict[str, object]:
    """What the figures hang on."""
    import numpy as np

    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
