"""What of a detector's instability is due to the shift, and what to noise it shows without one.

``excess`` (primary) = raw - floor_gen: verdict changes beyond those between two generations of one
prompt. ``floor_train`` is the disagreement of detector seeds on one trace. Both floors are taken on
the anchors of the raw pairs, with the same seeds, at full coverage. Also, on the same anchors, S
eq. 45-48: a repeat flip S and a shift flip T, ``joint`` P(S and T) and ``union`` P(S or T).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.rates import axis_flag, rate_interval
from faithshift_bench.stats import item_weights, percentile_interval
from faithshift_bench.stats.intervals import Interval

# Means over pairs; the rest follow from them, axis by axis.
MEANS = ("raw", "floor_gen", "joint", "floor_train", "cross_seed")
BOUNDED = (*MEANS, "union")
DIFFERENCES = {"excess": ("raw", "floor_gen"), "training_noise": ("cross_seed", "raw")}


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval over items; ``None`` is undefined."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class AxisParts:
    """The figures of one axis, from ``n_pairs`` matched pairs of ``n_items`` items.

    ``flag`` is ``ok``, ``few``, ``thin`` (left out of the macro means) or ``undefined``.
    """

    axis: str
    parts: dict[str, Estimate]
    n_pairs: int
    n_items: int
    n_unmatched: int
    flag: str


@dataclass(frozen=True)
class Decomposition:
    """Macro means over axes of the figures below, and each axis.

    ``parts`` holds: ``raw`` (S eq. 6, the same seed on both sides, mean over seeds), ``floor_gen``
    and ``excess`` = raw - floor_gen (in [-1, 1], may be negative); ``joint``, ``union``,
    ``independent`` = raw x floor_gen and ``overlap`` = joint - independent; ``cross_seed`` (two
    seeds on the two sides), ``floor_train`` and ``training_noise`` = cross_seed - raw, undefined
    with one seed; ``plugin_bias``, what 2p(1 - p) at the share p of seeds would add to
    floor_train; ``floor_share`` = floor_gen / raw, undefined where raw is 0.

    ``n_unmatched`` pairs are left out because their anchor was not repeated.
    """

    parts: dict[str, Estimate]
    by_axis: tuple[AxisParts, ...]
    axes_used: tuple[str, ...]
    n_pairs: int
    n_items: int
    n_unmatched: int
    n_seeds: int


def decompose(
    anchor_verdicts: ArrayLike,
    partner_verdicts: ArrayLike,
    anchor_id: ArrayLike,
    repeat_verdicts: ArrayLike,
    repeat_of: ArrayLike,
    *,
    groups: ArrayLike,
    axis: ArrayLike | None = None,
    edited: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    min_pairs: int = 1,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Decomposition:
    """Decompose the instability of S seeds over p preserving pairs and r repeat pairs.

    An anchor's floor is the mean over its repeat pairs, and counts once for each of its pairs on
    an axis, so that raw and floor weigh the same anchors alike.

    Args:
        anchor_verdicts: (S, p) or (p,) verdict of each seed on each pair's anchor, 1 or 0.
        partner_verdicts: likewise on its partner.
        anchor_id: (p,) the anchor of each pair.
        repeat_verdicts: (S, r) or (r,) verdict on another generation of the same prompt.
        repeat_of: (r,) the anchor it repeats.
        groups: (p,) item of each pair, the unit that intervals resample.
        axis: (p,) transformation; one axis where omitted.
        edited: (p,) True where the partner edits the anchor's own trace: nothing was generated
            anew, so its floor_gen is 0 and no repeat is needed. All False where omitted.
        strata: (p,) stratum of each pair's item.
        min_pairs: matched pairs an axis needs to enter the macro means.
        n_resamples: bootstrap resamples of items.
        seed: of the bootstrap.

    Raises:
        ValueError: on unequal shapes, a verdict other than 1 or 0, or an anchor with two verdicts
            of one seed.
    """
    anchor, partner = _verdicts("anchor", anchor_verdicts), _verdicts("partner", partner_verdicts)
    repeat = _verdicts("repeat", repeat_verdicts)
    n_seeds, n = anchor.shape
    if partner.shape != anchor.shape or len(repeat) != n_seeds:
        raise ValueError("verdicts differ in shape: the same seeds and pairs on both sides")
    of = _column("repeat_of", repeat_of, repeat.shape[1])
    names, code = np.unique(_column("anchor_id", anchor_id, n), return_inverse=True)
    first = np.zeros((n_seeds, len(names)), dtype=np.int64)
    first[:, code] = anchor
    if (first[:, code] != anchor).any():
        raise ValueError("an anchor has two verdicts of one seed")
    edit = np.zeros(n, bool) if edited is None else _column("edited", edited, n).astype(bool)

    # Repeat flips of each anchor: (S, anchors), and how many repeats it has.
    known = np.isin(of, names)
    at = np.searchsorted(names, of[known])
    flips = np.zeros((n_seeds, len(names)))
    for row, flip in zip(flips, repeat[:, known] != first[:, at], strict=True):
        np.add.at(row, at, flip)
    n_repeats = np.bincount(at, minlength=len(names))
    matched = edit | (n_repeats[code] > 0)
    share = np.where(edit, 0.0, flips[:, code] / np.maximum(n_repeats[code], 1))
    pairs = _pair_means(anchor, partner, share)[matched]

    axes, axis_code = np.unique(
        np.zeros(n, "U1") if axis is None else _column("axis", axis, n), return_inverse=True
    )
    items, item_code = np.unique(_column("groups", groups, n), return_inverse=True)
    # Added in the order of their values, so that the order of rows does not matter.
    order = np.lexsort(pairs.T)
    cell = item_code[matched][order], axis_code[matched][order]
    sums = np.zeros((len(items), len(axes), len(MEANS)))
    np.add.at(sums, cell, pairs[order])
    counts = np.zeros((len(items), len(axes)))
    np.add.at(counts, cell, 1)
    layer = np.zeros(len(items), dtype=np.intp)
    if strata is not None:
        layer[item_code] = np.unique(_column("strata", strata, n), return_inverse=True)[1]
    weights = item_weights(layer, n_resamples, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums.sum(axis=0) / counts.sum(axis=0)[:, None]
        draws = np.tensordot(weights, sums, axes=1) / (weights @ counts)[:, :, None]

    unmatched = np.bincount(axis_code[~matched], minlength=len(axes))
    rows, used = [], []
    for a, name in enumerate(axes):
        m, n_items = int(counts[:, a].sum()), int((counts[:, a] > 0).sum())
        flag = axis_flag(m, m, min_pairs)
        # Where every partner is an edit the floor is 0 by definition, not an estimate.
        fixed = bool(edit[axis_code == a].all())
        figures = _derive(means[a], n_seeds), _derive(draws[:, a], n_seeds)
        parts = _estimates(*figures, n_items, fixed)
        rows.append(AxisParts(str(name), parts, m, n_items, int(unmatched[a]), flag))
        used += [a] if flag in ("ok", "few") else []
    n_items = int((counts[:, used].sum(axis=1) > 0).sum())
    return Decomposition(
        parts=_estimates(
            _macro(means, used, n_seeds),
            _macro(draws, used, n_seeds),
            n_items,
            bool(edit[np.isin(axis_code, used)].all()),
        ),
        by_axis=tuple(rows),
        axes_used=tuple(str(axes[a]) for a in used),
        n_pairs=int(counts[:, used].sum()),
        n_items=n_items,
        n_unmatched=int(unmatched.sum()),
        n_seeds=n_seeds,
    )


def seed_disagreement(verdicts: ArrayLike) -> NDArray[np.float64]:
    """Share of the pairs of seeds that disagree on each trace: (n,), unbiased for 2p(1 - p).

    Args:
        verdicts: (S, n) 1 or 0.

    Returns:
        ``2 k (S - k) / (S (S - 1))`` with k seeds of verdict 1; NaN with one seed.
    """
    array = _verdicts("seed", verdicts)
    n_seeds, k = len(array), array.sum(axis=0)
    if n_seeds < 2:
        return np.full(len(k), np.nan)
    return np.asarray(2 * k * (n_seeds - k) / (n_seeds * (n_seeds - 1)))


def _pair_means(
    anchor: NDArray[np.int64], partner: NDArray[np.int64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The MEANS of each pair (p, 5), averaged over seeds; ``share`` (S, p) of repeats that flip."""
    changed = anchor != partner
    n_seeds, left, right = len(anchor), anchor.sum(axis=0), partner.sum(axis=0)
    # Of all S^2 pairings of an anchor's seed with a partner's, those that differ in verdict.
    crossed = left * (n_seeds - right) + (n_seeds - left) * right - changed.sum(axis=0)
    cross = crossed / (n_seeds * (n_seeds - 1)) if n_seeds > 1 else np.full(len(left), np.nan)
    columns = [
        changed.mean(axis=0),
        share.mean(axis=0),
        (changed * share).mean(axis=0),
        seed_disagreement(anchor),
        cross,
    ]
    return np.stack(columns, axis=-1)


