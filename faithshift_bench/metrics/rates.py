"""Rates over pairs: equal weight to pairs within an axis, equal weight to axes (macro).

Intervals resample items. An axis with fewer than ``FEW`` pairs is flagged ``few``, one with
fewer than ``min_pairs`` is listed as ``thin`` and left out of the macro mean, and one without a
counted pair is ``undefined``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.stats import exact_interval, item_weights, percentile_interval, rate_draws
from faithshift_bench.stats.intervals import Interval

FEW = 30
ABSTENTION = ("both", "base_strict")


@dataclass(frozen=True)
class AxisRate:
    """One axis: ``count`` of ``n_pairs`` counted pairs, from ``n_items`` items.

    ``value`` is ``None`` where no pair counts; ``flag`` is ``ok``, ``few``, ``thin`` (left out of
    the macro mean) or ``undefined``.
    """

    axis: str
    value: float | None
    count: int
    n_pairs: int
    n_items: int
    interval: Interval | None
    flag: str


@dataclass(frozen=True)
class RateResult:
    """A rate in [0, 1] with its parts; ``value`` (macro over axes) is ``None`` where undefined.

    ``micro`` pools the pairs of the axes used; ``n_excluded`` counts pairs that abstention left
    out. ``interval`` is a bootstrap over items, exact on items where the rate is 0 or 1, and
    ``None`` where undefined.
    """

    value: float | None
    interval: Interval | None
    micro: float | None
    count: int
    n_pairs: int
    n_items: int
    n_excluded: int
    axes_used: tuple[str, ...]
    by_axis: tuple[AxisRate, ...]

    def __float__(self) -> float:
        """The rate; raises where it is undefined."""
        if self.value is None:
            raise ValueError("the rate is undefined: no axis has enough pairs")
        return self.value


def check_verdicts(name: str, verdicts: ArrayLike, n: int | None = None) -> NDArray[np.int8]:
    """Verdicts as int8 (n,); only 1, 0 and -1 (abstained) are accepted."""
    array = np.asarray(verdicts)
    if array.ndim != 1 or (n is not None and len(array) != n):
        wanted = "one-dimensional" if n is None else f"of shape ({n},)"
        raise ValueError(f"{name} must be {wanted} (got shape {array.shape})")
    if array.dtype.kind not in "biuf" or not np.isin(array, (-1, 0, 1)).all():
        raise ValueError(f"{name} must hold only 1, 0 or -1 (abstained)")
    return array.astype(np.int8)


def committed(
    anchor: NDArray[np.int8], partner: NDArray[np.int8], abstention: str
) -> NDArray[np.bool_]:
    """Pairs that count: both ends committed (``both``) or only the anchor (``base_strict``).

    Under ``base_strict`` a partner that abstains counts against the detector.
    """
    if abstention not in ABSTENTION:
        raise ValueError(f"abstention must be one of {ABSTENTION} (got {abstention!r})")
    counted = anchor >= 0
    return counted & (partner >= 0) if abstention == "both" else counted


def axis_flag(n_pairs: int, n_counted: int, min_pairs: int) -> str:
    """``undefined``, ``thin``, ``few`` or ``ok``; see the module's docstring."""
    if n_counted == 0:
        return "undefined"
    if n_pairs < min_pairs:
        return "thin"
    return "few" if n_counted < FEW else "ok"


def tabulate(
    values: ArrayLike, item: NDArray[np.intp], axis: NDArray[np.intp], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Sums of ``values`` (p,) by item and axis: (I, A)."""
    size = shape[0] * shape[1]
    cell = item * shape[1] + axis
    sums = np.bincount(cell, weights=np.asarray(values, float), minlength=size)
    return sums.astype(np.float64).reshape(shape)


def rate_result(
    hit: NDArray[np.bool_],
    counted: NDArray[np.bool_],
    *,
    axis: ArrayLike | None,
    groups: ArrayLike | None,
    strata: ArrayLike | None = None,
    min_pairs: int = 1,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> RateResult:
    """Macro rate of ``hit`` among ``counted`` pairs; arguments as in the public rates."""
    n = len(hit)
    axes, axis_code = _codes("axis", axis if axis is not None else np.zeros(n, "U1"), n)
    items, item_code = _codes("groups", groups if groups is not None else np.arange(n), n)
    shape = (len(items), len(axes))
    hits = tabulate(hit, item_code, axis_code, shape)
    counts = tabulate(counted, item_code, axis_code, shape)
    pairs = np.bincount(axis_code, minlength=len(axes))
    weights = item_weights(_item_strata(strata, item_code, len(items), n), n_resamples, seed)
    draws = rate_draws(weights, hits, counts)
    rows = []
    for a, name in enumerate(axes):
        k, m = int(hits[:, a].sum()), int(counts[:, a].sum())
        n_items = int((counts[:, a] > 0).sum())
        value = k / m if m else None
        interval = rate_interval(value, draws[:, a], n_items, confidence)
        flag = axis_flag(int(pairs[a]), m, min_pairs)
        rows.append(AxisRate(str(name), value, k, m, n_items, interval, flag))
    used = [a for a, row in enumerate(rows) if row.flag in ("ok", "few")]
    k, m = int(hits[:, used].sum()), int(counts[:, used].sum())
    n_items = int((counts[:, used].sum(axis=1) > 0).sum())
    value = float(np.mean([rows[a].value for a in used])) if used else None
    macro = draws[:, used].mean(axis=1) if used else np.full(n_resamples, np.nan)
    return RateResult(
        value=value,
        interval=rate_interval(value, macro, n_items, confidence),
        micro=k / m if m else None,
        count=k,
        n_pairs=m,
        n_items=n_items,
        n_excluded=int(n - counted.sum()),
        axes_used=tuple(str(axes[a]) for a in used),
        by_axis=tuple(rows),
    )


def rate_interval(
    value: float | None, draws: NDArray[np.float64], n_items: int, confidence: float = 0.95
) -> Interval | None:
    """Bootstrap interval of a rate; exact on items where the rate is 0 or 1."""
    if value in (0, 1):
        return exact_interval(int(value) * n_items, n_items, confidence)
    return interval_around(value, draws, confidence)


def interval_around(
    value: float | None, draws: NDArray[np.float64], confidence: float = 0.95
) -> Interval | None:
    """Percentile interval that holds the estimate; None where either is undefined."""
    interval = percentile_interval(draws, confidence)
    if value is None or interval is None:
        return None
    return min(interval[0], value), max(interval[1], value)


def _codes(name: str, values: ArrayLike, n: int) -> tuple[NDArray, NDArray[np.intp]]:
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(f"{name} must be of shape ({n},) (got {array.shape})")
    return np.unique(array, return_inverse=True)


def _item_strata(
    strata: ArrayLike | None, item_code: NDArray[np.intp], n_items: int, n: int
) -> NDArray[np.intp]:
    result = np.zeros(n_items, dtype=np.intp)
    if strata is not None:
        _, code = _codes("strata", strata, n)
        result[item_code] = code
        if (result[item_code] != code).any():
            raise ValueError("strata must be constant within a group")
    return result
