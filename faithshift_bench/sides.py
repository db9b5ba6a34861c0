"""The sides of a comparison: each detector's item tables at an operating point, and their figures.

A table holds sums by seed and item, and every figure follows from its totals, so that resampled
and swapped items are one matrix product each.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.frame import Frame, Pairs
from faithshift_bench.metrics.invariance import violations
from faithshift_bench.metrics.rates import tabulate
from faithshift_bench.metrics.sensitivity import flips
from faithshift_bench.metrics.verdicts import select
from faithshift_bench.stats import vary_ends
from faithshift_data.schema import Kind

FIGURES = ("mfs", "hm", "coverage", "ivr", "as")
DECIMALS = 12


@dataclass(frozen=True)
class Side:
    """A detector with everything frozen.

    Attributes:
        name: distinct within a comparison.
        verdicts: (S, n) 1 or 0, before abstention.
        confidence: (S, n) in [0, 1].
        thresholds: (S,) certified thresholds; None where a seed is not certified.
        control: whether it is one of the controls.
        reads_label_evidence: whether it reads evidence of the kind constructed labels rest on.
        reason: why nothing is certified, or None.
    """

    name: str
    verdicts: NDArray[np.int8]
    confidence: NDArray[np.float64]
    thresholds: tuple[float | None, ...]
    control: bool = False
    reads_label_evidence: bool = False
    reason: str | None = None


def own_selection(side: Side) -> NDArray[np.bool_]:
    """(S, n) what is committed at the certified thresholds; nothing where there is none."""
    cuts = np.array([np.inf if t is None else t for t in side.thresholds])
    return select(side.confidence, cuts[:, None])


def matched_selection(frame: Frame, side: Side, coverage: float) -> NDArray[np.bool_]:
    """(S, n) the same share for every detector, set on tune and calib without their labels.

    The threshold is the confidence at which the item-weighted share of the tune and calib rows
    reaches ``coverage``. Rows of equal confidence go in the order of sha256(trace_id), on test
    too, so that a detector whose confidences are all equal commits on that share as well.
    """
    if coverage == 1:
        return np.ones_like(side.verdicts, dtype=bool)
    held = np.flatnonzero(frame.fold != "test")
    sizes = np.bincount(frame.item[held], minlength=len(frame.items))
    weight = 1.0 / sizes[frame.item[held]]
    digests = [hashlib.sha256(str(t).encode()).digest()[:8] for t in frame.trace_id]
    key = np.array([int.from_bytes(d) for d in digests], dtype=np.uint64)
    chosen = []
    for row in np.round(side.confidence, DECIMALS):
        order = np.lexsort((key[held], -row[held]))
        share = np.cumsum(weight[order]) / weight.sum()
        last = held[order[np.searchsorted(share, coverage - 1e-9)]]
        chosen.append((row > row[last]) | ((row == row[last]) & (key <= key[last])))
    return np.array(chosen)


class Tables:
    """Item sums of one side: hits and counted pairs by axis, and coverage."""

    def __init__(
        self, frame: Frame, side: Side, selected: NDArray[np.bool_], items: NDArray[np.intp]
    ) -> None:
        """``selected`` is (S, n); ``items`` the codes of the test items, ascending."""
        shown = np.where(selected, side.verdicts, -1).astype(np.int8)
        self.hits, self.counts = {}, {}
        for pairs in (frame.preserving, frame.altering):
            sides = [_tabulate(pairs, row, items) for row in shown]
            self.hits[pairs.kind] = np.array([hit for hit, _ in sides])
            self.counts[pairs.kind] = np.array([counted for _, counted in sides])
        rows = frame.rows("test", labelled=True)
        sizes = np.bincount(frame.item[rows], minlength=len(frame.items))
        share = [np.bincount(frame.item[rows], s[rows], len(frame.items)) for s in selected]
        self.share = (np.array(share) / np.maximum(sizes, 1))[:, items]
        self.has = np.broadcast_to((sizes > 0)[items].astype(float), self.share.shape)

    def counted(self, kind: str) -> NDArray[np.intp]:
        """(S, A) pairs with both ends committed."""
        return self.counts[kind].sum(axis=1).astype(int)

    def stack(self, used: dict[str, NDArray[np.bool_]]) -> NDArray[np.float64]:
        """(S, I, K) sums of the axes used, in the order that :func:`figures` reads."""
        parts = [
            table[kind][:, :, used[kind]]
            for kind in (Kind.PRESERVING, Kind.ALTERING)
            for table in (self.hits, self.counts)
        ]
        return np.concatenate([*parts, self.share[:, :, None], self.has[:, :, None]], axis=2)


def figures(
    totals: NDArray[np.float64],
    n_axes: tuple[int, int],
    coverage: float | None,
    observed: NDArray[np.float64] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Figures of each seed and draw from totals (S, B, K); NaN where undefined.

    Totals of resamples come with the ``observed`` table (S, I, K), whose rates of 0 and 1 get the
    spread of :func:`vary_ends`.

    IVR and AS are macro over axes. MFS is coverage x HM (S eq. 8) with the realised coverage, and
    0 where nothing is committed; at a matched point it is ``coverage`` x HM.
    """
    p, a = n_axes
    hits_p, counts_p, hits_a, counts_a, cover = np.split(totals, np.cumsum([p, p, a, a]), axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = [hits_p / counts_p, hits_a / counts_a]
        if observed is not None:
            parts = np.split(observed, np.cumsum([p, p, a, a]), axis=2)
            for kind, (hits, counts) in enumerate((parts[:2], parts[2:4])):
                seen = hits.sum(axis=1) / counts.sum(axis=1)
                rates[kind] = vary_ends(rates[kind], seen, (counts > 0).sum(axis=1))
        ivr, sens = map(_mean, rates)
        total = 1 - ivr + sens
        hm = np.where(total == 0, 0.0, 2 * (1 - ivr) * sens / total)
        realised = cover[:, :, 0] / cover[:, :, 1]
    mfs = np.where(realised == 0, 0.0, realised * hm) if coverage is None else coverage * hm
    return {"mfs": mfs, "hm": hm, "coverage": realised, "ivr": ivr, "as": sens}


def over_seeds(
    values: dict[str, NDArray[np.float64]], live: NDArray[np.bool_]
) -> dict[str, NDArray[np.float64]]:
    """Means over seeds (B,): of all seeds for MFS and coverage, of the live ones for the rest."""
    result = {}
    for name, value in values.items():
        block = value if name in ("mfs", "coverage") else value[live]
        result[name] = block.mean(axis=0) if len(block) else np.full(value.shape[1], np.nan)
    return result


def _tabulate(
    pairs: Pairs, shown: NDArray[np.int8], items: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    anchor, partner = shown[pairs.anchor], shown[pairs.partner]
    if pairs.kind == Kind.ALTERING:
        hit, counted = flips(anchor, partner, pairs.direction)
    else:
        hit, counted = violations(anchor, partner)
    shape = (int(items.max()) + 1, len(pairs.axes))
    hits, counts = (tabulate(x, pairs.item, pairs.axis, shape)[items] for x in (hit, counted))
    return hits, counts


def _mean(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    return rates.mean(axis=2) if rates.shape[2] else np.full(rates.shape[:2], np.nan)
