"""Splits and folds by a hash of the item, so that they never depend on other items."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

from faithshift_data.errors import InputError
from faithshift_data.schema import SPLITS, Fold

PAPER_SHARES = {"train": 0.60, "validation": 0.15, "test": 0.25}


def unit_hash(*parts: object) -> float:
    """A number in [0, 1), uniform over inputs and a function of the parts alone."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def assign_split(item_id: str, shares: Mapping[str, float], domain: str) -> str:
    """``train``, ``validation`` or ``test`` for an item.

    The hash covers the domain, so each domain is divided on its own. The realised shares of n
    items differ from ``shares`` by about ``sqrt(p (1 - p) / n)``.

    Args:
        item_id: the item; all its traces share its split.
        shares: share of each split, in [0, 1], summing to 1.
        domain: the item's domain.

    Raises:
        InputError: a share of an unknown split, a negative share or a sum that is not 1.
    """
    if set(shares) - set(SPLITS):
        raise InputError("unknown split", field="shares", expected=SPLITS, got=list(shares))
    if min(shares.values()) < 0 or not math.isclose(sum(shares.values()), 1, abs_tol=1e-9):
        raise InputError("shares must sum to 1", field="shares", got=dict(shares))
    position, reached, last = unit_hash("split", domain, item_id), 0.0, SPLITS[0]
    for split in SPLITS:
        if shares.get(split, 0) > 0:
            reached, last = reached + shares[split], split
            if position < reached:
                return split
    return last


def assign_fold(item_id: str, tune_share: float = 0.5) -> str:
    """``tune`` or ``calib`` for a validation item; independent of the hash of the split.

    Args:
        item_id: the item.
        tune_share: expected share of ``tune``, in [0, 1].
    """
    if not 0 <= tune_share <= 1:
        raise InputError("not a share", field="tune_share", expected="0 to 1", got=tune_share)
    return str(Fold.TUNE if unit_hash("fold", item_id) < tune_share else Fold.CALIB)
