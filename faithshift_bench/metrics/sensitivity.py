"""Alteration sensitivity, S eq. 7; "moves correctly" is a flip in the label's direction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.rates import RateResult, check_verdicts, committed, rate_result


def flips(
    anchor: NDArray[np.int8],
    partner: NDArray[np.int8],
    direction: NDArray[np.int8],
    abstention: str = "both",
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which pairs flip in the label's direction, and which count: two boolean arrays (p,)."""
    counted = committed(anchor, partner, abstention)
    moved = (anchor >= 0) & (partner >= 0) & (partner - anchor == direction)
    return counted & moved, counted


def alteration_sensitivity(
    anchor_verdicts: ArrayLike,
    partner_verdicts: ArrayLike,
    direction: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    abstention: str = "both",
    **options: Any,
) -> RateResult:
    """S eq. 7 (``as_flip``): share of altering pairs whose verdict flips with the label.

    Higher is better. A wrong verdict on the anchor is a failure, so a coin scores .25.

    Args:
        anchor_verdicts: (p,) verdict on each anchor: 1 faithful, 0 unfaithful, -1 abstained.
        partner_verdicts: (p,) verdict on each partner.
        direction: (p,) partner label - anchor label: +1 or -1.
        axis: (p,) name of each pair's transformation; the rate is the mean over axes.
        groups: (p,) item of each pair, the unit that intervals resample.
        abstention: ``both``, or ``base_strict``: an abstaining partner is a failure.
        **options: as in :func:`invariance_violation_rate`.

    Returns:
        The rate, ``value`` in [0, 1] or ``None`` where no axis has a pair.

    Raises:
        ValueError: on unequal shapes, or on a verdict or direction out of its set.
    """
    anchor = check_verdicts("anchor_verdicts", anchor_verdicts)
    partner = check_verdicts("partner_verdicts", partner_verdicts, len(anchor))
    signs = np.asarray(direction)
    if signs.shape != anchor.shape or not np.isin(signs, (-1, 1)).all():
        raise ValueError(f"direction must be +1 or -1, of shape {anchor.shape}")
    hit, counted = flips(anchor, partner, signs.astype(np.int8), abstention)
    return rate_result(hit, counted, axis=axis, groups=groups, **options)
