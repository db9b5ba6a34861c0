"""How well a linear probe tells the routes apart, on the model it was fitted on and on others.

Published beside the data, whatever the figures are: they say how hard the set is and how far a
probe of one model's states carries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.content import no_separation, separation
from builders.organisms.conditions import BASE
from faithshift_data import FaithShift

FEATURES = ("state", "psi", "scalars")
REACHES = ("same model", "another seed", "another architecture")


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
        self.models = np.array([row["model_id"] for row in rows])
        self.families = np.array([row["model_family"] for row in rows])
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
        for model in set(self.models.tolist()):
            rows = self.models == model
            spread = values[rows].std(axis=0)
            out[rows] = (values[rows] - values[rows].mean(axis=0)) / np.where(spread > 0, spread, 1)
        return out


def _figures(sets: dict[str, _Set], name: str, reach: str) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    judge = sets["test"]
    scores, labels, items = [], [], []
    for learn, fitted_on, judged in _meetings(sets, reach):
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


def _meetings(
    sets: dict[str, _Set], reach: str
) -> Iterator[tuple[_Set, NDArray[np.bool_], NDArray[np.bool_]]]:
    """What a probe is fitted on, and the rows of test that it judges."""
    judge = sets["test"]
    learn = sets["validation" if reach == "same model" else "train"]
    for model in sorted(set(learn.models.tolist())):
        fitted_on = learn.models == model
        family = learn.families[fitted_on][0]
        if reach == "same model":
            judged = judge.models == model
        else:
            judged = (judge.families == family) == (reach == "another seed")
        yield learn, fitted_on, judged
