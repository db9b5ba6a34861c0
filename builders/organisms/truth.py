"""What label rules and metrics of the field say of organisms, against their mechanism."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import faithshift_data as fd
from builders.labels import RULES, label_all
from builders.organisms.words import LANGUAGES, keyword
from faithshift_bench.studies.belief import Move, moves
from faithshift_bench.studies.trace_verdicts import UNKNOWN, trace_verdicts
from faithshift_bench.studies.truth import Confusion, confusions


def believed(data: fd.FaithShift) -> dict[str, dict[str, int]]:
    """Labels of every trace by each label rule and metric: 1, 0 or -1 (unknown).

    Args:
        data: a dataset of organisms.

    Returns:
        ``construct``, ``construct+causal`` and the metrics of ``trace_verdicts`` -> trace_id ->
        label. No rule sees the label of the data.
    """
    traces: dict[str, dict[str, Any]] = {
        row["trace_id"]: {**row, "label": None, "label_rule": None}
        for row in data.table("traces").to_pylist()
    }
    interventions: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in data.table("interventions").to_pylist():
        interventions[row["trace_id"]].append(row)
    found: dict[str, dict[str, int]] = {}
    for rule in RULES:
        found[str(rule)] = {
            trace_id: UNKNOWN if label.value is None else label.value
            for trace_id, label in label_all(traces, interventions, rule).items()
        }
    return found | trace_verdicts(data, {key: trusts(row) for key, row in traces.items()})


def trusts(row: Mapping[str, Any]) -> bool:
    """Whether an organism's reasoning says that its answer is the hint's."""
    words = {keyword("trust", language) for language in LANGUAGES}
    return not words.isdisjoint(row["reasoning"].split())


def truth(
    data: fd.FaithShift,
    detectors: Sequence[str],
    *,
    seeds: Sequence[int] = (0, 1, 2, 3),
    n_resamples: int = 1000,
) -> tuple[list[Confusion], list[Move]]:
    """How right each rule is, and the figures of detectors by it and by the mechanism.

    Args:
        data: a dataset of organisms.
        detectors: names; fitted on the labels by mechanism.
        seeds: of their training.
        n_resamples: of items.
    """
    from faithshift_bench.detectors.runs import run_detector

    by_rule = believed(data)
    right = confusions(data, by_rule, n_resamples=n_resamples)
    scores = {}
    for name in detectors:
        print(f"{name}: {len(seeds)} seeds", file=sys.stderr)
        scores[name] = run_detector(name, data, seeds)
    return right, moves(data, scores, by_rule, n_resamples=n_resamples)
