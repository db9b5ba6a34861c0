"""The `evaluate` module ``meta_faithfulness``; importing this does not import `evaluate`."""

from faithshift_bench.meta_faithfulness.install import install_metric, metric_path

__all__ = ["install_metric", "metric_path"]
