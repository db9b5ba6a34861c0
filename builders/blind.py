"""Whether what is not content tells of withheld labels: models on it must be at chance.

Not content: ids, places in the files, which columns are null, how many rows there are, bytes of the
columns that no detector reads. A model that beats chance on these has found a leak.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import faithshift_data as fd
from builders.surface import surface
from faithshift_bench.metrics.separation import separation

TARGETS, MODELS = ("label", "anchor", "kind"), ("linear", "boosting")
RESAMPLES = 2000
# Of a false alarm, in all targets and models together.
ALARM = 0.01
Row = dict[str, Any]


@dataclass(frozen=True)
class Blindness:
    """How well one model tells one target; ``leaks`` where even the low end is over chance.

    Attributes:
        target: ``label``, ``anchor`` (or partner), or ``kind`` (of a partner's pair).
        model: ``linear`` or ``boosting``.
        auroc, low, high: with an interval wide enough that all targets and models together
            pass by chance with probability 0.99; None where the target has one class.
        n: traces that it was judged on.
    """

    target: str
    model: str
    auroc: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def leaks(self) -> bool:
        """Whether the target can be told from what is not content."""
        return self.low is not None and self.low > 0.5

    def __str__(self) -> str:
        """One line."""
        if self.auroc is None or self.low is None:
            return f"{self.target} by {self.model}: undefined, {self.n} traces"
        return (
            f"{self.target} by {self.model}: AUROC {self.auroc:.3f} "
            f"[{self.low:.3f}, {self.high:.3f}], {self.n} traces{', LEAKS' * self.leaks}"
        )


def blindness(
    public: str | Path,
    key: str | Path,
    *,
    targets: Sequence[str] = TARGETS,
    models: Sequence[str] = MODELS,
) -> list[Blindness]:
    """Fit models to targets on half of the items, and judge them on the others.

    Args:
        public: a folder that withholds labels.
        key: its key.
        targets: of ``TARGETS``.
        models: of ``MODELS``.
    """
    whole = fd.open(key)
    ids, _, x = surface(Path(public))
    traces = {row["trace_id"]: row for row in whole.table("traces").to_pylist()}
    items = np.array([traces[each]["item_id"] for each in ids])
    told_by = _targets(whole, ids, traces)
    wide = {"confidence": 1 - ALARM / (len(MODELS) * len(TARGETS)), "n_resamples": RESAMPLES}
    found = []
    for target in targets:
        labels = told_by[target]
        rows = np.flatnonzero(labels >= 0)
        judge = _unseen(items[rows])
        for model in models:
            scores = _scores(model, x[rows], labels[rows], judge)
            told = separation(scores, labels[rows][judge], items[rows][judge], **wide)
            figures = told["auroc"], told["low"], told["high"], told["n_traces"]
            found.append(Blindness(target, model, *figures))
    return found


def _targets(
    whole: fd.FaithShift, ids: Sequence[str], traces: dict[str, Row]
) -> dict[str, NDArray[np.int8]]:
    pairs = whole.table("pairs").to_pylist()
    anchors = {row["anchor_id"] for row in pairs}
    kinds = {
        row["partner_id"]: int(row["kind"] == "altering")
        for row in pairs
        if row["kind"] != "repeat"
    }
    told: dict[str, Iterable[int | None]] = {
        "label": (traces[each]["label"] for each in ids),
        "anchor": (int(each in anchors) for each in ids),
        "kind": (kinds.get(each) for each in ids),
    }
    return {
        name: np.array([-1 if value is None else value for value in values], np.int8)
        for name, values in told.items()
    }


def _unseen(items: NDArray) -> NDArray[np.bool_]:
    """Half of the items: one model learns from the others and is judged on these.

    Folds that learn from each other would vary together, by more than their interval says.
    """
    names = np.random.default_rng(0).permutation(np.unique(items))
    return np.isin(items, names[::2])


def _scores(model: str, x: NDArray, labels: NDArray, judge: NDArray) -> NDArray[np.float64]:
    """What a model says of the rows ``judge`` that has learned from the others."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if len(set(labels[~judge].tolist())) < 2:
        return np.full(int(judge.sum()), 0.5)
    fitted = (
        make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500))
        if model == "linear"
        else HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=8, max_bins=63, early_stopping=False, random_state=0
        )
    ).fit(x[~judge], labels[~judge])
    return fitted.predict_proba(x[judge])[:, 1]
