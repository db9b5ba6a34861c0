"""SGR, the binary search of Geifman and El-Yaniv (2017), under its own name: no guarantee.

It is what published pipelines run. It halves the sorted confidences as if risk fell with the
threshold, and where it looks next depends on the errors it has seen, which the union bound over
its looks does not cover. :func:`faithshift_bench.certify` is what holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from faithshift_bench.metrics.verdicts import select
from faithshift_bench.risk.bounds import Exact, Normal
from faithshift_bench.risk.losses import ItemLosses, check_rows, one_per_item
from faithshift_data.errors import InputError

UNITS = ("iid", "one_per_item")
BOUNDS = {"exact": Exact, "normal": Normal}
NO_GUARANTEE = "sgr: no guarantee; assumes monotone risk and searches where the errors lead it"


@dataclass(frozen=True)
class SgrThreshold:
    """What the search ended on; not a certificate.

    Attributes:
        threshold: lowest confidence visited whose bound is at most alpha; None where none is.
        coverage: share of the counted rows selected there; 0 where none.
        n: selected rows there, else at the last look.
        errors: wrong ones among them.
        upper_bound: the bound there, at ``level``.
        level: ``delta`` over the number of looks, ceil(log2 rows).
        visited: confidences in the order of the looks.
        flags: that it guarantees nothing, and what else a reader must know.
    """

    threshold: float | None
    coverage: float
    n: int
    errors: int
    upper_bound: float
    level: float
    visited: tuple[float, ...]
    flags: tuple[str, ...]


def sgr(
    confidence: ArrayLike,
    errors: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    unit: str = "iid",
    bound: str = "exact",
    alpha: float = 0.25,
    delta: float = 0.05,
    seed: int = 0,
) -> SgrThreshold:
    """The threshold that SGR ends on; arguments as in :func:`certify`, units that count rows.

    Raises:
        ValueError: on arrays out of range or of unequal length, or an unknown option.
    """
    conf, errs, items = check_rows(confidence, errors, groups)
    for name, known, got in (("unit", UNITS, unit), ("bound", tuple(BOUNDS), bound)):
        if got not in known:
            raise InputError(f"unknown {name}", field=name, expected=" | ".join(known), got=got)
    for name, value in (("alpha", alpha), ("delta", delta)):
        if not 0 < value < 1:
            raise InputError(f"{name} must lie in (0, 1)", field=name, got=value)
    if unit == "one_per_item":
        rows = one_per_item(conf, errs, items, seed)
        conf, errs = conf[rows], errs[rows]
    ordered, rule = np.sort(conf), BOUNDS[bound](alpha)
    looks = max(1, math.ceil(math.log2(max(1, len(conf)))))
    found = SgrThreshold(None, 0.0, 0, 0, 1.0, delta / looks, (), (NO_GUARANTEE,))
    low, high = 0, len(conf) - 1
    visited: list[float] = []
    for _ in range(looks if len(conf) else 0):
        middle = (low + high + 1) // 2
        visited.append(float(ordered[middle]))
        chosen = select(conf, ordered[middle])
        n, wrong = int(chosen.sum()), int((chosen & (errs == 1)).sum())
        losses = ItemLosses(np.array([[n]], dtype=float), np.array([[wrong]], dtype=float))
        upper = float(rule.upper(losses, found.level)[0])
        passed = upper <= alpha
        low, high = (low, middle) if passed else (middle, high)
        if passed or found.threshold is None:
            found = replace(
                found,
                threshold=visited[-1] if passed else None,
                coverage=n / len(conf) if passed else 0.0,
                n=n,
                errors=wrong,
                upper_bound=upper,
                flags=(NO_GUARANTEE, *rule.flags(n, wrong)),
            )
    return replace(found, visited=tuple(visited))
