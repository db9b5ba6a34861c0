"""An operating point: what a detector is worth at given confidence thresholds, one a seed.

All figures are computed per seed and averaged over seeds. Intervals resample test items within
domain with tau and the thresholds frozen.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.frame import Frame, Pairs
from faithshift_bench.metrics.invariance import violations
from faithshift_bench.metrics.mfs import harmonic_mean, meta_faithfulness_score
from faithshift_bench.metrics.rates import axis_flag, rate_interval, tabulate
from faithshift_bench.metrics.sensitivity import flips
from faithshift_bench.metrics.verdicts import select
from faithshift_bench.stats import exact_interval, percentile_interval
from faithshift_bench.stats.intervals import Interval
from faithshift_data.schema import Kind

Point = dict[str, Any]


class Rate:
    """Macro rate of one pair kind at L operating points (seeds), with bootstrap draws."""

    def __init__(
        self,
        pairs: Pairs,
        verdicts: NDArray[np.int8],
        items: NDArray[np.intp],
        weights: NDArray[np.float64] | None,
        min_pairs: int,
        abstention: str = "both",
    ) -> None:
        """Tabulate verdicts (L, n); ``items`` are the codes of the columns of ``weights``."""
        anchor, partner = verdicts[:, pairs.anchor], verdicts[:, pairs.partner]
        if pairs.kind == Kind.ALTERING:
            hit, counted = flips(anchor, partner, pairs.direction, abstention)
        else:
            hit, counted = violations(anchor, partner, abstention)
        self.axes = pairs.axes
        self.n_pairs = np.bincount(pairs.axis, minlength=len(pairs.axes))
        shape = (int(items.max()) + 1 if len(items) else 0, len(pairs.axes))
        table = [[tabulate(row, pairs.item, pairs.axis, shape)[items] for row in side]
                 for side in (hit, counted)]
        shape_all = (len(verdicts), len(items), len(pairs.axes))
        hits, counts = (np.array(side).reshape(shape_all) for side in table)
        self.count, self.counted = hits.sum(axis=1).astype(int), counts.sum(axis=1).astype(int)
        self.item_seen = (counts > 0).any(axis=0)
        self.used = self.n_pairs >= min_pairs
        with np.errstate(invalid="ignore"):
            self.by_axis = self.count / self.counted
            self.value = _nanmean(self.by_axis[:, self.used], axis=1)
        self.axis_draws: NDArray[np.float64] | None = None
        if weights is not None:
            with np.errstate(invalid="ignore"):
                self.axis_draws = (weights @ hits) / (weights @ counts)

    @property
    def n_items(self) -> int:
        """Items with a counted pair on an axis that is used."""
        return int(self.item_seen[:, self.used].any(axis=1).sum())

    def draws(self) -> NDArray[np.float64]:
        """Macro rate in each resample: (L, B); NaN where an axis that is defined falls empty."""
        assert self.axis_draws is not None
        rows = []
        for level, defined in enumerate(self.counted > 0):
            columns = self.used & defined
            block = self.axis_draws[level][:, columns]
            rows.append(block.mean(axis=1) if columns.any() else np.full(len(block), np.nan))
        return np.array(rows).reshape(len(self.value), -1)

    def axis_rows(self, min_pairs: int) -> list[dict[str, Any]]:
        """One row an axis: mean over seeds, interval, integer counts of each seed, flag."""
        rows = []
        for a, axis in enumerate(self.axes):
            value = number(_nanmean(self.by_axis[:, a]))
            least = int(self.counted[:, a].max(initial=0))
            n_items = int(self.item_seen[:, a].sum())
            draws = None if self.axis_draws is None else _nanmean(self.axis_draws[:, :, a], axis=0)
            rows.append({
                "axis": axis,
                "value": value,
                "interval": None if draws is None else rate_interval(value, draws, n_items),
                "n_pairs": int(self.n_pairs[a]),
                "n_counted": [int(x) for x in self.counted[:, a]],
                "count": [int(x) for x in self.count[:, a]],
                "n_items": n_items,
                "flag": axis_flag(int(self.n_pairs[a]), least, min_pairs),
            })
        return rows


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
    ivr, sens = (Rate(p, shown, items, weights, min_pairs)
                 for p in (frame.preserving, frame.altering))
    strict = [Rate(p, shown, items, None, min_pairs, "base_strict").value
              for p in (frame.preserving, frame.altering)]
    cover = Coverage(frame, selected, items)
    pair_cover = _pair_coverage(ivr, sens)
    hm = np.array([_hm(i, a) for i, a in zip(ivr.value, sens.value, strict=True)])
    mfs = cover.value * hm
    rows = _seed_rows(thresholds, live, {
        "mfs": mfs, "hm": hm, "coverage": cover.value, "ivr": ivr.value, "as": sens.value,
        "coverage_traces": cover.traces, "coverage_all": cover.every, "coverage_pair": pair_cover,
    })

    def over_seeds(values: NDArray[np.float64]) -> float | None:
        return number(values.sum() / n_seeds) if n_seeds else None

    intervals: dict[str, Interval | None] = dict.fromkeys(("mfs", "hm", "coverage", "ivr", "as"))
    if weights is not None and live:
        intervals = _intervals(ivr, sens, cover, mfs, hm, weights, n_seeds, bool((cuts == 0).all()))
    risks = selective_risks(frame, shown)
    point: Point = {
        "mfs": over_seeds(mfs),
        "hm": number(_nanmean(hm)),
        "coverage": over_seeds(cover.value),
        "ivr": number(_nanmean(ivr.value)),
        "as": number(_nanmean(sens.value)),
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
        "base_strict": {"ivr": number(_nanmean(strict[0])), "as": number(_nanmean(strict[1]))},
        **risks,
        "chance": _chance(shown[:, frame.rows("test")]),
        "axes_used": {"ivr": _used(ivr), "as": _used(sens)},
        "ivr_by_axis": ivr.axis_rows(min_pairs),
        "as_by_axis": sens.axis_rows(min_pairs),
    }
    return point, rows


class Coverage:
    """Coverage of test rows at L operating points; ``value`` is item-weighted, labelled rows."""

    def __init__(self, frame: Frame, selected: NDArray[np.bool_], items: NDArray[np.intp]) -> None:
        """``selected`` is (L, n); ``items`` the codes of the test items."""
        labelled, test = frame.rows("test", labelled=True), frame.rows("test")
        self.share, self.has = _item_share(frame, selected, labelled, items)
        share_all, has_all = _item_share(frame, selected, test, items)
        with np.errstate(invalid="ignore"):
            self.value = self.share.sum(axis=1) / self.has.sum()
            self.every = share_all.sum(axis=1) / has_all.sum()
            self.traces = selected[:, labelled].sum(axis=1) / np.float64(len(labelled))

    def draws(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Item-weighted coverage in each resample: (L, B)."""
        with np.errstate(invalid="ignore"):
            return (self.share @ weights.T) / (self.has @ weights.T)


