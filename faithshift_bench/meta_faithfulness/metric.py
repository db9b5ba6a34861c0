"""The class that `evaluate` makes: types in, figures out."""

from __future__ import annotations

from typing import Any

import evaluate
import numpy as np
from datasets import Features, Value

from faithshift_bench.meta_faithfulness.compute import meta_faithfulness
from faithshift_data.errors import InputError

COLUMNS = {
    "predictions": "float64",
    "references": "float64",
    "trace_id": "string",
    "anchor_id": "string",
    "item_id": "string",
    "axis": "string",
    "kind": "string",
}
RELATION = ("anchor_id", "axis", "kind")

DESCRIPTION = """\
The Meta-Faithfulness Score of a detector of unfaithful reasoning: coverage times the harmonic mean
of 1 - IVR (its verdict stays when only the surface of a trace changes) and AS (its verdict moves
when the faithfulness changes). In [0, 1], higher is better; to be shown with its parts.
"""

INPUTS = """
Args:
    predictions: score of each trace in [0, 1], the probability that it is faithful.
    references: 1 faithful, 0 unfaithful, -1 unknown. Anything else is refused.
    trace_id: id of each trace, all different.
    anchor_id: id of the trace that it was made from; "" for an anchor.
    item_id: id of the item (question) it belongs to, the independent unit.
    axis: name of the change that made it; "" for an anchor.
    kind: preserving or altering; "" for an anchor.
    fold: tune, calib or test of each trace, as a list: certify on calib, report on test. None: all
        rows at full coverage, and nothing certified.
    confidence: confidence in [0, 1] of each verdict; None: the margin around the threshold.
    pairs: [(anchor, partner, axis, kind), ...] in place of the columns anchor_id, axis and kind,
        which may then be left out; for traces that have several relations.
    threshold: a verdict is `score > threshold`; "youden" sets it on the tune rows.
    alpha: highest selective risk to certify.
    delta: highest probability that a certificate is wrong.

Returns:
    mfs, hm, coverage, ivr, as at the operating point; certified, certificate_threshold, reason,
    counts (n_preserving, n_altering, n_items, n_dropped), ivr_by_axis and as_by_axis. A figure
    that is undefined is None.
"""


class MetaFaithfulness(evaluate.Metric):
    """``evaluate.load("meta_faithfulness")``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Keep the rows in memory, so that parallel processes share no files."""
        if kwargs.get("num_process", 1) == 1:
            kwargs["keep_in_memory"] = True
        super().__init__(*args, **kwargs)

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation="",
            inputs_description=INPUTS,
            features=Features({name: Value(dtype) for name, dtype in COLUMNS.items()}),
        )

    def compute(
        self, *, predictions: Any = None, references: Any = None, **kwargs: Any
    ) -> dict[str, Any] | None:
        """Compute the score and its parts."""
        if kwargs.get("pairs") is not None and predictions is not None:
            for column in RELATION:
                kwargs.setdefault(column, [""] * len(predictions))
        return super().compute(predictions=predictions, references=references, **kwargs)

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add rows, after a check that `evaluate` turns nothing silently into something else."""
        columns = {"predictions": predictions, "references": references, **kwargs}
        for name in columns.keys() & COLUMNS.keys():
            clean = _numbers if COLUMNS[name] == "float64" else _strings
            columns[name] = clean(name, columns[name])
        super().add_batch(**columns)

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one row."""
        columns = {name: [value] for name, value in kwargs.items()}
        self.add_batch(predictions=[prediction], references=[reference], **columns)

    def _compute(
        self, predictions: list[float], references: list[float], **kwargs: Any
    ) -> dict[str, Any]:
        return meta_faithfulness(predictions, references, **kwargs)


def _numbers(name: str, values: Any) -> list[float]:
    for row, value in enumerate(values):
        if not _is_number(value):
            got = repr(value)
            raise InputError("not a number", row=row, field=name, expected="a number", got=got)
    return np.asarray(values, dtype=np.float64).tolist()


def _is_number(value: object) -> bool:
    # Rows of a torch tensor are tensors of no dimension, not numbers.
    array = np.asarray(value)
    return array.ndim == 0 and array.dtype.kind in "iuf"


def _strings(name: str, values: Any) -> list[str]:
    texts = ["" if value is None and name in RELATION else value for value in values]
    for row, value in enumerate(texts):
        if not isinstance(value, str):
            raise InputError("not a text", row=row, field=name, expected="an id", got=repr(value))
    return [str(text) for text in texts]
