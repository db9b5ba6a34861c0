"""The table of probes, on states whose tale is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from builders.organisms.probing import probe_table


class Planted:
    """Two models a split; the state tells the label, for one family with the sign turned."""

    def __init__(self, turned: bool) -> None:
        rng = np.random.default_rng(0)
        self.tables, self.arrays = {}, {"state": {}, "psi": {}, "scalars": {}}
        self.trajectories = self
        for split in ("train", "validation", "test"):
            rows = []
            for number in range(240):
                family = ("cohere", "phi")[number % 2]
                label = number // 2 % 2
                key = f"{split}-{number}"
                seed = int(split != "train")
                rows.append(
                    {
                        "trace_id": key,
                        "item_id": f"{split}-{number // 4}",
                        "model_id": f"{family}-{seed}",
                        "model_family": family,
                        "label": label,
                        "condition": "base" if number < 8 else "cued_base",
                    }
                )
                sign = -1 if turned and family == "phi" else 1
                # Each model has its own place and scale.
                place, scale = 10 * seed + 3 * (family == "phi"), 1 + 4 * seed
                told = sign * (2 * label - 1) + rng.normal(scale=0.1)
                self.arrays["state"][key] = np.array([place + scale * told, 7.0])
                self.arrays["psi"][key] = rng.normal(size=(3, 2))
                self.arrays["scalars"][key] = np.zeros(4)
            self.tables[split] = pa.Table.from_pylist(rows)

    def table(self, config: str, split: str) -> pa.Table:
        assert config == "traces"
        return self.tables[split]

    def get(self, name: str, ids: list[str]) -> list[np.ndarray]:
        return [self.arrays[name][key] for key in ids]


@pytest.mark.parametrize("turned", [False, True])
def test_a_probe_carries_as_far_as_the_models_agree(turned: bool) -> None:
    data: Any = Planted(turned)
    found = {(row["features"], row["reach"]): row for row in probe_table(data)}
    assert len(found) == 9
    far = 0.0 if turned else 1.0
    for reach, auroc in (("same model", 1.0), ("another seed", 1.0), ("another architecture", far)):
        row = found["state", reach]
        assert row["auroc"] == row["low"] == row["high"] == auroc
        assert (row["n_traces"], row["n_items"]) == (232, 58)
        assert found["psi", reach]["low"] < 0.5 < found["psi", reach]["high"]
        assert found["scalars", reach]["auroc"] == 0.5


def test_one_architecture_has_no_other() -> None:
    data: Any = Planted(False)
    for split, table in data.tables.items():
        data.tables[split] = table.filter(pc.equal(table["model_family"], "cohere"))
    found = {(row["features"], row["reach"]): row for row in probe_table(data)}
    assert found["state", "another seed"]["auroc"] == 1.0
    none = found["state", "another architecture"]
    assert none["auroc"] is None and none["reason"] == "no two models to compare"