def _derive(means: NDArray[np.float64], n_seeds: int) -> dict[str, NDArray[np.float64]]:
    """All figures of one axis from its MEANS (..., 5); NaN is undefined."""
    raw, floor, joint, train, cross = np.moveaxis(means, -1, 0)
    return {
        **dict(zip(MEANS, (raw, floor, joint, train, cross), strict=True)),
        "excess": raw - floor,
        "union": raw + floor - joint,
        "independent": raw * floor,
        "overlap": joint - raw * floor,
        "training_noise": cross - raw,
        "plugin_bias": -train / n_seeds,
        "floor_share": _ratio(floor, raw),
    }


def _macro(
    means: NDArray[np.float64], used: list[int], n_seeds: int
) -> dict[str, NDArray[np.float64]]:
    if not used:
        return _derive(np.full((*means.shape[:-2], len(MEANS)), np.nan), n_seeds)
    axes = [_derive(means[..., a, :], n_seeds) for a in used]
    parts = {name: np.mean([axis[name] for axis in axes], axis=0) for name in axes[0]}
    # A ratio of macro means; an axis whose raw is 0 has no ratio of its own.
    return parts | {"floor_share": _ratio(parts["floor_gen"], parts["raw"])}


def _ratio(over: NDArray[np.float64], under: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.asarray(under) > 0, over / under, np.nan)


