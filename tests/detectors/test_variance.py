"""What a seed decides: one source of randomness at a time, and nothing in a convex fit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from faithshift_bench.detectors import counterfactual, load_detector, network
from faithshift_bench.detectors.registry import BASELINES, CONTROLS
from faithshift_bench.detectors.variance import resample, source_seeds
from faithshift_data.errors import InputError
from tests.detectors.test_fitted import CONVEX, NETWORKS, whole_view

SOURCES = ("init", "order", "held")


def test_a_source_that_is_not_varied_keeps_seed_0():
    assert source_seeds(3, "all", SOURCES) == {"init": 3, "order": 3, "held": 3}
    assert source_seeds(3, "order", SOURCES) == {"init": 0, "order": 3, "held": 0}


@pytest.mark.parametrize("vary", ["all", *SOURCES])
def test_the_network_is_given_the_seeds_that_vary_says(vary, monkeypatch):
    seen = []

    def spy(x, labels, held, *, init, order, **rest):
        seen.append({"init": init, "order": order, "held": tuple(np.flatnonzero(held))})
        weights = {"w0": np.zeros((4, 1)), "b0": np.zeros(1), "w1": np.zeros((1, 1))}
        return {**weights, "b1": np.zeros(1)}, {}

    monkeypatch.setattr(counterfactual, "train", spy)
    for seed in (0, 1):
        load_detector("counterfactual", vary=vary).fit(whole_view(80), seed=seed)
    moved = {name for name in SOURCES if seen[0][name] != seen[1][name]}
    assert moved == (set(SOURCES) if vary == "all" else {vary})
    assert len(seen[0]["held"]) == 12


@pytest.mark.parametrize("vary", SOURCES)
def test_each_source_moves_scores_and_seed_0_is_the_same_for_all(vary, monkeypatch):
    monkeypatch.setattr(network, "EPOCHS", 4)
    train, new = whole_view(80, seed=1), whole_view(30, seed=2)
    a, b, whole = (
        load_detector("counterfactual", vary=how).fit(train, seed=seed).score(new)
        for how, seed in ((vary, 0), (vary, 1), ("all", 0))
    )
    assert np.array_equal(a, whole)
    assert not np.array_equal(a, b)


@pytest.mark.parametrize("name", CONVEX)
def test_a_convex_fit_varies_nothing_unless_its_items_are_drawn(name):
    with pytest.raises(InputError, match="field vary: bad"):
        load_detector(name, vary="init")
    train, new = whole_view(60, seed=1), whole_view(20, seed=2)
    for vary in ("none", "boot"):
        detector = load_detector(name, vary=vary)
        a, b, again = (detector.fit(train, seed=seed).score(new) for seed in (0, 1, 0))
        assert np.array_equal(a, again)
        assert detector.deterministic == (vary == "none") == np.array_equal(a, b)


def test_a_deterministic_detector_says_so_and_an_ensemble_of_them_too():
    said = {n for n in (*CONTROLS, *BASELINES) if load_detector(n).deterministic}
    assert said == {"constant", "label_prior", *CONVEX}
    for of, expected in (("biasing+attribution", True), ("biasing+random", False)):
        assert load_detector("ensemble", of=of).deterministic == expected


def test_items_are_drawn_whole_and_with_replacement():
    items, labels = np.repeat(["a", "b", "c"], [1, 2, 3]), np.array([0, 1, 1, 1, 1, 1])
    counts = []
    for seed in range(200):
        drawn = resample(items, labels, seed)
        times = [int((items[drawn] == name).sum()) / n for n, name in enumerate("abc", 1)]
        assert sum(times) == 3 and all(each == int(each) for each in times)
        assert set(labels[drawn]) == {0, 1}
        counts.append(times)
    assert max(map(max, counts)) == 2 and len({tuple(each) for each in counts}) > 3


@pytest.mark.parametrize("name", [*CONVEX, *NETWORKS])
def test_a_fit_does_not_depend_on_the_order_of_rows(name, monkeypatch):
    monkeypatch.setattr(network, "EPOCHS", 4)
    train, new = whole_view(60, seed=1), whole_view(20, seed=2)
    order = np.random.default_rng(0).permutation(60)
    mixed = whole_view(60, seed=1)
    for field in ("trace_ids", "item_ids", "labels", "states"):
        setattr(mixed, field, getattr(mixed, field)[order])
    mixed.text = [mixed.text[row] for row in order]
    mixed.interventions.changed = mixed.interventions.changed[order]
    mixed.descriptors = tuple(part[order] for part in mixed.descriptors)
    a, b = (load_detector(name).fit(view, seed=0).score(new) for view in (train, mixed))
    assert np.array_equal(a, b)


def test_scores_are_scikit_learns():
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    model = MLPClassifier((5,), random_state=0).partial_fit(x, labels, classes=(0, 1))
    weights = network._weights(model)
    assert network.forward(x, weights) == pytest.approx(model.predict_proba(x)[:, 1], abs=1e-12)


def test_the_epoch_of_the_least_held_out_loss_is_kept():
    train = whole_view(120, seed=1)
    told = []
    detector = load_detector("counterfactual")
    detector.progress = lambda epoch, of, figures: told.append((epoch, of, figures["held_loss"]))
    record = detector.fit(train, seed=0).training
    curve = record["curves"]["held_loss"]
    assert record["epoch"] == 1 + int(np.argmin(curve))
    assert record["epochs"] == len(curve) == len(record["curves"]["loss"])
    assert record["epochs"] in (record["epoch"] + network.PATIENCE, network.EPOCHS)
    assert told == [(k + 1, network.EPOCHS, loss) for k, loss in enumerate(curve)]
    held = network.held_out(train.item_ids, train.labels, 0)
    x = detector.features(train)[~held]
    assert detector.arrays["mean"] == pytest.approx(x.mean(axis=0), abs=1e-12)
    loss = network.log_loss(detector.score(train)[held], train.labels[held])
    assert loss == pytest.approx(min(curve), abs=1e-12)


@pytest.mark.parametrize("objective", ["none", "erm"])
def test_a_tune_fold_judges_and_nothing_is_held_out(objective):
    train, tune = whole_view(60, seed=1), whole_view(40, seed=5)
    tune.labels[30:] = -1
    train.environments = SimpleNamespace(names=np.full(60, "base"))
    detector = load_detector("counterfactual", hidden=8, objective=objective)
    record = detector.fit(train, seed=0, tune=tune).training
    assert (record["chosen_by"], set(record["curves"])) == ("tune_loss", {"loss", "tune_loss"})
    if objective == "none":
        loss = network.log_loss(detector.score(tune)[:30], tune.labels[:30])
        assert loss == pytest.approx(min(record["curves"]["tune_loss"]), abs=1e-12)
    x = detector.features(train)
    assert detector.arrays["mean"] == pytest.approx(x.mean(axis=0), abs=1e-12)
    tune.labels[:] = -1
    without = load_detector("counterfactual", hidden=8, objective=objective)
    assert without.fit(train, seed=0, tune=tune).training["chosen_by"] == "held_loss"


def test_whole_items_are_held_out_and_never_the_last_of_a_class():
    items = np.repeat([f"i{k}" for k in range(20)], 3)
    held = network.held_out(items, np.tile([0, 1, 1], 20), 0)
    assert held.sum() == 9
    assert not set(items[held]) & set(items[~held])
    # One class would be left where all of the other are held out: then nothing is.
    rare = np.where(held, 1, 0)
    assert not network.held_out(items, rare, 0).any()
