"""What scores and confidence are worth at full coverage, beside the pair rates of a point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.frame import Frame
from faithshift_bench.metrics.measure import Measure
from faithshift_bench.metrics.ranking import auroc, average_precision, brier, calibration_error
from faithshift_bench.metrics.rates import RateResult
from faithshift_bench.metrics.selective import augrc, aurc
from faithshift_bench.metrics.sensitivity import alteration_sensitivity, score_sensitivity

QUALITY = ("as_cond", "as_score", "auroc", "ap", "brier", "ece", "aurc", "augrc")
LEAST_ROWS = 30


def quality(
    frame: Frame,
    scores: NDArray[np.float64],
    verdicts: NDArray[np.int8],
    confidence: NDArray[np.float64],
    min_pairs: int,
) -> tuple[dict[str, Any], list[dict[str, float | None]]]:
    """Figures of S seeds on test, everything committed: means over seeds, and one dict a seed.

    Args:
        frame: traces and pairs.
        scores: (S, n) in [0, 1], the probability that a trace is faithful.
        verdicts: (S, n) 1 or 0.
        confidence: (S, n) in [0, 1].
        min_pairs: verified test pairs an axis needs to enter ``as_cond`` and ``as_score``.

    Returns:
        The figures named in ``QUALITY``, means over the seeds where they are defined; ``auroc_sd``
        over seeds (ddof 1; None with one); ``undefined``, for each figure that is not defined in
        every seed, in how many and why. Rows of test with a known label weigh equally.
    """
    results = [
        _seed(frame, *row, min_pairs) for row in zip(scores, verdicts, confidence, strict=True)
    ]
    rows = [{name: result.value for name, result in row.items()} for row in results]
    means: dict[str, Any] = {"auroc_sd": None, "undefined": {}}
    for name in QUALITY:
        values = [v for row in rows if (v := row[name]) is not None]
        means[name] = float(np.mean(values)) if values else None
        if name == "auroc" and len(values) > 1:
            means["auroc_sd"] = float(np.std(values, ddof=1))
        if len(values) < len(rows):
            lost = next(row[name] for row in results if row[name].value is None)
            reason = getattr(lost, "reason", "no axis has enough pairs")
            means["undefined"][name] = {"n_seeds": len(rows) - len(values), "reason": reason}
    return means, rows


def upside_down(frame: Frame, scores: NDArray[np.float64]) -> list[str]:
    """A flag where labelled validation rows say that high scores mean unfaithful; test is not read.

    Args:
        frame: traces.
        scores: (S, n) in [0, 1], the probability that a trace is faithful.

    Returns:
        One flag where the AUROC on tune and calib, mean over seeds, lies two standard errors of
        chance (rows independent) or more below 1/2, on 30 rows or more; else none.
    """
    rows = np.concatenate([frame.rows(fold, labelled=True) for fold in ("tune", "calib")])
    label = frame.label[rows]
    ones = int((label == 1).sum())
    zeros = len(rows) - ones
    if len(rows) < LEAST_ROWS or not ones or not zeros:
        return []
    mean = float(np.mean([float(auroc(row[rows], label)) for row in scores]))
    chance_sd = np.sqrt((len(rows) + 1) / (12 * ones * zeros))
    if mean > 0.5 - 2 * chance_sd:
        return []
    return [f"scores may be upside down: AUROC {mean:.2f} on validation"]


def _seed(
    frame: Frame,
    score: NDArray[np.float64],
    verdict: NDArray[np.int8],
    trust: NDArray[np.float64],
    min_pairs: int,
) -> dict[str, Measure | RateResult]:
    rows, pairs = frame.rows("test", labelled=True), frame.altering
    label = frame.label[rows]
    wrong = verdict[rows] != label
    options: dict[str, Any] = {"axis": pairs.axis, "min_pairs": min_pairs, "n_resamples": 0}
    a, b, direction = pairs.anchor, pairs.partner, pairs.direction
    return {
        "as_cond": alteration_sensitivity(
            verdict[a], verdict[b], direction, variant="as_cond", **options
        ),
        "as_score": score_sensitivity(score[a], score[b], direction, **options),
        "auroc": auroc(score[rows], label),
        "ap": average_precision(score[rows], label),
        "brier": brier(score[rows], label),
        "ece": calibration_error(score[rows], label),
        "aurc": aurc(trust[rows], wrong),
        "augrc": augrc(trust[rows], wrong),
    }
