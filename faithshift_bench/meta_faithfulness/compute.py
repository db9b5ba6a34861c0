"""From rows to figures, by the same evaluation that the command line uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.core import DEFAULT, Evaluation, Protocol, evaluate_arrays
from faithshift_bench.frame import Frame, build_frame
from faithshift_data.errors import InputError

KINDS = ("preserving", "altering")
SOURCE = "compute()"
Relation = tuple[str, str, str, str]


def meta_faithfulness(
    predictions: Sequence[float],
    references: Sequence[float],
    *,
    trace_id: Sequence[str],
    item_id: Sequence[str],
    anchor_id: Sequence[str] = (),
    axis: Sequence[str] = (),
    kind: Sequence[str] = (),
    fold: Sequence[str] | None = None,
    confidence: Sequence[float] | None = None,
    pairs: Sequence[Relation] | None = None,
    threshold: float | str = 0.5,
    alpha: float = 0.25,
    delta: float = 0.05,
    min_pairs: int = 1,
    draw_seed: int = 0,
    protocol: Protocol = DEFAULT,
) -> dict[str, Any]:
    """One detector, one seed, on rows of n traces; the arguments of ``compute()``.

    Args:
        predictions: (n,) score in [0, 1], the probability that a trace is faithful.
        references: (n,) 1 faithful, 0 unfaithful, -1 unknown.
        trace_id: (n,) distinct ids.
        item_id: (n,) the independent unit of each trace.
        anchor_id: (n,) the trace it was made from; "" for an anchor.
        axis: (n,) the change that made it; "" for an anchor.
        kind: (n,) preserving or altering; "" for an anchor.
        fold: (n,) tune, calib or test; None: all rows are test rows, nothing is certified.
        confidence: (n,) in [0, 1]; None: the margin around the threshold.
        pairs: (anchor, partner, axis, kind) rows, in place of anchor_id, axis and kind.
        threshold: a verdict is ``score > threshold``; ``youden`` sets it on labelled tune rows.
        alpha: highest selective risk to certify.
        delta: highest probability that a certificate is wrong.
        min_pairs: verified test pairs an axis needs to enter the means over axes.
        draw_seed: of the one row an item in certificates that draw one.
        protocol: how certificates are made.

    Returns:
        Plain values; an undefined figure is None. MFS = coverage * HM(1 - IVR, AS).

    Raises:
        InputError: on any row that cannot be used; it names row and field.
    """
    n = len(predictions)
    if n == 0:
        raise InputError("no rows", file=SOURCE, field="predictions", expected="at least one")
    labels = _references(references)
    relations = _relations(trace_id, anchor_id, axis, kind) if pairs is None else _pairs(pairs)
    columns = list(zip(*relations, strict=True)) or [()] * 4
    frame = build_frame(
        trace_id,
        item_id,
        labels,
        fold=fold,
        anchor_id=columns[0],
        partner_id=columns[1],
        axis=columns[2],
        kind=columns[3],
        source=SOURCE,
    )
    if threshold == "youden" and len(frame.rows("tune", labelled=True)) == 0:
        expected = "labelled tune rows in fold"
        raise InputError("youden cannot be set", file=SOURCE, field="threshold", expected=expected)
    order = np.argsort(np.asarray(trace_id, dtype=np.str_), kind="stable")
    evaluation = evaluate_arrays(
        frame,
        _column(predictions, n, "predictions")[order],
        None if confidence is None else _column(confidence, n, "confidence")[order],
        threshold=threshold,
        alpha=alpha,
        delta=delta,
        protocol=protocol,
        beside=(),
        n_resamples=0,
        redraws=0,
        draw_seed=draw_seed,
        min_pairs=min_pairs,
    )
    return _result(evaluation, frame)


def _result(evaluation: Evaluation, frame: Frame) -> dict[str, Any]:
    point, seed = evaluation.headline, evaluation.seeds[0]
    certificate = seed["certificate"] or {}
    names = ("mfs", "hm", "coverage", "ivr", "as")
    rates = {"ivr": point["ivr_by_axis"], "as": point["as_by_axis"]}
    axes = [
        {
            "axis": row["axis"],
            "rate": rate,
            "value": row["value"],
            "count": sum(row["count"]),
            "n_counted": sum(row["n_counted"]),
            "n_pairs": row["n_pairs"],
            "n_items": row["n_items"],
            "flag": row["flag"],
        }
        for rate, rows in rates.items()
        for row in rows
    ]
    return {
        **{name: point[name] for name in names},
        "operating_point": point["operating_point"],
        "certified": bool(certificate.get("certified", False)),
        "certificate_threshold": certificate.get("threshold"),
        "reason": point["reason"],
        "least_n": certificate.get("least_n"),
        "threshold": seed["tau"],
        "n_preserving": len(frame.preserving),
        "n_altering": len(frame.altering),
        "n_items": point["n_items"],
        "n_dropped": evaluation.data["n_dropped"],
        "dropped": evaluation.data["dropped"],
        "ivr_by_axis": {row["axis"]: row["value"] for row in rates["ivr"]},
        "as_by_axis": {row["axis"]: row["value"] for row in rates["as"]},
        "axes": axes,
        "full": {name: evaluation.full[name] for name in names},
        # Without folds there is no certificate, and what is said of one is of no use.
        "flags": list(evaluation.flags) if certificate else [],
    }


def _references(values: Sequence[float]) -> NDArray[np.int8]:
    for row, value in enumerate(values):
        if value not in (1, 0, -1):
            expected = "1 faithful, 0 unfaithful or -1 unknown"
            message = "not a label"
            raise InputError(
                message, file=SOURCE, row=row, field="references", expected=expected, got=value
            )
    return np.asarray(values, dtype=np.float64).astype(np.int8)


def _column(values: Sequence[float], n: int, name: str) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.shape != (n,) or array.dtype.kind not in "iuf":
        got = f"{array.dtype} of shape {array.shape}"
        raise InputError("bad column", file=SOURCE, field=name, expected=f"{n} numbers", got=got)
    return array.astype(np.float64)


def _relations(
    trace_id: Sequence[str], anchor_id: Sequence[str], axis: Sequence[str], kind: Sequence[str]
) -> list[Relation]:
    relations = []
    for row, (trace, *given) in enumerate(zip(trace_id, anchor_id, axis, kind, strict=True)):
        if any(given):
            _check(row, given)
            relations.append((given[0], trace, given[1], given[2]))
    return relations


def _pairs(pairs: Sequence[Relation]) -> list[Relation]:
    for row, pair in enumerate(pairs):
        if len(pair) != 4 or not all(isinstance(part, str) for part in pair):
            expected = "(anchor, partner, axis, kind)"
            message = "bad pair"
            raise InputError(
                message, file=SOURCE, row=row, field="pairs", expected=expected, got=pair
            )
        _check(row, (pair[0], *pair[2:]))
    return [(anchor, partner, axis, kind) for anchor, partner, axis, kind in pairs]


def _check(row: int, given: Sequence[str]) -> None:
    for field, value in zip(("anchor_id", "axis", "kind"), given, strict=True):
        expected = " | ".join(KINDS) if field == "kind" else 'a name, or "" in all three'
        if not value or (field == "kind" and value not in KINDS):
            raise InputError(
                "bad relation", file=SOURCE, row=row, field=field, expected=expected, got=value
            )
