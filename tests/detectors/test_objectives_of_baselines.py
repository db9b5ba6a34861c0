"""Networks on a table of features under the objectives of training over environments."""

from __future__ import annotations

import builtins
from types import SimpleNamespace

import numpy as np
import pytest

from faithshift_bench.detectors import load_detector, load_saved
from faithshift_data.errors import InputError
from tests.detectors.test_fitted import auroc, whole_view


def over_environments(n=80, seed=1):
    view = whole_view(n, seed=seed)
    view.environments = SimpleNamespace(
        names=np.where(np.arange(n) % 4 < 2, "base", "paraphrase"),
        models=np.full(n, "m"),
    )
    return view


def scores(name="counterfactual", seed=0, **params):
    detector = load_detector(name, hidden=16, **params).fit(over_environments(), seed=seed)
    return detector.score(whole_view(60, seed=2))


@pytest.mark.parametrize("objective", ["erm", "irm+dann", "group_dro"])
def test_the_planted_signal_is_found_under_every_objective(objective, tmp_path):
    detector = load_detector("instance_level", hidden=16, objective=objective)
    assert detector.needs == ("interventions", "descriptors", "environments")
    detector.fit(over_environments(), seed=0)
    new = whole_view(60, seed=2)
    assert auroc(detector.score(new), new.labels) > 0.75
    assert detector.training["epoch"] >= 1
    loaded = load_saved(detector.save(tmp_path / "d"))
    assert loaded.params == detector.params and loaded.needs == detector.needs
    assert np.array_equal(loaded.score(new), detector.score(new))


def test_weights_of_zero_are_erm_and_others_are_not():
    erm = scores(objective="erm")
    assert np.array_equal(erm, scores(objective="irm+dann", irm_weight=0, dann_weight=0))
    assert not np.array_equal(erm, scores(objective="dann"))


def test_sources_of_randomness_move_alone_here_too():
    whole, init = scores(objective="erm"), {"objective": "erm", "vary": "init"}
    assert np.array_equal(whole, scores(**init))
    assert not np.array_equal(whole, scores(**init, seed=1))


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"objective": "jit-oracle"}, "objective"),
        ({"objective": "alignment"}, "objective"),
        ({"objective": "irm+alignment"}, "objective"),
        ({"objective": "best"}, "objective"),
        ({"objective": 1}, "objective"),
        ({"objective": "irm", "irm_weight": -1}, "irm_weight"),
        ({"objective": "dann", "dann_weight": float("nan")}, "dann_weight"),
    ],
)
def test_a_bad_objective_is_one_line(params, field):
    with pytest.raises(InputError, match=f"field {field}: bad parameter") as caught:
        load_detector("counterfactual", **params)
    assert "\n" not in str(caught.value)


def test_without_torch_the_extra_is_named(monkeypatch):
    find = builtins.__import__

    def without_torch(module, *more, **named):
        if module.partition(".")[0] == "torch":
            raise ImportError("No module named 'torch'")
        return find(module, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without_torch)
    view = over_environments()
    for name in ("counterfactual", "ensemble", "sift_small", "irm_seed4"):
        objective = {} if name.endswith("4") else {"objective": "irm"}
        with pytest.raises(InputError, match=r"needs torch: pip install 'faithshift\[detectors\]'"):
            load_detector(name, **objective).fit(view, seed=0)
    assert load_detector("counterfactual", hidden=8).fit(view, seed=0).training["epoch"] >= 1