def _estimates(
    values: dict[str, NDArray[np.float64]],
    draws: dict[str, NDArray[np.float64]],
    n_items: int,
    fixed: bool,
) -> dict[str, Estimate]:
    result: dict[str, Estimate] = {}
    for name, value in values.items():
        figure = None if np.isnan(value) else float(value)
        if fixed and figure is not None and name in ("floor_gen", "joint"):
            interval: Interval | None = (0.0, 0.0)
        elif name in BOUNDED:
            interval = rate_interval(figure, draws[name], n_items)
        else:
            interval = None if figure is None else percentile_interval(draws[name])
            if interval is not None and interval[0] == interval[1]:
                # Draws that do not vary say nothing of the width; a difference has its parts'.
                interval = _box(result, *DIFFERENCES[name]) if name in DIFFERENCES else None
        result[name] = Estimate(figure, interval)
    return result


def _box(parts: dict[str, Estimate], left: str, right: str) -> Interval | None:
    over, under = parts[left].interval, parts[right].interval
    return None if over is None or under is None else (over[0] - under[1], over[1] - under[0])


def _verdicts(name: str, values: ArrayLike) -> NDArray[np.int64]:
    array = np.atleast_2d(np.asarray(values))
    if array.ndim != 2 or array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} verdicts must be 1 or 0, of shape (seeds, pairs)")
    return array.astype(np.int64)


def _column(name: str, values: ArrayLike, n: int) -> NDArray:
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(f"{name} must be of shape ({n},) (got {array.shape})")
    return array
