"""Invariance-violation rate, S eq. 6."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.rates import RateResult, check_verdicts, committed, rate_result


def violations(
    anchor: NDArray[np.int8], partner: NDArray[np.int8], abstention: str = "both"
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which pairs change their verdict, and which count: two boolean arrays (p,)."""
    counted = committed(anchor, partner, abstention)
    return counted & (anchor != partner), counted


def invariance_violation_rate(
    anchor_verdicts: ArrayLike,
    partner_verdicts: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    abstention: str = "both",
    **options: Any,
) -> RateResult:
    """S eq. 6: the share of verified preserving pairs whose verdict changes; lower is better.

    Args:
        anchor_verdicts: (p,) verdict on each anchor: 1 faithful, 0 unfaithful, -1 abstained.
        partner_verdicts: (p,) verdict on each partner.
        axis: (p,) name of each pair's transformation; the rate is the mean over axes. One axis
            where omitted.
        groups: (p,) item of each pair, the unit that intervals resample. Each pair is its own
            item where omitted.
        abstention: ``both`` counts pairs whose ends are both committed; ``base_strict`` counts
            all with a committed anchor, an abstaining partner being a violation.
        **options: ``strata`` (p,) of the items, ``min_pairs`` (1) an axis needs to enter the
            mean, ``confidence`` (.95), ``n_resamples`` (1000), ``seed`` (0).

    Returns:
        The rate, ``value`` in [0, 1] or ``None`` where no axis has a pair.

    Raises:
        ValueError: on unequal shapes or on a verdict other than 1, 0, -1.
    """
    anchor = check_verdicts("anchor_verdicts", anchor_verdicts)
    partner = check_verdicts("partner_verdicts", partner_verdicts, len(anchor))
    hit, counted = violations(anchor, partner, abstention)
    return rate_result(hit, counted, axis=axis, groups=groups, **options)
