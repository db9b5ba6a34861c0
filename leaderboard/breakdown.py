"""What a report leaves out and a board shows: figures by domain, and risk at fixed coverages."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import faithshift_data as fd
from faithshift_bench.core import MIN_PAIRS
from faithshift_bench.evaluation import frame_of
from faithshift_bench.frame import Frame, Pairs
from faithshift_bench.metrics.selective import risk_coverage
from faithshift_bench.metrics.verdicts import margin
from faithshift_bench.point_parts import Rate, nanmean, number
from faithshift_bench.report import Report
from faithshift_bench.score_stream import match_scores

COVERAGES = (0.2, 0.4, 0.6, 0.8, 1.0)
# A domain of fewer test items would tell of single ones.
MIN_ITEMS = 10


def breakdown(report: Report, scores: Path, data: fd.FaithShift) -> dict[str, Any]:
    """Figures of test at full coverage and the report's verdict thresholds, means over seeds.

    Args:
        report: of these scores on these data.
        scores: the file that was evaluated.
        data: with all labels.

    Returns:
        ``domains``: domain -> ``ivr`` and ``as``, macro over its axes of ``MIN_PAIRS`` pairs or
        more, None where it has under ``MIN_ITEMS`` items; ``risk``: selective risk at each of
        ``COVERAGES``, at the first point of the risk-coverage curve that reaches it. All in
        [0, 1], None where undefined.
    """
    frame, train = frame_of(data)
    aligned = match_scores(scores, frame.trace_id, train).aligned
    taus = [each["tau"] for each in report.seeds]
    verdicts = (aligned.scores > np.array(taus)[:, None]).astype(np.int8)
    trust = aligned.confidence
    if trust is None:
        trust = np.array([margin(*each) for each in zip(aligned.scores, taus, strict=True)])
    column = data.table("traces").select(["split", "domain"]).to_pydict()
    scored = {d for s, d in zip(column["split"], column["domain"], strict=True) if s != "train"}
    return {
        # A frame numbers its domains in their order.
        "domains": {name: _rates(frame, k, verdicts) for k, name in enumerate(sorted(scored))},
        "risk": _risks(frame, verdicts, trust),
    }


def _rates(frame: Frame, domain: int, verdicts: NDArray[np.int8]) -> dict[str, float | None]:
    items = np.unique(frame.item[frame.rows("test")])
    items = items[frame.stratum[items] == domain]
    if len(items) < MIN_ITEMS:
        return {"ivr": None, "as": None}
    return {
        name: number(nanmean(Rate(_within(pairs, items), verdicts, items, None, MIN_PAIRS).value))
        for name, pairs in (("ivr", frame.preserving), ("as", frame.altering))
    }


def _within(pairs: Pairs, items: NDArray[np.intp]) -> Pairs:
    keep = np.isin(pairs.item, items)
    columns = {each.name: getattr(pairs, each.name) for each in fields(pairs)}
    return replace(pairs, **{k: v[keep] for k, v in columns.items() if isinstance(v, np.ndarray)})


def _risks(
    frame: Frame, verdicts: NDArray[np.int8], trust: NDArray[np.float64]
) -> list[float | None]:
    rows = frame.rows("test", labelled=True)
    wrong = (verdicts[:, rows] != frame.label[rows]).astype(np.int8)
    found = []
    for confidence, errors in zip(trust[:, rows], wrong, strict=True):
        curve = risk_coverage(confidence, errors)
        if len(curve.risk) == 0:
            return [None] * len(COVERAGES)
        at = np.searchsorted(curve.coverage, np.array(COVERAGES) - 1e-9)
        found.append(curve.risk[at])
    return [number(value) for value in np.mean(found, axis=0)]
