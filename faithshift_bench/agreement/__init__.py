"""Do faithfulness metrics agree? Several metrics on the same models, questions and traces.

Read a table of answers and verdicts (`read_study`), compare the metrics on it (`agree`), and
write the tables, figures and the page (`write_report`). No model is needed.
"""

from __future__ import annotations

from faithshift_bench.agreement.analysis import Agreements, agree
from faithshift_bench.agreement.metrics import METRICS, VARIANTS, variant_scores
from faithshift_bench.agreement.reading import read_study
from faithshift_bench.agreement.settings import Settings, read_settings
from faithshift_bench.agreement.study import Study

__all__ = [
    "METRICS",
    "VARIANTS",
    "Agreements",
    "Settings",
    "Study",
    "agree",
    "read_settings",
    "read_study",
    "variant_scores",
]
