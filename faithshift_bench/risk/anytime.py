"""A certificate for streams: look after every item, and stop whenever it certifies.

Each threshold has its own wealth process at ``delta / K``. While the risk there is alpha or more
that process has mean at most 1, so the chance that it *ever* reaches ``K / delta`` is at most
``delta / K`` (Ville): however often one looks, a wrong certificate has probability at most delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.metrics.verdicts import select
from faithshift_bench.risk.betting import Betting, Mixture, log_mean
from faithshift_bench.risk.losses import check_rows
from faithshift_bench.risk.plan import Plan
from faithshift_data.errors import InputError

COVERS = (
    "Valid at every look while the items are independent and alike. Where they drift, it bounds "
    "the running mean: errors over selections, each expected given the past and summed over the "
    "items up to the one at which the threshold was certified."
)


@dataclass(frozen=True)
class Look:
    """What the stream says after an item; arrays are by threshold (K,).

    Attributes:
        certified: whether any threshold is certified; once true, true at every later look.
        threshold: lowest certified threshold so far (it can only fall), or None.
        coverage: item-weighted share of the rows so far that are selected there; 0 where none.
        n_items: complete items admitted.
        n_waiting: items with rows that are not complete; they do not count.
        log_wealth: now; the certificate needs it to have reached ``ln(K / delta)`` at any look.
        certified_at: number of items at which each threshold was certified, or None.
    """

    certified: bool
    threshold: float | None
    coverage: float
    n_items: int
    n_waiting: int
    log_wealth: tuple[float, ...]
    certified_at: tuple[int | None, ...]


class AnytimeCertificate:
    """Certificate of one frozen detector over a stream of items, valid at every look.

    The unit is the item with all its rows, admitted when complete; units are ``clustered`` and
    delta is split over the thresholds (``bonferroni``). Bets are fixed: a mixture of forty, or
    from tune rows. ``covers`` says in words what holds, also under drift.
    """

    covers = COVERS

    def __init__(
        self,
        *,
        alpha: float = 0.25,
        delta: float = 0.05,
        thresholds: str | ArrayLike | None = None,
        tune: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        detector: str = "",
    ) -> None:
        """Fix everything; another detector, tau or grid needs a new stream.

        Args:
            alpha: risk target in (0, 1).
            delta: probability in (0, 1) of a wrong certificate at any look, ever.
            thresholds: as for :func:`certify`.
            tune: (confidence, errors, groups) of labelled rows, none of them of the stream;
                bets are fixed on them. Without them forty bets are mixed.
            detector: what makes the confidences and verdicts (name, revision, tau).

        Raises:
            InputError: on options that :func:`certify` refuses.
        """
        bound = "betting-mixture" if tune is None else "betting"
        self.plan = Plan.of(
            "clustered",
            bound,
            "bonferroni",
            alpha=alpha,
            delta=delta,
            thresholds=thresholds,
            tune=tune,
        )
        self.detector = detector
        rule = self.plan.procedure(np.array([], dtype=np.str_)).rule
        assert isinstance(rule, Betting | Mixture)
        size = len(self.plan.grid)
        self._bets = rule.bets[None, :] if isinstance(rule, Betting) else rule.bets[:, None]
        self._by_bet = np.zeros((len(self._bets), size))
        self._log_wealth = np.zeros(size)
        self._reached = np.zeros(size)
        self._certified_at: list[int | None] = [None] * size
        self._admitted: set[str] = set()
        self._waiting: dict[str, list[tuple[NDArray, NDArray]]] = {}

    def add(
        self,
        item: str,
        confidence: ArrayLike,
        errors: ArrayLike,
        *,
        complete: bool = True,
        detector: str | None = None,
    ) -> Look:
        """Add rows of an item; with ``complete`` it is admitted, with the rows added before.

        Args:
            item: id; an item is admitted once.
            confidence: (m,) in [0, 1] of its labelled rows.
            errors: (m,) 1 where the verdict is wrong, else 0.
            complete: whether these are the last of its rows.
            detector: what made them, where it is to be checked.

        Raises:
            InputError: on an item that was admitted, or another detector.
            ValueError: on arrays out of range, of unequal length, or a complete item without rows.
        """
        if detector is not None and detector != self.detector:
            raise InputError(
                "another detector needs a new stream", expected=self.detector, got=detector
            )
        if item in self._admitted:
            raise InputError("item was admitted before", row=item)
        conf, errs, _ = check_rows(confidence, errors, None)
        rows = [*self._waiting.get(item, []), (conf, errs)]
        if not complete:
            self._waiting[item] = rows
            return self.look()
        conf, errs = (np.concatenate(side) for side in zip(*rows, strict=True))
        if len(conf) == 0:
            raise InputError("a complete item needs a labelled row", row=item)
        self._waiting.pop(item, None)
        self._admitted.add(item)
        self._bet(conf, errs)
        return self.look()

    def look(self) -> Look:
        """The state now; looking costs nothing."""
        done = [k for k, at in enumerate(self._certified_at) if at is not None]
        star = done[0] if done else None
        return Look(
            certified=star is not None,
            threshold=None if star is None else float(self.plan.grid[star]),
            coverage=0.0 if star is None else float(self._reached[star] / len(self._admitted)),
            n_items=len(self._admitted),
            n_waiting=len(self._waiting),
            log_wealth=tuple(float(w) for w in self._log_wealth),
            certified_at=tuple(self._certified_at),
        )

    def _bet(self, confidence: NDArray[np.float64], errors: NDArray[np.int8]) -> None:
        rows = select(confidence[:, None], self.plan.grid[None, :])
        selected, wrong = rows.mean(axis=0), (rows & (errors[:, None] == 1)).mean(axis=0)
        self._by_bet += np.log1p(-self._bets * (wrong - self.plan.alpha * selected))
        self._log_wealth = log_mean(self._by_bet)
        self._reached += selected
        for k in np.flatnonzero(self._log_wealth >= -math.log(self.plan.level)):
            if self._certified_at[k] is None:
                self._certified_at[k] = len(self._admitted)
