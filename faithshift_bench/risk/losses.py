"""What is counted: losses of independent items at each threshold.

Rows of one item depend on each other, so an item enters a bound once: by one row drawn from it
(``one_per_item``) or by its mean loss (``clustered``). ``iid`` counts every row as if independent,
as published.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.verdicts import select

UNITS = ("one_per_item", "clustered", "iid")


class ItemLosses(NamedTuple):
    """Per item and threshold, both (I, K): the selected share and the selected-and-wrong share.

    With ``one_per_item`` both are 0 or 1, with ``iid`` numbers of rows. Selective risk at a
    threshold is ``wrong.mean(0) / selected.mean(0)``.
    """

    selected: NDArray[np.float64]
    wrong: NDArray[np.float64]


def one_per_item(
    confidence: NDArray[np.float64],
    errors: NDArray[np.int8],
    groups: NDArray[np.str_],
    draw_seed: int,
) -> NDArray[np.intp]:
    """Row drawn for each item, uniformly from all its rows: (I,) indices, items sorted by id.

    The draw precedes any look at the confidence; drawing among selected rows would bias the risk.
    Rows of an item are ordered by (confidence, error), so the drawn values do not depend on the
    order of the rows.
    """
    order = np.lexsort((errors, confidence, groups))
    items, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    ranks = [_rank(draw_seed, str(item), int(m)) for item, m in zip(items, sizes, strict=True)]
    return order[starts + np.array(ranks, dtype=np.intp)]


def item_losses(
    confidence: NDArray[np.float64],
    errors: NDArray[np.int8],
    groups: NDArray[np.str_],
    thresholds: NDArray[np.float64],
    *,
    unit: str,
    draw_seed: int = 0,
) -> ItemLosses:
    """Losses of each item at each threshold (K,); rows are (n,), errors 0 or 1.

    Raises:
        ValueError: on an unknown unit.
    """
    if unit not in UNITS:
        raise ValueError(f"unit must be one of {UNITS} (got {unit!r})")
    if unit == "one_per_item":
        rows = one_per_item(confidence, errors, groups, draw_seed)
        confidence, errors, groups = confidence[rows], errors[rows], groups[rows]
    selected = select(confidence[:, None], thresholds[None, :]).astype(float)
    combine = _item_sums if unit == "iid" else item_means
    return ItemLosses(combine(selected, groups), combine(selected * errors[:, None], groups))


def item_means(values: NDArray[np.float64], groups: NDArray[np.str_]) -> NDArray[np.float64]:
    """Mean of the rows (n, K) of each item: (I, K), items sorted by id."""
    _, sizes = np.unique(groups, return_counts=True)
    return _item_sums(values, groups) / sizes[:, None]


def check_rows(
    confidence: ArrayLike, errors: ArrayLike, groups: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.str_]]:
    """Rows as float64, int8 and str arrays (n,); raises ValueError on a bad shape or value."""
    conf, errs = np.asarray(confidence, dtype=float), np.asarray(errors)
    items = np.arange(len(conf)) if groups is None else np.asarray(groups)
    if conf.ndim != 1 or errs.shape != conf.shape or items.shape != conf.shape:
        shapes = f"{conf.shape}, {errs.shape}, {items.shape}"
        raise ValueError(f"confidence, errors and groups must be of one length (got {shapes})")
    if not ((conf >= 0) & (conf <= 1)).all():
        raise ValueError("confidence must lie in [0, 1]")
    if len(errs) and not np.isin(errs, (0, 1)).all():
        raise ValueError("errors must be 0 or 1")
    return conf, errs.astype(np.int8), items.astype(np.str_)


def _item_sums(values: NDArray[np.float64], groups: NDArray[np.str_]) -> NDArray[np.float64]:
    order = groups.argsort(kind="stable")
    _, starts = np.unique(groups[order], return_index=True)
    if not len(starts):
        return np.zeros((0, values.shape[1]))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0))


def _rank(draw_seed: int, item: str, size: int) -> int:
    digest = hashlib.sha256(f"{draw_seed}\x1f{item}".encode()).digest()
    # Integer arithmetic: as a float, u could round up to 1 and the rank to the size.
    return int.from_bytes(digest[:8], "big") * size >> 64
