"""Splits and folds by hash: fixed values, shares, independence."""

from __future__ import annotations

import math

import pytest

from faithshift_data import InputError
from faithshift_data.splits import PAPER_SHARES, assign_fold, assign_split, unit_hash

ITEMS = [f"item-{n}" for n in range(20_000)]


def test_unit_hash_by_hand() -> None:
    # sha256(b"a\x1fb") begins with these six bytes
    import hashlib

    first = hashlib.sha256(b"a\x1fb").hexdigest()[:12]
    assert unit_hash("a", "b") == int(first, 16) / 2**48
    assert unit_hash("a", "b") != unit_hash("ab", "")


@pytest.mark.parametrize("shares", [PAPER_SHARES, {"train": 0.4, "validation": 0.3, "test": 0.3}])
def test_shares_are_met_within_four_standard_errors(shares: dict[str, float]) -> None:
    found = [assign_split(item, shares, "word") for item in ITEMS]
    for split, share in shares.items():
        error = 4 * math.sqrt(share * (1 - share) / len(ITEMS))
        assert abs(found.count(split) / len(ITEMS) - share) < error


def test_split_fold_and_domain_are_independent() -> None:
    train = [i for i in ITEMS if assign_split(i, PAPER_SHARES, "word") == "train"]
    tune = sum(assign_fold(i, 1 / 3) == "tune" for i in train) / len(train)
    assert abs(tune - 1 / 3) < 0.02
    other = sum(assign_split(i, PAPER_SHARES, "logic") == "train" for i in train) / len(train)
    assert abs(other - 0.6) < 0.02


def test_extremes() -> None:
    assert {assign_split(i, {"test": 1.0}, "d") for i in ITEMS[:100]} == {"test"}
    assert {assign_fold(i, 1.0) for i in ITEMS[:100]} == {"tune"}
    assert {assign_fold(i, 0.0) for i in ITEMS[:100]} == {"calib"}


@pytest.mark.parametrize(
    "shares", [{"train": 0.5, "test": 0.6}, {"dev": 1.0}, {"train": 1.5, "test": -0.5}]
)
def test_bad_shares(shares: dict[str, float]) -> None:
    with pytest.raises(InputError, match="field shares"):
        assign_split("x", shares, "d")
    with pytest.raises(InputError, match="field tune_share"):
        assign_fold("x", 1.2)
