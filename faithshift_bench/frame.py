"""The traces and verified pairs that an evaluation runs on, as aligned arrays.

Everything is sorted by id here, once, so that no later figure depends on the order of rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_data.errors import InputError
from faithshift_data.schema import Kind, Mode

FOLDS = ("tune", "calib", "test")


@dataclass(frozen=True)
class Pairs:
    """Test pairs of one kind: row numbers of both ends, item, axis code, direction.

    ``edited`` is True where the partner edits the anchor's own trace: nothing was generated anew.
    """

    kind: str
    anchor: NDArray[np.intp]
    partner: NDArray[np.intp]
    item: NDArray[np.intp]
    axis: NDArray[np.intp]
    direction: NDArray[np.int8]
    axes: tuple[str, ...]
    edited: NDArray[np.bool_]

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.anchor)


@dataclass(frozen=True)
class Frame:
    """Traces of tune, calib and test, sorted by trace_id, and the pairs of test.

    Attributes:
        trace_id: (n,) ids.
        item: (n,) item code into ``items``.
        items: (I,) item ids, ascending.
        stratum: (I,) domain code of each item.
        fold: (n,) tune, calib or test.
        label: (n,) 1 faithful, 0 unfaithful, -1 unknown.
        preserving: verified preserving pairs of test.
        altering: verified altering pairs of test.
        repeat: pairs of two generations of one prompt, in test.
        dropped: pairs left out, by reason.
    """

    trace_id: NDArray[np.str_]
    item: NDArray[np.intp]
    items: NDArray[np.str_]
    stratum: NDArray[np.intp]
    fold: NDArray[np.str_]
    label: NDArray[np.int8]
    preserving: Pairs
    altering: Pairs
    repeat: Pairs
    dropped: dict[str, int]

    def rows(self, fold: str, *, labelled: bool = False) -> NDArray[np.intp]:
        """Row numbers of a fold, all or only those with a known label."""
        keep = self.fold == fold
        return np.flatnonzero(keep & (self.label >= 0) if labelled else keep)


def pair_fault(kind: str, anchor_label: int, partner_label: int) -> str | None:
    """Why the labels do not bear out a pair's kind, or None; labels are 1, 0, -1 (unknown).

    An altering pair needs two known, different labels; a preserving pair may not have two known,
    different ones.
    """
    known = anchor_label >= 0 and partner_label >= 0
    if kind == Kind.ALTERING:
        if not known:
            return "altering pair with an unknown label"
        return "altering pair with equal labels" if anchor_label == partner_label else None
    if known and anchor_label != partner_label:
        return "preserving pair with unequal labels"
    return None


def build_frame(
    trace_id: ArrayLike,
    item_id: ArrayLike,
    label: ArrayLike,
    *,
    fold: ArrayLike | None = None,
    domain: ArrayLike | None = None,
    anchor_id: ArrayLike = (),
    partner_id: ArrayLike = (),
    axis: ArrayLike = (),
    kind: ArrayLike = (),
    mode: ArrayLike | None = None,
    dropped_because: ArrayLike | None = None,
    source: str = "data",
) -> Frame:
    """Check and align traces (n,) and pairs (p,).

    Args:
        trace_id: (n,) distinct ids.
        item_id: (n,) the independent unit of each trace.
        label: (n,) 1, 0 or -1.
        fold: (n,) tune, calib or test; all test where omitted.
        domain: (n,) stratum of each trace's item; one stratum where omitted.
        anchor_id: (p,) id of each pair's anchor.
        partner_id: (p,) id of its partner.
        axis: (p,) its transformation.
        kind: (p,) preserving, altering or repeat; any other kind is not looked at.
        mode: (p,) ``edit`` where the partner edits the anchor's trace; all written anew if omitted.
        dropped_because: (p,) why a pair is unverified; "" for a verified one. A repeat pair is
            dropped only where its labels are known and equal, for they need not be.
        source: how messages name the input.

    Raises:
        InputError: on a repeated trace or pair, a missing end, ends of different items or folds,
            an item in two folds or domains, or a label or fold out of its set.
    """
    ids = np.asarray(trace_id).astype(np.str_)
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    n = len(ids)
    item_of = _column(item_id, n, "item_id", source)[order]
    folds = np.full(n, "test") if fold is None else _column(fold, n, "fold", source)[order]
    domains = np.full(n, "") if domain is None else _column(domain, n, "domain", source)[order]
    labels = np.asarray(label)
    if labels.shape != (n,):
        raise InputError("wrong length", file=source, field="label", expected=n, got=len(labels))
    labels = labels[order]
    _first(ids[1:][ids[1:] == ids[:-1]], "repeated trace", source, "trace_id")
    _first(ids[~np.isin(labels, (-1, 0, 1))], "bad label", source, "label", "1, 0 or -1")
    _first(ids[~np.isin(folds, FOLDS)], "bad fold", source, "fold", " | ".join(FOLDS))
    items, code = np.unique(item_of, return_inverse=True)
    _, fold_code = np.unique(folds, return_inverse=True)
    _, domain_code = np.unique(domains, return_inverse=True)
    stratum = _one_each(code, domain_code, items, "domain", source)
    _one_each(code, fold_code, items, "fold", source)

    ends = [
        _column(x, None, name, source)
        for x, name in ((anchor_id, "anchor_id"), (partner_id, "partner_id"))
    ]
    p = len(ends[0])
    axes, kinds = _column(axis, p, "axis", source), _column(kind, p, "kind", source)
    reasons = (
        np.full(p, "")
        if dropped_because is None
        else _column(dropped_because, p, "dropped_because", source)
    )
    edits = (
        np.zeros(p, bool) if mode is None else _column(mode, p, "mode", source) == str(Mode.EDIT)
    )
    anchor, partner = (
        _lookup(ids, end, name, source)
        for end, name in zip(ends, ("anchor_id", "partner_id"), strict=True)
    )
    _first(ends[1][code[anchor] != code[partner]], "pair of two items", source, "item_id")
    _first(ends[1][folds[anchor] != folds[partner]], "pair of two folds", source, "fold")
    order = np.lexsort((partner, anchor, axes, kinds))
    anchor, partner = anchor[order], partner[order]
    axes, kinds, reasons, edits = axes[order], kinds[order], reasons[order], edits[order]
    same = (anchor[1:] == anchor[:-1]) & (partner[1:] == partner[:-1]) & (axes[1:] == axes[:-1])
    _first(ids[partner[1:][same & (kinds[1:] == kinds[:-1])]], "repeated pair", source, "pairs")

    in_test = folds[anchor] == "test"
    wanted = np.isin(kinds, tuple(Kind))
    dropped: Counter[str] = Counter()
    keep = in_test & wanted
    for row in np.flatnonzero(keep):
        both = int(labels[anchor[row]]), int(labels[partner[row]])
        fault = _why_dropped(kinds[row], str(reasons[row]), *both)
        if fault:
            dropped[fault] += 1
            keep[row] = False

    def pairs(which: str) -> Pairs:
        rows = np.flatnonzero(keep & (kinds == which))
        names, codes = np.unique(axes[rows], return_inverse=True)
        a, b = anchor[rows], partner[rows]
        direction = np.sign(labels[b].astype(int) - labels[a]).astype(np.int8)
        named = tuple(str(x) for x in names)
        return Pairs(which, a, b, code[a], codes, direction, named, edits[rows])

    return Frame(
        ids,
        code,
        items,
        stratum,
        folds,
        labels.astype(np.int8),
        pairs(Kind.PRESERVING),
        pairs(Kind.ALTERING),
        pairs(Kind.REPEAT),
        dict(sorted(dropped.items())),
    )


def describe(frame: Frame, alpha: float) -> dict[str, Any]:
    """Counts of rows, items and labels by fold, the label prior and the trivial risk."""
    folds: dict[str, Any] = {}
    for fold in ("tune", "calib", "test"):
        rows, labelled = frame.rows(fold), frame.rows(fold, labelled=True)
        if len(rows) == 0:
            continue
        items = frame.item[labelled]
        sizes = np.bincount(items, minlength=len(frame.items))
        weight = 1.0 / sizes[items]
        labels = frame.label[labelled]
        prior = float(np.average(labels, weights=weight)) if len(items) else None
        folds[fold] = {
            "n_traces": len(rows),
            "n_labelled": len(labelled),
            "n_faithful": int((frame.label[rows] == 1).sum()),
            "n_items": len(np.unique(frame.item[rows])),
            "label_prior": prior,
            "trivial_risk": None if prior is None else min(prior, 1 - prior),
        }
    trivial = folds["test"]["trivial_risk"]
    return {
        "folds": folds,
        "trivial_certifies": trivial is not None and trivial <= alpha,
        "n_preserving_verified": len(frame.preserving),
        "n_altering_verified": len(frame.altering),
        "n_dropped": sum(frame.dropped.values()),
        "dropped": frame.dropped,
    }


def _why_dropped(kind: str, reason: str, anchor_label: int, partner_label: int) -> str | None:
    if kind == Kind.REPEAT:
        # Two generations may differ in label, so that their labels are no reason to drop them.
        return reason if anchor_label == partner_label >= 0 else None
    return reason or pair_fault(kind, anchor_label, partner_label)


def _column(values: ArrayLike, n: int | None, name: str, source: str) -> NDArray[np.str_]:
    array = np.asarray(values).astype(np.str_)
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise InputError("wrong length", file=source, field=name, expected=n, got=len(array))
    return array


def _first(
    rows: NDArray, message: str, source: str, field: str, expected: str | None = None
) -> None:
    if len(rows):
        raise InputError(message, file=source, row=rows[0], field=field, expected=expected)


def _one_each(
    code: NDArray[np.intp], value: NDArray[np.intp], items: NDArray, field: str, source: str
) -> NDArray[np.intp]:
    result = np.zeros(len(items), dtype=np.intp)
    result[code] = value
    _first(items[code[result[code] != value]], f"item with two values of {field}", source, field)
    return result


def _lookup(ids: NDArray, wanted: NDArray, field: str, source: str) -> NDArray[np.intp]:
    if len(wanted) == 0:
        return np.zeros(0, dtype=np.intp)
    at = np.minimum(np.searchsorted(ids, wanted), max(len(ids) - 1, 0))
    missing = wanted[ids[at] != wanted] if len(ids) else wanted
    _first(missing, "no such trace", source, field)
    return at
