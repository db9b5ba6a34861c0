"""The metric as a module of the library `evaluate`."""

from __future__ import annotations


def install_metric() -> None:
    """Make evaluate.load("meta_faithfulness") work in any directory, offline."""
    from faithshift_bench.meta_faithfulness import install_metric as install

    print(install())
