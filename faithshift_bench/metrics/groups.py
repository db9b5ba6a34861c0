"""The spread over axes or groups: the worst one, and the gap from in-distribution to the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faithshift_bench.metrics.rates import AxisRate, RateResult


@dataclass(frozen=True)
class TransferGap:
    """In-distribution minus transfer, for a figure where higher is better (AUROC).

    Attributes:
        gap_worst: minus the lowest axis; ``None`` where undefined. It decides H1.
        gap_mean: minus the mean over axes; ``None`` where undefined.
        worst_axis: the lowest axis; of equals, the first by name.
        n_axes: axes with a figure.
        undefined: names of the axes without one, left out.
        reason: why the gaps are undefined, or ``None``.
    """

    gap_worst: float | None
    gap_mean: float | None
    worst_axis: str | None
    n_axes: int
    undefined: tuple[str, ...]
    reason: str | None = None


def transfer_gap(in_distribution: float | None, by_axis: Mapping[str, float | None]) -> TransferGap:
    """Both readings of the transfer gap of S table 1a; positive where transfer is worse.

    Args:
        in_distribution: the figure without a shift; ``None`` where undefined.
        by_axis: the figure under each shift; ``None`` where undefined.
    """
    defined = {name: value for name, value in sorted(by_axis.items()) if value is not None}
    undefined = tuple(sorted(set(by_axis) - set(defined)))
    if in_distribution is None or not defined:
        reason = "no axis has a figure" if in_distribution is not None else "no figure to compare"
        return TransferGap(None, None, None, len(defined), undefined, reason)
    worst = min(defined, key=lambda name: defined[name])
    mean = sum(defined.values()) / len(defined)
    return TransferGap(
        in_distribution - defined[worst], in_distribution - mean, worst, len(defined), undefined
    )


def worst_group(result: RateResult, *, higher_is_better: bool) -> AxisRate | None:
    """The group (or axis) with the worst rate, among those that enter the mean.

    Groups that are thin or undefined are not looked at, so that one pair cannot be the worst
    group. The worst of several looks worse than it is: its interval is that of a group named in
    advance.

    Args:
        result: rates by axis; pass ``axis=group`` to any rate for rates by another grouping.
        higher_is_better: True for sensitivity and accuracy, False for IVR and risk.

    Returns:
        The row of that group, the first by name among equals; ``None`` where no group has a rate.
    """
    sign = 1 if higher_is_better else -1
    rows = [
        (sign * row.value, row.axis, row)
        for row in result.by_axis
        if row.value is not None and row.axis in result.axes_used
    ]
    return min(rows, key=lambda r: r[:2])[2] if rows else None
