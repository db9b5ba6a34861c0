"""Which rows are trained on, in which environment each is, and which rows choose the epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.base import labelled
from faithshift_bench.detectors.network import held_out
from faithshift_bench.detectors.sift.plan import Plan
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_data.views import View

LEAST = 16
ALL = "all"


@dataclass(frozen=True)
class Grouped:
    """Rows by environment.

    Attributes:
        rows: row numbers that are trained on, (m,).
        codes: the environment of each, (m,), an index into ``names``.
        names: the environments, sorted.
        record: what to tell: ``environments`` (rows and share of faithful ones of each) and
            ``dropped`` (a reason for each environment that is not trained on).
    """

    rows: NDArray[np.intp]
    codes: NDArray[np.int64]
    names: tuple[str, ...]
    record: dict[str, Any]


@dataclass(frozen=True)
class Selection:
    """What is trained on, and what chooses the epoch.

    Attributes:
        train: rows of the train view, by environment.
        judge: row numbers, of the tune view if ``tuned``, else of the train view.
        tuned: whether there is a tune view.
        pairs: (m, 2), preserving pairs, as places in ``train.rows``.
    """

    train: Grouped
    judge: NDArray[np.intp]
    tuned: bool
    pairs: NDArray[np.int64]


def select(view: View, tune: View | None, plan: Plan, seed: int) -> Selection:
    """Choose the rows.

    Args:
        view: train, with environments.
        tune: the tune fold, with environments; None: a share of the train items is held out.
        plan: says what an environment is, and which one is left out.
        seed: draws the items that are held out.

    Raises:
        InputError: too few labels, or no environment of the name that is to be left out.
    """
    rows, labels = labelled(view)
    names = environment_names(view, plan)
    if plan.leave_out:
        known = sorted(set(names[rows].tolist()))
        if plan.leave_out not in known:
            got, message = plan.leave_out, "no such environment"
            raise InputError(message, field="leave_out", expected=", ".join(known), got=got)
        keep = names[rows] != plan.leave_out
        rows, labels = rows[keep], labels[keep]
        if len(seen := set(labels.tolist())) < 2:
            message, got = "nothing to learn from without it", f"labels {sorted(seen)}"
            raise InputError(message, field="leave_out", expected="labels 0 and 1", got=got)
    held = np.zeros(len(rows), dtype=bool)
    judge = np.empty(0, dtype=np.intp)
    if tune is not None:
        judge = np.flatnonzero(tune.labels >= 0)
        judge = judge[environment_names(tune, plan)[judge] != plan.leave_out]
    tuned = len(judge) > 0
    if not tuned:
        held = held_out(view.item_ids[rows], labels, seed)
        judge = rows[held] if held.any() else rows
    train = group(rows[~held], names, view.labels)
    place = {int(row): i for i, row in enumerate(train.rows)}
    pairs = [
        (place[a], place[b])
        for a, b in view.environments.pairs.tolist()
        if a in place and b in place
    ]
    return Selection(train, judge, tuned, np.array(pairs, dtype=np.int64).reshape(-1, 2))


def environment_names(view: View, plan: Plan) -> NDArray:
    """The environment of each row of a view, by axis or by model."""
    found = view.environments
    return found.names if plan.environments == "axis" else found.models


def group(rows: NDArray[np.intp], names: NDArray, labels: NDArray) -> Grouped:
    """Leave out environments of fewer than 16 rows or of one label; if none is left, there is one.

    Args:
        rows: row numbers to choose from.
        names: the environment of every row, (n,).
        labels: of every row, (n,), 0 or 1 at ``rows``.
    """
    known: dict[str, dict[str, Any]] = {}
    dropped: dict[str, str] = {}
    for name in sorted(set(names[rows].tolist())):
        of = labels[rows[names[rows] == name]]
        if len(of) < LEAST:
            dropped[name] = f"{len(of)} traces, fewer than {LEAST}"
        elif len(set(of.tolist())) < 2:
            dropped[name] = f"all {len(of)} traces have label {of[0]}"
        else:
            known[name] = {"traces": len(of), "faithful": float(of.mean())}
    if not known:
        known = {ALL: {"traces": len(rows), "faithful": float(labels[rows].mean())}}
        names = np.full(len(names), ALL)
    order = tuple(known)
    kept = rows[np.isin(names[rows], order)]
    codes = np.array([order.index(name) for name in names[kept].tolist()], dtype=np.int64)
    return Grouped(kept, codes, order, {"environments": known, "dropped": dropped})


def batches(
    codes: NDArray[np.int64], size: int, order: np.random.Generator
) -> Iterator[list[NDArray[np.int64]]]:
    """One epoch: for each batch the rows of each environment, ``size`` or all that it has.

    The epoch ends when the largest environment has been gone through; smaller ones are gone
    through again, each time in a new order.
    """
    groups = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    sizes = [min(size, len(rows)) for rows in groups]
    count = max(-(-len(rows) // n) for rows, n in zip(groups, sizes, strict=True))
    streams = []
    for rows, n in zip(groups, sizes, strict=True):
        rounds = -(-count * n // len(rows))
        streams.append(np.concatenate([order.permutation(rows) for _ in range(rounds)]))
    for i in range(count):
        yield [s[i * n : (i + 1) * n] for s, n in zip(streams, sizes, strict=True)]
