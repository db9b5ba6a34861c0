"""The script that `evaluate` loads and copies; all it does is name the class in the package."""

import faithshift_bench  # From: faithshift
from faithshift_bench.meta_faithfulness.metric import MetaFaithfulness  # From: faithshift

__all__ = ["MetaFaithfulness", "faithshift_bench"]
