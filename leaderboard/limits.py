"""How often somebody may ask, and how much of the hidden labels an answer can tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from faithshift_data.errors import InputError

# Decimals of a figure that rests on hidden labels; by axis or domain it has fewer pairs behind it.
DECIMALS, PART_DECIMALS = 2, 1


@dataclass(frozen=True)
class Limits:
    """Submissions that a board takes for one data version; controls are not counted.

    Attributes:
        a_week: of one submitter in seven days.
        of_submitter: of one submitter in all.
        of_detector: of one submitter's detector, by its name.
        a_day: of everybody together in one day.
    """

    a_week: int = 3
    of_submitter: int = 10
    of_detector: int = 5
    a_day: int = 50


@dataclass(frozen=True)
class Attempt:
    """A submission as limits see it: who, with what, for which data, when (UTC)."""

    submitter: str
    detector: str
    data: str
    at: datetime


def check_limits(attempt: Attempt, earlier: Sequence[Attempt], limits: Limits) -> None:
    """Refuse an attempt that is one too many.

    Args:
        attempt: the new one.
        earlier: all that were taken before.
        limits: of the board.

    Raises:
        InputError: which limit, and how many there were.
    """
    day, week = timedelta(days=1), timedelta(days=7)
    same = [each for each in earlier if each.data == attempt.data]
    mine = [each for each in same if each.submitter == attempt.submitter]
    # By its submitter: nobody else can use a detector's submissions up.
    named = [each for each in mine if each.detector == attempt.detector]
    for message, found, most in (
        ("by one submitter in seven days", _since(mine, attempt.at - week), limits.a_week),
        ("by one submitter", len(mine), limits.of_submitter),
        ("of one detector", len(named), limits.of_detector),
        ("by everybody in a day", _since(same, attempt.at - day), limits.a_day),
    ):
        if found >= most:
            raise InputError(f"too many submissions {message}", expected=f"{most} at most")


def _since(attempts: Sequence[Attempt], start: datetime) -> int:
    return sum(each.at > start for each in attempts)


def bits_told(n_figures: int, decimals: int = DECIMALS) -> float:
    """Most bits that so many figures in [0, 1], or undefined, can tell at so many decimals."""
    return n_figures * math.log2(10**decimals + 2)


def fitting_gain(bits: float, n_items: int, beta: float = 0.05) -> float:
    """Most that a mean over items in [0, 1] can be raised by choosing after such answers.

    With probability 1 - ``beta``: sqrt((bits ln 2 + ln(1 / beta)) / (2 n)), Hoeffding's bound over
    all entries that the answers could have led to. 1 at most.

    Args:
        bits: of all answers together.
        n_items: independent items behind the mean.
        beta: probability of more.
    """
    if n_items < 1:
        return 1.0
    return min(1.0, math.sqrt((bits * math.log(2) - math.log(beta)) / (2 * n_items)))
