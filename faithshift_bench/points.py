"""An operating point: what a detector is worth at given confidence thresholds, one a seed.

All figures are computed per seed and averaged over seeds. Intervals resample test items within
domain with tau and the thresholds frozen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.frame import Frame
from faithshift_bench.metrics.mfs import harmonic_mean
from faithshift_bench.metrics.rates import interval_around, rate_interval
from faithshift_bench.metrics.verdicts import select
from faithshift_bench.point_parts import Coverage, Rate, nanmean, number, selective_risks
from faithshift_bench.stats import vary_ends
from faithshift_bench.stats.intervals import Interval

Point = dict[str, Any]


def operating_point(
    frame: Frame,
    verdicts: NDArray[np.int8],
    confidence: NDArray[np.float64],
    thresholds: list[float | None],
    weights: NDArray[np.float64] | None,
    min_pairs: int,
) -> tuple[Point, list[Point]]:
    """The figures at ``thresholds`` (one a seed; None: nothing certified), and those of each seed.

    Args:
        frame: traces and pairs.
        verdicts: (S, n) 1 or 0, before abstention.
        confidence: (S, n) in [0, 1].
        thresholds: (S,).
        weights: (B, I) resamples of the test items, in item order; None leaves intervals out.
        min_pairs: verified test pairs an axis needs to enter the macro mean.

    Returns:
        (mean over seeds, one dict a seed). An uncertified seed has coverage 0, MFS 0 and no IVR
        or AS; IVR, AS and HM are means over the certified seeds.
    """
    n_seeds = len(thresholds)
    live = [s for s, t in enumerate(thresholds) if t is not None]
    cuts = np.array([t for t in thresholds if t is not None], dtype=float)
    selected = select(confidence[live], cuts[:, None])
    shown = np.where(selected, verdicts[live], -1).astype(np.int8)
    items = np.unique(frame.item[frame.rows("test")])
    ivr, sens = (
        Rate(p, shown, items, weights, min_pairs) for p in (frame.preserving, frame.altering)
    )
    strict = [
        Rate(p, shown, items, None, min_pairs, "base_strict").value
        for p in (frame.preserving, frame.altering)
    ]
    cover = Coverage(frame, selected, items)
    pair_cover = _pair_coverage(ivr, sens)
    hm = np.array([_hm(i, a) for i, a in zip(ivr.value, sens.value, strict=True)])
    mfs = cover.value * hm
    rows = _seed_rows(
        thresholds,
        live,
        {
            "mfs": mfs,
            "hm": hm,
            "coverage": cover.value,
            "ivr": ivr.value,
            "as": sens.value,
            "coverage_traces": cover.traces,
            "coverage_all": cover.every,
            "coverage_pair": pair_cover,
        },
    )

    def over_seeds(values: NDArray[np.float64]) -> float | None:
        return number(values.sum() / n_seeds) if n_seeds else None

    intervals: dict[str, Interval | None] = dict.fromkeys(("mfs", "hm", "coverage", "ivr", "as"))
    if weights is not None and live:
        intervals = _intervals(ivr, sens, cover, mfs, hm, weights, n_seeds, bool((cuts == 0).all()))
    risks = selective_risks(frame, shown)
    point: Point = {
        "mfs": over_seeds(mfs),
        "hm": number(nanmean(hm)),
        "coverage": over_seeds(cover.value),
        "ivr": number(nanmean(ivr.value)),
        "as": number(nanmean(sens.value)),
        "intervals": intervals,
        "n_preserving": int(ivr.n_pairs[ivr.used].sum()),
        "n_altering": int(sens.n_pairs[sens.used].sum()),
        "n_preserving_counted": [int(x) for x in ivr.counted[:, ivr.used].sum(axis=1)],
        "n_altering_counted": [int(x) for x in sens.counted[:, sens.used].sum(axis=1)],
        "n_items": len(items),
        "n_items_ivr": ivr.n_items if live else 0,
        "n_items_as": sens.n_items if live else 0,
        "n_seeds": n_seeds,
        "n_seeds_live": len(live),
        "n_seeds_undefined": int(np.isnan(mfs).sum()),
        "coverage_traces": over_seeds(cover.traces),
        "coverage_all": over_seeds(cover.every),
        "coverage_pair": over_seeds(pair_cover),
        "mfs_pair": over_seeds(pair_cover * hm),
        "ivr_micro": _micro(ivr),
        "as_micro": _micro(sens),
        "base_strict": {"ivr": number(nanmean(strict[0])), "as": number(nanmean(strict[1]))},
        **risks,
        "chance": _chance(shown[:, frame.rows("test")]),
        "axes_used": {"ivr": _used(ivr), "as": _used(sens)},
        "ivr_by_axis": ivr.axis_rows(min_pairs),
        "as_by_axis": sens.axis_rows(min_pairs),
    }
    return point, rows


def _intervals(
    ivr: Rate,
    sens: Rate,
    cover: Coverage,
    mfs: NDArray,
    hm: NDArray,
    weights: NDArray[np.float64],
    n_seeds: int,
    everything: bool,
) -> dict[str, Interval | None]:
    ivr_draws, as_draws = ivr.draws(), sens.draws()
    total = 1 - ivr_draws + as_draws
    with np.errstate(invalid="ignore"):
        hm_draws = np.where(total == 0, 0.0, 2 * (1 - ivr_draws) * as_draws / total)
    cover_draws = cover.draws(weights)
    mean_ivr, mean_as = (number(nanmean(x.value)) for x in (ivr, sens))
    bounds: dict[str, Interval | None] = {
        "ivr": rate_interval(mean_ivr, nanmean(ivr_draws, axis=0), ivr.n_items),
        "as": rate_interval(mean_as, nanmean(as_draws, axis=0), sens.n_items),
    }
    coverage = float(cover.value.sum() / n_seeds)
    if everything:
        # All seeds commit on everything by construction; there is nothing to estimate.
        share = len(mfs) / n_seeds
        bounds["coverage"] = (share, share)
    else:
        items = int(cover.has.sum())
        wider = vary_ends(cover_draws[:, :, None], cover.value[:, None], np.array([items]))
        cover_draws = wider[:, :, 0]
        bounds["coverage"] = rate_interval(coverage, cover_draws.sum(axis=0) / n_seeds, items)
    bounds["hm"] = interval_around(number(nanmean(hm)), nanmean(hm_draws, axis=0))
    bounds["mfs"] = interval_around(
        number(mfs.sum() / n_seeds), (cover_draws * hm_draws).sum(axis=0) / n_seeds
    )
    return bounds


def _hm(ivr: float, sensitivity: float) -> float:
    undefined = np.isnan(ivr) or np.isnan(sensitivity)
    return float("nan") if undefined else harmonic_mean(ivr, sensitivity)


def _pair_coverage(ivr: Rate, sens: Rate) -> NDArray[np.float64]:
    shares = [rate.counted[:, rate.used] / rate.n_pairs[rate.used] for rate in (ivr, sens)]
    return nanmean(np.concatenate(shares, axis=1), axis=1)


def _micro(rate: Rate) -> float | None:
    with np.errstate(invalid="ignore"):
        values = rate.count[:, rate.used].sum(axis=1) / rate.counted[:, rate.used].sum(axis=1)
    return number(nanmean(values))


def _used(rate: Rate) -> list[str]:
    seen = rate.used & (rate.counted > 0).any(axis=0)
    return [axis for axis, used in zip(rate.axes, seen, strict=True) if used]


def _chance(shown: NDArray[np.int8]) -> dict[str, float | None]:
    with np.errstate(invalid="ignore"):
        share = (shown == 1).sum(axis=1) / (shown >= 0).sum(axis=1)
    return {
        "faithful_share": number(nanmean(share)),
        "ivr": number(nanmean(2 * share * (1 - share))),
        "as": number(nanmean(share * (1 - share))),
    }


def _seed_rows(
    thresholds: list[float | None], live: list[int], columns: dict[str, NDArray]
) -> list[Point]:
    empty = {name: 0.0 if name.startswith(("mfs", "coverage")) else None for name in columns}
    rows: list[Point] = [{"threshold": t, **empty} for t in thresholds]
    for position, s in enumerate(live):
        rows[s].update({name: number(values[position]) for name, values in columns.items()})
    return rows
