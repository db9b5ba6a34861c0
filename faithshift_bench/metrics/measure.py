"""A figure that may be undefined, with what it was counted on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Measure:
    """One figure; ``value`` is ``None`` where it is undefined, and ``reason`` says why.

    ``n`` rows were used, ``n_positive`` of them of the class that is counted (faithful labels, or
    errors); ``n_excluded`` had an unknown label.
    """

    value: float | None
    n: int
    n_positive: int
    n_excluded: int
    reason: str | None = None

    def __float__(self) -> float:
        """The figure; raises where it is undefined."""
        if self.value is None:
            raise ValueError(f"undefined: {self.reason}")
        return self.value


def known_rows(
    name: str, values: ArrayLike, outcomes: ArrayLike, *, unit: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """Values and 0/1 outcomes of the rows whose outcome is known, and how many are not.

    Rows are sorted by (value, outcome), so that no sum over them depends on their order.

    Args:
        name: of the values, for messages.
        values: (n,) finite.
        outcomes: (n,) 1, 0, or -1 where unknown.
        unit: whether values must lie in [0, 1].

    Raises:
        ValueError: on unequal shapes, a value that is not finite or out of range, or an outcome
            other than 1, 0, -1.
    """
    array, given = np.asarray(values, dtype=float), np.asarray(outcomes)
    if array.ndim != 1 or array.shape != given.shape:
        raise ValueError(f"{name} and outcomes differ in shape: {array.shape} and {given.shape}")
    if not np.isfinite(array).all() or (unit and ((array < 0) | (array > 1)).any()):
        raise ValueError(f"{name} must be finite" + (" and lie in [0, 1]" if unit else ""))
    if given.dtype.kind not in "biuf" or not np.isin(given, (-1, 0, 1)).all():
        raise ValueError("outcomes must hold only 1, 0 or -1 (unknown)")
    known = given >= 0
    array, result = array[known], given[known].astype(np.int64)
    order = np.lexsort((result, array))
    return array[order], result[order], int((~known).sum())


def counts_by_value(
    values: NDArray[np.float64], outcomes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Distinct values ascending (V,), rows at each, and rows at each whose outcome is 1."""
    distinct, code = np.unique(values, return_inverse=True)
    rows = np.bincount(code, minlength=len(distinct))
    ones = np.bincount(code[outcomes == 1], minlength=len(distinct))
    return distinct, rows.astype(np.int64), ones.astype(np.int64)
