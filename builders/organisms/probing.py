"""How well a linear probe tells the routes apart, on the model it was fitted on and on others.

Published beside the data, whatever the figures are: they say how hard the set is and how far a
probe of one model's states carries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.organisms.conditions import BASE
from faithshift_bench.metrics.separation import no_separation, separation
from faithshift_bench.studies.reach import REACHES, Writers, learned_on, meetings
from faithshift_data import FaithShift

FEATURES = ("state", "psi", "scalars")


def probe_table(data: FaithShift) -> list[dict[str, Any]]:
    """AUROC of logistic regressions on traces of the test split that have a hint.

    A probe is fitted on traces of one model: of validation for the same model, of train for others
    (train's models write nothing else). Features are standardised model by model, without labels.

    Args:
        data: a dataset of organisms with trajectories.

    Returns:
        A row a feature and reach (``REACHES``): ``features``, ``reach``, ``auroc``, ``low`` and
        ``high`` (95%, by resampled items), ``n_traces``, ``n_items``, ``reason``.
    """
    sets = {split: _Set(data, split) for split in ("train", "validation", "test")}
    return [
        {"features": name, "reach": reach, **_figures(sets, name, reach)}
        for name in FEATURES
        for reach in REACHES
    ]


class _Set:
    """The hinted traces of a split."""

    def __init__(self, data: FaithShift, split: str) -> None:
        columns = ["trace_id", "item_id", "model_id", "model_family", "label", "condition"]
        rows = data.table("traces", split).select(columns).to_pylist()
        rows = [row for row in rows if row["condition"] != BASE]
        ids = [row["trace_id"] for row in rows]
        self.items = np.array([row["item_id"] for row in rows])
        models, families = ([row[key] for row in rows] for key in ("model_id", "model_family"))
        self.writers = Writers(np.array(models), np.array(families))
        self.labels = np.array([row["label"] for row in rows])
        psi = data.trajectories.get("psi", ids)
        found = {
            "state": np.array(data.trajectories.get("state", ids), float),
            "scalars": np.array(data.trajectories.get("scalars", ids), float),
            "psi": np.array(
                [[*each.mean(axis=0), *each.std(axis=0)] for each in psi], float
            ).reshape(len(ids), -1),
        }
        self.features = {name: self._by_model(values) for name, values in found.items()}

    def _by_model(self, values: NDArray) -> NDArray[np.float64]:
        out = np.zeros_like(values)
        for model in set(self.writers.models.tolist()):
            rows = self.writers.models == model
            spread = values[rows].std(axis=0)
            out[rows] = (values[rows] - values[rows].mean(axis=0)) / np.where(spread > 0, spread, 1)
        return out


def _figures(sets: dict[str, _Set], name: str, reach: str) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    judge, learn = sets["test"], sets[learned_on(reach)]
    scores, labels, items = [], [], []
    for _, fitted_on, judged in meetings(learn.writers, judge.writers, reach):
        x, y = learn.features[name][fitted_on], learn.labels[fitted_on]
        if len(set(y.tolist())) < 2 or not judged.any():
            continue
        model = LogisticRegression(C=0.1, max_iter=2000).fit(x, y)
        scores.append(model.predict_proba(judge.features[name][judged])[:, 1])
        labels.append(judge.labels[judged])
        items.append(judge.items[judged])
    if not scores:
        return no_separation("no two models to compare")
    return separation(np.concatenate(scores), np.concatenate(labels), np.concatenate(items))
