"""Intervals of scores and kappas in the comparison of metrics hold the truth as often as they say.

12 repeats here, 300 with FAITHSHIFT_LONG=1.
"""

import os

from scipy.stats import binom

from faithshift_bench.agreement.metrics import METRICS, trace_labels, variant_parts
from faithshift_bench.agreement.ranking import rank_models
from faithshift_bench.agreement.reading import assemble
from faithshift_bench.agreement.resampling import question_weights
from faithshift_bench.agreement.table import rows_of
from faithshift_bench.agreement.traces import MODEL, trace_agreements
from tests.bench.agreement.simulated import Judge, Model, World, columns_of

REPEATS = 300 if os.environ.get("FAITHSHIFT_LONG") == "1" else 12
MODELS = [
    Model("a", early=0.3, said=(0.7, 0.4), filler=(0.4, 0.8)),
    Model("b", early=0.5, said=(0.3, 0.6), filler=(0.7, 0.5)),
    Model("c", early=0.6, said=(0.2, 0.8), filler=(0.3, 0.6)),
]
WORLD = World(MODELS, 120, [Judge("judge", silent=0.03)])
WEIGHTS = question_weights(120, 400, 0)


def once(seed):
    """(score intervals that hold, kappa intervals that hold), 9 and 6 of them."""
    rows = WORLD.rows(seed)
    study = assemble("table", rows_of(columns_of(rows), "table"))
    scores = kappas = 0
    for metric, variant in zip(METRICS, ("bf", "filler", "ea_mean"), strict=True):
        parts = variant_parts(study, variant, "judge")
        ranked = rank_models(metric, variant, parts, study.models, WEIGHTS, 30)
        for model, found in zip(MODELS, ranked.models, strict=True):
            low, high = found.interval
            scores += low <= model.truth()[metric] <= high
    labels = trace_labels(study, "judge")
    for found in trace_agreements(labels, study.models, study.groups, WEIGHTS):
        if found.over == MODEL and found.second == "early_answering":
            model = next(model for model in MODELS if model.name == found.unit)
            pair = model.said if found.first == "biasing_features" else model.filler
            low, high = found.interval
            kappas += low <= model.kappa(pair) <= high
    return scores, kappas


def test_intervals_hold_as_often_as_they_say():
    scores, kappas = (sum(side) for side in zip(*(once(s) for s in range(REPEATS)), strict=True))
    # Percentile intervals on 50 to 120 questions fall a little short of their 95%.
    for count, n in ((scores, 9 * REPEATS), (kappas, 6 * REPEATS)):
        assert binom.cdf(count, n, 0.94) > 1e-4, count / n