def selective_risks(frame: Frame, shown: NDArray[np.int8]) -> dict[str, Any]:
    """Item-weighted error of committed verdicts on labelled test rows, overall and by true label.

    ``shown`` is (L, n) with -1 where the detector abstains; figures are means over L, None where
    nothing is committed.
    """
    rows = frame.rows("test", labelled=True)
    labels, shown = frame.label[rows], shown[:, rows]
    sizes = np.bincount(frame.item[rows], minlength=len(frame.items))
    weight = 1.0 / sizes[frame.item[rows]]
    wrong = (shown >= 0) & (shown != labels)
    result: dict[str, Any] = {}
    for name, among in (("risk", labels >= 0), ("risk_faithful", labels == 1),
                        ("risk_unfaithful", labels == 0)):
        with np.errstate(invalid="ignore"):
            ratio = (wrong * among) @ weight / (((shown >= 0) * among) @ weight)
        result[name] = number(_nanmean(ratio))
    result["n_committed"] = [int(x) for x in (shown >= 0).sum(axis=1)]
    result["n_wrong"] = [int(x) for x in wrong.sum(axis=1)]
    return result


def number(value: float | np.floating) -> float | None:
    """A plain float, or None where it is NaN (undefined)."""
    return None if np.isnan(value) else float(value)


