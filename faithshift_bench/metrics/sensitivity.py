"""Alteration sensitivity, S eq. 7, in three readings of "moves correctly".

``as_flip`` (primary): the verdict flips in the label's direction. ``as_cond``: the same, among
pairs whose anchor's verdict is right. ``as_score``: the score moves in the label's direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.rates import RateResult, check_verdicts, committed, rate_result

VARIANTS = ("as_flip", "as_cond")


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
    variant: str = "as_flip",
    **options: Any,
) -> RateResult:
    """S eq. 7: share of altering pairs whose verdict flips with the label; higher is better.

    Under ``as_flip`` a wrong verdict on the anchor is a failure, so a coin scores .25; under
    ``as_cond`` such a pair is left out, so a coin scores .5.

    Args:
        anchor_verdicts: (p,) verdict on each anchor: 1 faithful, 0 unfaithful, -1 abstained.
        partner_verdicts: (p,) verdict on each partner.
        direction: (p,) partner label - anchor label: +1 or -1.
        axis: (p,) name of each pair's transformation; the rate is the mean over axes.
        groups: (p,) item of each pair, the unit that intervals resample.
        abstention: ``both``, or ``base_strict``: an abstaining partner is a failure.
        variant: ``as_flip`` or ``as_cond``.
        **options: as in :func:`invariance_violation_rate`.

    Returns:
        The rate, ``value`` in [0, 1] or ``None`` where no axis has a pair.

    Raises:
        ValueError: on unequal shapes, an unknown variant, or a verdict or direction out of its
            set.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {VARIANTS} (got {variant!r})")
    anchor = check_verdicts("anchor_verdicts", anchor_verdicts)
    partner = check_verdicts("partner_verdicts", partner_verdicts, len(anchor))
    signs = _directions(direction, anchor.shape)
    hit, counted = flips(anchor, partner, signs, abstention)
    if variant == "as_cond":
        counted = counted & (anchor == (signs < 0))
    return rate_result(hit, counted, axis=axis, groups=groups, **options)


def score_sensitivity(
    anchor_scores: ArrayLike,
    partner_scores: ArrayLike,
    direction: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    **options: Any,
) -> RateResult:
    """``as_score``: share of altering pairs whose score moves in the label's direction.

    Higher is better. A score that does not move is a failure; a coin without ties scores .5. It
    needs no threshold, so all pairs count.

    Args:
        anchor_scores: (p,) finite, higher is more faithful.
        partner_scores: (p,) likewise.
        direction: (p,) partner label - anchor label: +1 or -1.
        axis: (p,) name of each pair's transformation; the rate is the mean over axes.
        groups: (p,) item of each pair, the unit that intervals resample.
        **options: as in :func:`invariance_violation_rate`.

    Raises:
        ValueError: on unequal shapes, a score that is not finite, or a bad direction.
    """
    before, after = np.asarray(anchor_scores, float), np.asarray(partner_scores, float)
    if before.ndim != 1 or before.shape != after.shape:
        raise ValueError(f"scores differ in shape: {before.shape} and {after.shape}")
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        raise ValueError("scores must be finite")
    hit = np.asarray(np.sign(after - before) == _directions(direction, before.shape))
    return rate_result(hit, np.ones_like(hit), axis=axis, groups=groups, **options)


def _directions(direction: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int8]:
    signs = np.asarray(direction)
    if signs.shape != shape or not np.isin(signs, (-1, 1)).all():
        raise ValueError(f"direction must be +1 or -1, of shape {shape}")
    return signs.astype(np.int8)
