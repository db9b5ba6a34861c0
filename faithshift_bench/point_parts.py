"""What an operating point is made of, for L seeds at once: pair rates, coverage and risk."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.frame import Frame, Pairs
from faithshift_bench.metrics.invariance import violations
from faithshift_bench.metrics.rates import axis_flag, rate_interval, tabulate
from faithshift_bench.metrics.sensitivity import flips
from faithshift_bench.stats import rate_draws
from faithshift_data.schema import Kind


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
        table = [
            [tabulate(row, pairs.item, pairs.axis, shape)[items] for row in side]
            for side in (hit, counted)
        ]
        shape_all = (len(verdicts), len(items), len(pairs.axes))
        hits, counts = (np.array(side).reshape(shape_all) for side in table)
        self.count, self.counted = hits.sum(axis=1).astype(int), counts.sum(axis=1).astype(int)
        self.item_seen: NDArray[np.bool_] = np.asarray((counts > 0).any(axis=0))
        self.used: NDArray[np.bool_] = np.asarray(self.n_pairs >= min_pairs)
        with np.errstate(invalid="ignore"):
            self.by_axis = self.count / self.counted
            self.value = nanmean(self.by_axis[:, self.used], axis=1)
        self.axis_draws: NDArray[np.float64] | None = None
        if weights is not None:
            self.axis_draws = rate_draws(weights, hits, counts)

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
            value = number(nanmean(self.by_axis[:, a]))
            least = int(self.counted[:, a].max(initial=0))
            n_items = int(self.item_seen[:, a].sum())
            draws = None if self.axis_draws is None else nanmean(self.axis_draws[:, :, a], axis=0)
            rows.append(
                {
                    "axis": axis,
                    "value": value,
                    "interval": None if draws is None else rate_interval(value, draws, n_items),
                    "n_pairs": int(self.n_pairs[a]),
                    "n_counted": [int(x) for x in self.counted[:, a]],
                    "count": [int(x) for x in self.count[:, a]],
                    "n_items": n_items,
                    "flag": axis_flag(int(self.n_pairs[a]), least, min_pairs),
                }
            )
        return rows


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
    for name, among in (
        ("risk", labels >= 0),
        ("risk_faithful", labels == 1),
        ("risk_unfaithful", labels == 0),
    ):
        with np.errstate(invalid="ignore"):
            ratio = (wrong * among) @ weight / (((shown >= 0) * among) @ weight)
        result[name] = number(nanmean(ratio))
    result["n_committed"] = [int(x) for x in (shown >= 0).sum(axis=1)]
    result["n_wrong"] = [int(x) for x in wrong.sum(axis=1)]
    return result


def number(value: float | np.floating) -> float | None:
    """A plain float, or None where it is NaN (undefined)."""
    return None if np.isnan(value) else float(value)


def nanmean(values: NDArray[np.float64], axis: int | None = None) -> Any:
    """Mean of the defined values; NaN, without a warning, where none is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(values, axis=axis)


def _item_share(
    frame: Frame, selected: NDArray[np.bool_], rows: NDArray[np.intp], items: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    size = len(frame.items)
    sizes = np.bincount(frame.item[rows], minlength=size)
    sums = [np.bincount(frame.item[rows], s[rows], minlength=size) for s in selected]
    share = np.array(sums).reshape(len(selected), size) / np.maximum(sizes, 1)
    return share[:, items], (sizes[items] > 0).astype(float)