def _intervals(
    ivr: Rate, sens: Rate, cover: Coverage, mfs: NDArray, hm: NDArray,
    weights: NDArray[np.float64], n_seeds: int, everything: bool,
) -> dict[str, Interval | None]:
    ivr_draws, as_draws = ivr.draws(), sens.draws()
    total = 1 - ivr_draws + as_draws
    with np.errstate(invalid="ignore"):
        hm_draws = np.where(total == 0, 0.0, 2 * (1 - ivr_draws) * as_draws / total)
    cover_draws = cover.draws(weights)
    mean_ivr, mean_as = (number(_nanmean(x.value)) for x in (ivr, sens))
    bounds: dict[str, Interval | None] = {
        "ivr": rate_interval(mean_ivr, _nanmean(ivr_draws, axis=0), ivr.n_items),
        "as": rate_interval(mean_as, _nanmean(as_draws, axis=0), sens.n_items),
    }
    coverage = float(cover.value.sum() / n_seeds)
    if everything:
        # All seeds commit on everything by construction; there is nothing to estimate.
        share = len(mfs) / n_seeds
        bounds["coverage"] = (share, share)
    else:
        bounds["coverage"] = _summary(coverage, cover_draws.sum(axis=0) / n_seeds, None)
        if coverage == 1:
            items = int(cover.has.sum())
            bounds["coverage"] = exact_interval(items, items)
    bounds["hm"] = _summary(_nanmean(hm), _nanmean(hm_draws, axis=0), _box(bounds, None))
    bounds["mfs"] = _summary(mfs.sum() / n_seeds, (cover_draws * hm_draws).sum(axis=0) / n_seeds,
                             _box(bounds, bounds["coverage"]))
    return bounds


def _summary(value: float, draws: NDArray, box: Interval | None) -> Interval | None:
    if np.isnan(value):
        return None
    interval = percentile_interval(draws)
    return box if interval is not None and interval[0] == interval[1] else interval


def _box(bounds: dict[str, Interval | None], coverage: Interval | None) -> Interval | None:
    """Interval of HM or MFS from those of its parts, for draws that do not vary."""
    ivr, sens = bounds["ivr"], bounds["as"]
    if ivr is None or sens is None:
        return None
    low, high = coverage or (1.0, 1.0)
    return (meta_faithfulness_score(ivr[1], sens[0], low),
            meta_faithfulness_score(ivr[0], sens[1], high))


def _hm(ivr: float, sensitivity: float) -> float:
    undefined = np.isnan(ivr) or np.isnan(sensitivity)
    return float("nan") if undefined else harmonic_mean(ivr, sensitivity)


def _pair_coverage(ivr: Rate, sens: Rate) -> NDArray[np.float64]:
    shares = [rate.counted[:, rate.used] / rate.n_pairs[rate.used] for rate in (ivr, sens)]
    return _nanmean(np.concatenate(shares, axis=1), axis=1)


def _micro(rate: Rate) -> float | None:
    with np.errstate(invalid="ignore"):
        values = rate.count[:, rate.used].sum(axis=1) / rate.counted[:, rate.used].sum(axis=1)
    return number(_nanmean(values))


def _used(rate: Rate) -> list[str]:
    seen = rate.used & (rate.counted > 0).any(axis=0)
    return [axis for axis, used in zip(rate.axes, seen, strict=True) if used]


def _chance(shown: NDArray[np.int8]) -> dict[str, float | None]:
    with np.errstate(invalid="ignore"):
        share = (shown == 1).sum(axis=1) / (shown >= 0).sum(axis=1)
    return {"faithful_share": number(_nanmean(share)),
            "ivr": number(_nanmean(2 * share * (1 - share))),
            "as": number(_nanmean(share * (1 - share)))}


def _seed_rows(
    thresholds: list[float | None], live: list[int], columns: dict[str, NDArray]
) -> list[Point]:
    empty = {name: 0.0 if name.startswith(("mfs", "coverage")) else None for name in columns}
    rows: list[Point] = [{"threshold": t, **empty} for t in thresholds]
    for position, s in enumerate(live):
        rows[s].update({name: number(values[position]) for name, values in columns.items()})
    return rows


def _item_share(
    frame: Frame, selected: NDArray[np.bool_], rows: NDArray[np.intp], items: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    size = len(frame.items)
    sizes = np.bincount(frame.item[rows], minlength=size)
    sums = [np.bincount(frame.item[rows], s[rows], minlength=size) for s in selected]
    share = np.array(sums).reshape(len(selected), size) / np.maximum(sizes, 1)
    return share[:, items], (sizes[items] > 0).astype(float)


def _nanmean(values: NDArray[np.float64], axis: int | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(values, axis=axis)
