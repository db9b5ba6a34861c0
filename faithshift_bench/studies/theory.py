"""S Theorem 4.6 / K.3 made executable: a lower bound of IVR, and whether its assumptions hold.

With margin m = D(c) - tau, a scalar feature s, its change Delta = s(c') - s(c) over a preserving
pair, and D(c') - D(c) = gamma Delta + r, where Delta has a symmetric sign and does not depend on m,

    IVR >= 1/2 P(|m| <= gamma |Delta|)              to first order (eq. 12)
    IVR >= 1/2 P(|m| <= gamma |Delta| - |r|)        with the remainder (eq. 54)

gamma is fitted on half of the items and everything else is computed on the other half. The bound,
its check and the diagnostics do not depend on the feature's unit or sign.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.board import figure, span, text_table
from faithshift_bench.frame import Frame
from faithshift_bench.stats import item_weights, percentile_interval
from faithshift_bench.stats.intervals import Interval
from faithshift_bench.studies.assumptions import (
    FAILS,
    HOLDS,
    THRESHOLDS,
    UNDEFINED,
    Diagnostic,
    Floats,
    diagnose,
    weighted_mean,
)
from faithshift_data.errors import InputError

VIOLATED, NOT_VIOLATED = "violated", "not violated"
COLUMNS = ("axis", "feature", "pairs", "items", "gamma", "bound", "IVR", "IVR - bound, 95%",
           "the bound", *THRESHOLDS, "assumptions")  # fmt: skip


@dataclass(frozen=True)
class BoundAudit:
    """The bound on one axis by one feature; rates in [0, 1], None where undefined.

    Attributes:
        axis: of the pairs.
        feature: its name.
        n_fit: pairs that fitted gamma.
        n_pairs: pairs of the other half, which all else is computed on.
        n_items: their items.
        n_dropped: pairs without the feature, in neither half.
        gamma: score change by unit of the feature, least squares through the origin.
        bound: half the share of pairs with |m| <= |gamma Delta|, Delta not 0.
        bound_with_remainder: half the share with |m| <= |gamma Delta| - |r|.
        ivr: share of pairs whose verdict changes.
        slack: ivr - bound; negative contradicts the theorem.
        interval: of the slack, items resampled, gamma frozen.
        diagnostics: the three assumptions.
        reason: why the bound is undefined, where it is.
    """

    axis: str
    feature: str
    n_fit: int
    n_pairs: int
    n_items: int
    n_dropped: int
    gamma: float | None = None
    bound: float | None = None
    bound_with_remainder: float | None = None
    ivr: float | None = None
    slack: float | None = None
    interval: Interval | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    reason: str | None = None

    @property
    def verdict(self) -> str:
        """``violated`` where the whole interval of the slack is negative; else ``not violated``.

        The three diagnostics cannot see a Delta whose sign goes with the sign of m; this can.
        """
        if self.bound is None or self.interval is None:
            return UNDEFINED
        return VIOLATED if self.interval[1] < 0 else NOT_VIOLATED

    @property
    def assumptions(self) -> str:
        """``fails`` if one fails, ``holds`` if all three hold, else ``undefined``."""
        found = {d.verdict for d in self.diagnostics} or {UNDEFINED}
        if FAILS in found:
            return FAILS
        return UNDEFINED if UNDEFINED in found else HOLDS


def gaussian_bound(b: float, sd: float) -> float:
    """S Corollary 6.1: the bound for margins N(0, sd^2) and a constant b = gamma |Delta|.

    Returns:
        ``erf(b / (sqrt(2) sd)) / 2``, in [0, 1/2]; rises with b / sd.

    Raises:
        InputError: b is negative or sd is not positive.
    """
    if not (b >= 0 and sd > 0):
        raise InputError("out of range", field="b, sd", expected="b >= 0, sd > 0", got=(b, sd))
    return 0.5 * math.erf(b / (math.sqrt(2) * sd))


def audit_axes(
    frame: Frame,
    scores: ArrayLike,
    tau: float,
    features: Mapping[str, ArrayLike],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> list[BoundAudit]:
    """The bound on every preserving axis of ``frame`` by every feature.

    Args:
        frame: traces and pairs.
        scores: (n,) of one detector seed, in the order of ``frame.trace_id``.
        tau: its threshold.
        features: name -> (n,) value by trace; NaN where a trace has none.
        n_resamples: of the cluster bootstrap; 0 leaves intervals out.
        seed: of the bootstrap.

    Raises:
        InputError: scores or a feature of the wrong length.
    """
    n = len(frame.trace_id)
    columns = {name: np.asarray(column, dtype=float) for name, column in features.items()}
    score = np.asarray(scores, dtype=float)
    for name, column in {"scores": score, **columns}.items():
        if column.shape != (n,):
            raise InputError("wrong shape", field=name, expected=(n,), got=column.shape)
    pairs = frame.preserving
    return [
        audit_bound(
            (score - tau)[pairs.anchor[rows]],
            (score - tau)[pairs.partner[rows]],
            column[pairs.partner[rows]] - column[pairs.anchor[rows]],
            frame.items[pairs.item[rows]],
            axis=axis,
            feature=name,
            n_resamples=n_resamples,
            seed=seed,
        )
        for k, axis in enumerate(pairs.axes)
        for rows in [np.flatnonzero(pairs.axis == k)]
        for name, column in columns.items()
    ]


def audit_bound(
    margin: ArrayLike,
    margin_after: ArrayLike,
    delta: ArrayLike,
    item: ArrayLike,
    *,
    axis: str = "all",
    feature: str = "feature",
    n_resamples: int = 1000,
    seed: int = 0,
) -> BoundAudit:
    """The bound of Theorem 4.6 on pairs, with gamma from half of the items.

    Args:
        margin: (p,) score less tau of each anchor; the verdict is faithful where positive.
        margin_after: (p,) the same of its partner.
        delta: (p,) change of the feature; NaN drops the pair.
        item: (p,) id of each pair's item.
        axis: printed.
        feature: printed.
        n_resamples: of the cluster bootstrap; 0 leaves intervals out.
        seed: of the bootstrap.

    Raises:
        InputError: arrays of unequal length.
    """
    m, after, change = (np.asarray(x, dtype=float) for x in (margin, margin_after, delta))
    ids = np.asarray(item).astype(np.str_)
    if not m.shape == after.shape == change.shape == ids.shape or m.ndim != 1:
        raise InputError("wrong length", field="pairs", expected=m.shape, got=change.shape)
    # Sums of floats depend on their order, and the order of rows may not matter.
    order = np.lexsort((change, after, m, ids))
    m, after, change, ids = m[order], after[order], change[order], ids[order]
    keep = ~np.isnan(change)
    fit = fitting_half(ids)
    blank = BoundAudit(
        axis=axis,
        feature=feature,
        n_fit=int((keep & fit).sum()),
        n_pairs=int((keep & ~fit).sum()),
        n_items=len(np.unique(ids[keep & ~fit])),
        n_dropped=int((~keep).sum()),
    )
    square = math.fsum(change[keep & fit] ** 2)
    if blank.n_fit == 0 or blank.n_pairs == 0:
        return replace(blank, reason="no pair in one half of the items")
    if square == 0:
        return replace(blank, reason="the feature never changes in the fitting half")
    gamma = math.fsum((change * (after - m))[keep & fit]) / square

    rows = np.flatnonzero(keep & ~fit)
    m, after, change, ids = m[rows], after[rows], change[rows], ids[rows]
    first = gamma * change
    rest = after - m - first
    moved = change != 0
    flips = (m > 0) != (after > 0)
    # An unmoved pair at m = 0 meets |m| <= 0, but nothing pushes it over the threshold.
    band = moved & (np.abs(m) <= np.abs(first))
    inner = moved & (np.abs(m) <= np.abs(first) - np.abs(rest))
    weights = _pair_weights(ids, n_resamples, seed)
    slack = flips - 0.5 * band
    return replace(
        blank,
        gamma=gamma,
        bound=0.5 * float(band.mean()),
        bound_with_remainder=0.5 * float(inner.mean()),
        ivr=float(flips.mean()),
        slack=float(slack.mean()),
        interval=percentile_interval(weighted_mean(weights, slack)),
        diagnostics=diagnose(m, change, first, rest, weights),
    )


def fitting_half(item: ArrayLike) -> NDArray[np.bool_]:
    """(p,) True for pairs of the items that fit gamma: the first half by sha256 of the id.

    All pairs of an item fall in one half, whatever the order of rows; an odd item goes to the
    other half.
    """
    ids = np.asarray(item).astype(np.str_)
    ordered = sorted({str(i) for i in ids}, key=lambda i: hashlib.sha256(i.encode()).hexdigest())
    return np.isin(ids, ordered[: len(ordered) // 2])


def render_audits(audits: Sequence[BoundAudit]) -> str:
    """Aligned text, a row an axis and feature, with a verdict on each assumption and the bound."""
    rows = []
    for a in audits:
        marks = [f"{figure(d.value)} {d.verdict}" for d in a.diagnostics] or ["-"] * len(THRESHOLDS)
        rows.append(
            (
                a.axis,
                a.feature,
                str(a.n_pairs),
                str(a.n_items),
                "-" if a.gamma is None else f"{a.gamma:.3g}",
                figure(a.bound),
                figure(a.ivr),
                span(a.interval),
                a.reason or a.verdict,
                *marks,
                a.assumptions,
            )
        )
    return "\n".join(text_table(COLUMNS, rows))


def _pair_weights(ids: NDArray[np.str_], n_resamples: int, seed: int) -> Floats:
    """(B, p) how often each pair's item is drawn."""
    items, code = np.unique(ids, return_inverse=True)
    return item_weights(np.zeros(len(items)), n_resamples, seed)[:, code]
