"""One block of a comparison: rows, paired gaps, tests and who shares the first place."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.frame import Frame
from faithshift_bench.metrics.rates import interval_around
from faithshift_bench.point_parts import number
from faithshift_bench.sides import FIGURES, Side, Tables, figures, over_seeds
from faithshift_bench.stats import benjamini_hochberg, percentile_interval, swap_test
from faithshift_data.schema import Kind

LEVEL = 0.05
# Normal quantiles at .975 and .8: found by a two-sided 5 % test with 80 % power.
POWERED = 1.959964 + 0.841621
Values = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Design:
    """What all comparisons share: test items, resamples (B, I), swaps (P, I), least pairs.

    ``fair`` says that all labels are known by mechanism; otherwise detectors that read label
    evidence and those that do not are not tested against each other.
    """

    items: NDArray[np.intp]
    weights: NDArray[np.float64]
    keep: NDArray[np.int8]
    min_pairs: int
    fair: bool


class Entry:
    """A comparable side: its sums over the common axes, its figures, and their draws."""

    def __init__(
        self, side: Side, tables: Tables, used: dict[str, Any], design: Design, target: float | None
    ) -> None:
        """``used`` marks the axes in common; ``target`` is the matched coverage or None."""
        self.side, self.stack = side, tables.stack(used)
        self.n_axes = int(used[Kind.PRESERVING].sum()), int(used[Kind.ALTERING].sum())
        self.target = target
        live = tables.share.sum(axis=1) > 0
        self.point = {
            name: value[0]
            for name, value in over_seeds(
                self._figures(self.stack.sum(axis=1, keepdims=True)), live
            ).items()
        }
        resampled = np.matmul(design.weights, self.stack)
        self.draws = over_seeds(self._figures(resampled), live)
        # A gap is paired, item by item; a figure alone needs the spread of its rates of 0 and 1.
        self.alone = over_seeds(figures(resampled, self.n_axes, target, self.stack), live)
        self.n_live = int(live.sum())

    def _figures(self, totals: NDArray[np.float64]) -> Values:
        return figures(totals, self.n_axes, self.target)

    def mfs(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """MFS (B,) of totals (S, B, K), mean over seeds."""
        return self._figures(totals)["mfs"].mean(axis=0)

    def row(self) -> dict[str, Any]:
        """The row of the table."""
        values = {name: number(self.point[name]) for name in FIGURES}
        return {
            "detector": self.side.name,
            "control": self.side.control,
            "reads_label_evidence": self.side.reads_label_evidence,
            **values,
            "interval": interval_around(values["mfs"], self.alone["mfs"]),
            "n_seeds": len(self.stack),
            "n_seeds_live": self.n_live,
        }


def block(
    frame: Frame,
    sides: list[Side],
    selections: list[NDArray[np.bool_]],
    design: Design,
    target: float | None,
) -> dict[str, Any]:
    """The block at one selection a side; ``target`` is the matched coverage, None at own points."""
    tables = [
        Tables(frame, side, chosen, design.items)
        for side, chosen in zip(sides, selections, strict=True)
    ]
    here = [
        k
        for k, side in enumerate(sides)
        if target is not None or any(t is not None for t in side.thresholds)
    ]
    used, left_out = _axes(frame, [sides[k] for k in here], [tables[k] for k in here], design)
    entries = [Entry(sides[k], tables[k], used, design, target) for k in here]
    pairs = [_pair(a, b, design) for a, b in combinations(entries, 2)]
    adjusted = benjamini_hochberg([pair["p"] for pair in pairs])
    for pair, value in zip(pairs, adjusted.values, strict=True):
        pair["p_adjusted"] = value
    rows = sorted(
        (entry.row() for entry in entries),
        key=lambda row: (row["mfs"] is None, -(row["mfs"] or 0.0), row["detector"]),
    )
    groups = [rows] if design.fair else _by_evidence(rows)
    mixed = len({row["reads_label_evidence"] for row in rows}) == 2 and not design.fair
    first = [_first(group, pairs, mixed) for group in groups if group]
    found = [pair["resolvable"] for pair in pairs if pair["resolvable"] is not None]
    return {
        "target": target,
        "axes": {
            name: [axis for axis, use in zip(axes.axes, used[kind], strict=True) if use]
            for name, kind, axes in (
                ("ivr", Kind.PRESERVING, frame.preserving),
                ("as", Kind.ALTERING, frame.altering),
            )
        },
        "axes_left_out": left_out,
        "rows": rows,
        "pairs": pairs,
        "n_tests": adjusted.n_tests,
        "n_not_tested": len(adjusted.dropped),
        "first": [names for names, _ in first],
        "sentence": " ".join(sentence for _, sentence in first) or "Nothing is comparable.",
        "smallest_resolvable_gap": max(found) if found else None,
        "not_comparable": [
            {"detector": side.name, "reason": f"not comparable at own points: {side.reason}"}
            for k, side in enumerate(sides)
            if k not in here
        ],
    }


def _axes(
    frame: Frame, sides: list[Side], tables: list[Tables], design: Design
) -> tuple[dict[str, NDArray[np.bool_]], list[dict[str, str]]]:
    """Axes with enough pairs on which every live seed of every side has a counted pair."""
    used: dict[str, NDArray[np.bool_]] = {}
    left_out = []
    for pairs in (frame.preserving, frame.altering):
        n_pairs = np.bincount(pairs.axis, minlength=len(pairs.axes))
        keep = n_pairs >= design.min_pairs
        because = {
            a: f"{n_pairs[a]} pairs, at least {design.min_pairs} needed"
            for a in np.flatnonzero(~keep)
        }
        for side, table in zip(sides, tables, strict=True):
            live = table.share.sum(axis=1) > 0
            empty = (table.counted(pairs.kind)[live] == 0).any(axis=0)
            for a in np.flatnonzero(empty & keep):
                because[a] = f"{side.name} commits on none of its pairs"
            keep = keep & ~empty
        used[pairs.kind] = keep
        left_out += [
            {"axis": pairs.axes[a], "kind": str(pairs.kind), "because": because[a]}
            for a in sorted(because)
        ]
    return used, left_out


def _pair(a: Entry, b: Entry, design: Design) -> dict[str, Any]:
    """The gap, its interval and its test; figures are first minus second."""
    gaps = {name: _gap(a, b, name) for name in ("mfs", "ivr", "as")}
    apart = a.side.reads_label_evidence != b.side.reads_label_evidence and not design.fair
    result: dict[str, Any] = {
        "first": a.side.name,
        "second": b.side.name,
        **gaps["mfs"],
        "ivr": gaps["ivr"],
        "as": gaps["as"],
        "resolvable": _resolvable(a, b) if gaps["mfs"]["interval"] else None,
        "p": None,
        "n_undefined": 0,
        "reason": "one reads label evidence, one does not" if apart else None,
    }
    if not apart:
        size = lcm(len(a.stack), len(b.stack))
        # A mean over seeds is the same with every seed repeated equally often.
        one, two = (np.tile(e.stack, (size // len(e.stack), 1, 1)) for e in (a, b))
        test = swap_test(one, two, a.mfs, design.keep)
        result.update(p=test.p, n_undefined=test.n_undefined, reason=test.reason)
    return result


def _gap(a: Entry, b: Entry, name: str) -> dict[str, Any]:
    """Gap and paired interval; none where the draws do not vary, unless the two are the same."""
    gap = number(a.point[name] - b.point[name])
    interval = percentile_interval(a.draws[name] - b.draws[name])
    if gap is None or (gap != 0 and interval is not None and interval[0] == interval[1]):
        interval = None
    return {"gap": gap, "interval": interval}


def _resolvable(a: Entry, b: Entry) -> float | None:
    differences = a.draws["mfs"] - b.draws["mfs"]
    defined = differences[~np.isnan(differences)]
    return POWERED * float(defined.std(ddof=1)) if len(defined) > 1 else None


def _by_evidence(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [
        [row for row in rows if row["reads_label_evidence"] is marked] for marked in (False, True)
    ]


def _first(
    rows: list[dict[str, Any]], pairs: list[dict[str, Any]], mixed: bool
) -> tuple[list[str], str]:
    """Who shares the first place: the highest MFS and all not told apart from it."""
    defined = [row for row in rows if row["mfs"] is not None]
    reads = "label evidence" if rows[0]["reads_label_evidence"] else "no label evidence"
    among = f" among those that read {reads}" if mixed else ""
    if not defined:
        return [], f"No first place{among}: MFS is undefined."
    best = defined[0]["detector"]
    beaten = {
        ({pair["first"], pair["second"]} - {best}).pop()
        for pair in pairs
        if best in (pair["first"], pair["second"])
        and pair["p_adjusted"] is not None
        and pair["p_adjusted"] < LEVEL
    }
    names = [row["detector"] for row in defined if row["detector"] not in beaten]
    if len(names) == 1:
        return names, f"First place{among}: {best}."
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return names, f"First place{among} is shared by {listed}."
