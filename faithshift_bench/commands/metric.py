"""The metric as a module of the library `evaluate`."""

from __future__ import annotations

import sys


def install_metric() -> None:
    """Make evaluate.load("meta_faithfulness") work in any directory, offline."""
    from faithshift_bench.meta_faithfulness import install_metric as install

    # Where transformers is there, `evaluate` imports it for many seconds; a metric needs none.
    if "transformers" not in sys.modules:
        sys.modules["transformers"] = None  # type: ignore[assignment]
    try:
        print(install())
    finally:
        if sys.modules["transformers"] is None:
            del sys.modules["transformers"]
