"""SIFT as a detector: features, choices, files, gates, one detector an environment."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import shutil
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import faithshift_data as fd
from faithshift_bench.detectors import load_detector, load_saved, run_detector
from faithshift_bench.detectors.linear import sigmoid
from faithshift_bench.detectors.sift import gate
from faithshift_bench.detectors.sift.detector import SiftSmall, SiftT7
from faithshift_bench.detectors.sift.features import read
from faithshift_bench.detectors.sift.per_environment import pick
from faithshift_bench.detectors.sift.shape import ABLATIONS, Shape
from faithshift_bench.metrics import auroc
from faithshift_data.errors import InputError
from faithshift_data.measure.descriptors import CHANNELS
from tests.detectors.sift.views import sift_view
from tests.folders import agree, change

QUICK: dict[str, Any] = {"epochs": 4, "filters": 4, "dim": 8, "layers": 1, "heads": 2, "hidden": 8}


@pytest.fixture(scope="module")
def view():
    return sift_view()


@pytest.fixture(scope="module")
def fitted(view):
    return SiftSmall(**QUICK, gate="support").fit(view, seed=0)


def only(view, rows):
    """Some rows of a view."""
    part = sift_view(2)
    part.trace_ids, part.labels = view.trace_ids[rows], view.labels[rows]
    part.descriptors = tuple(array[rows] for array in view.descriptors)
    part.scalars = None if view.scalars is None else view.scalars[rows]
    part.true_environments = view.true_environments[rows]
    return part


def test_it_learns_what_is_there_to_learn(view) -> None:
    found = SiftSmall(objective="erm", epochs=15, batch=8).fit(view, seed=0)
    other = sift_view(seed=7)
    scores = found.score(other)
    assert ((scores > 0) & (scores < 1)).all()
    assert auroc(scores, other.labels).value > 0.9
    assert found.training["epoch"] >= 1
    assert found.training["environments"]["base"]["traces"] > 16


def test_scores_hang_neither_on_the_batch_nor_on_the_order_of_rows(view, fitted) -> None:
    scores, confidence = fitted.score(view), fitted.confidence(view)
    for rows in (np.array([5]), np.array([40, 3, 17])):
        part = only(view, rows)
        assert np.allclose(fitted.score(part), scores[rows], atol=1e-6)
        assert np.allclose(fitted.confidence(part), confidence[rows], atol=0.02)


def test_the_same_seed_gives_the_same_scores_and_another_seed_others(view) -> None:
    first, again, other = (SiftSmall(**QUICK).fit(view, seed=s).score(view) for s in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_seed_that_decides_one_source_alone(view) -> None:
    start = SiftSmall(**QUICK, vary="all").fit(view, seed=0).score(view)
    for source in ("init", "order", "dropout", "held"):
        zero, one = (SiftSmall(**QUICK, vary=source).fit(view, seed=s).score(view) for s in (0, 1))
        assert np.array_equal(zero, start)
        assert not np.array_equal(one, start), source
    tune = sift_view(24, seed=1)
    one, two = (
        SiftSmall(**QUICK, vary="held").fit(view, seed=s, tune=tune).score(view) for s in (0, 1)
    )
    assert np.array_equal(one, two)
    for source in ("order", "dropout"):
        one, two = (
            SiftSmall(**QUICK, stable=True, vary=source).fit(view, seed=s).score(view)
            for s in (0, 1)
        )
        assert np.array_equal(one, two), source


def test_features_by_hand() -> None:
    view = sift_view(4)
    psi, mask = view.descriptors
    shape = Shape(families="drift+lens", static="bands+scalars")
    found = read(view, shape, scalars=True)
    assert found.psi.shape == (4, 16, 16)
    assert shape.channels == tuple(c for c in CHANNELS if c.startswith(("drift", "lens")))
    assert np.array_equal(found.psi[1, 0], psi[1, 0, 8:24])
    means = [
        psi[2, mask[2], CHANNELS.index(f"{f}.{b}.mean")].mean()
        for f in ("velocity", "drift")
        for b in range(4)
    ]
    assert found.static[2] == pytest.approx([*means, *view.scalars[2]], abs=1e-5)
    arrays = found.scales(np.array([0, 1]))
    steps = np.concatenate([found.psi[0, mask[0]], found.psi[1, mask[1]]])
    assert arrays["psi.mean"] == pytest.approx(steps.mean(axis=0))
    assert arrays["psi.scale"] == pytest.approx(steps.std(axis=0))
    scaled = found.scaled(arrays)
    assert not scaled.psi[~mask].any()
    assert np.abs(scaled.psi).max() <= 8
    expected = np.clip((found.psi[3, 0] - arrays["psi.mean"]) / arrays["psi.scale"], -8, 8)
    assert scaled.psi[3, 0] == pytest.approx(expected, abs=1e-5)


def test_scales_come_from_the_rows_that_are_trained_on(view) -> None:
    changed = sift_view()
    left = np.flatnonzero(changed.environments.names == "language")
    changed.descriptors[0][left] = 1e3 * changed.descriptors[1][left][:, :, None]
    kept = np.flatnonzero(view.environments.names != "language")
    tune = sift_view(24, seed=1)
    a, b = (
        SiftSmall(**QUICK, leave_out="language").fit(v, seed=0, tune=tune) for v in (view, changed)
    )
    assert np.array_equal(a.score(view)[kept], b.score(changed)[kept])
    assert set(a.training["environments"]) == {"base", "paraphrase"}


def test_data_without_scalars(fitted, view) -> None:
    bare = sift_view(scalars=False)
    found = SiftSmall(**QUICK).fit(bare, seed=0)
    assert found.params["scalars"] is False
    assert np.array_equal(found.score(bare), found.score(view))
    with pytest.raises(InputError, match="no scalars"):
        fitted.score(bare)
    with pytest.raises(InputError, match="nothing that such a network reads"):
        SiftSmall(learned=False).fit(bare, seed=0)


@pytest.mark.parametrize("table", ["T4", "T26"])
def test_every_row_of_the_ablations_can_be_fitted(table: str, view) -> None:
    widths = {}
    for row, choices in ABLATIONS[table].items():
        found = SiftSmall(**{**QUICK, "epochs": 1, **choices}).fit(view, seed=0)
        assert np.isfinite(found.score(view)).all()
        widths[row] = len(found.arrays["psi.mean"]), len(found.arrays["static.mean"])
    if table == "T26":  # the dimensions that S prints for the hand-crafted rows
        assert widths["Hand-crafted"][1] == 8
        assert widths["Hand-crafted + early-commitment"][1] == 12
    else:
        assert widths["Full SIFT"] == (32, 4)
        assert widths["w/o Attention Stability"] == (24, 4)
        assert widths["w/o Early-Commitment"] == (24, 0)


def test_the_other_ablations_are_choices_of_both_detectors() -> None:
    for choices in (*ABLATIONS["T25"].values(), *ABLATIONS["Q2"].values()):
        SiftT7(**choices), SiftSmall(**choices)


def test_it_is_saved_and_loaded_bit_for_bit(view, fitted, tmp_path) -> None:
    fitted.save(tmp_path / "a")
    loaded = load_saved(tmp_path / "a")
    assert np.array_equal(loaded.score(view), fitted.score(view))
    assert np.array_equal(loaded.confidence(view), fitted.confidence(view))
    assert loaded.training == fitted.training
    assert loaded.n_parameters == fitted.n_parameters == fitted.training["parameters"]


def test_what_another_revision_or_shape_saved_is_refused(fitted, tmp_path) -> None:
    fitted.save(tmp_path / "a")
    cases = (
        ("revision", "0", "field revision"),
        ("name", "sift_t7", "field name"),
        ("params", {**fitted.params, "networks": []}, "not those that were saved"),
        ("params", {}, "not those that were saved"),
    )
    for number, (field, value, match) in enumerate(cases):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "a", folder)
        described = json.loads((folder / "detector.json").read_text())
        (folder / "detector.json").write_text(json.dumps({**described, field: value}))
        with pytest.raises(InputError, match=match):
            SiftSmall().load(folder)
    shutil.copytree(tmp_path / "a", folder, dirs_exist_ok=True)
    for name in ("psi.mean", "support.centre"):
        arrays = load_file(tmp_path / "a" / "arrays.safetensors")
        del arrays[name]
        save_file(arrays, folder / "arrays.safetensors")
        with pytest.raises(InputError, match="not those that were saved"):
            load_saved(folder)


def test_parameters_that_do_not_fit_the_arrays_are_refused(fitted, tmp_path) -> None:
    for params, match in (({"dim": 16}, "not a saved SIFT"), ({"objective": "irl"}, "objective")):
        other = copy.copy(fitted)
        other.params = {**fitted.params, **params}
        with pytest.raises(InputError, match=match):
            SiftSmall().load(other.save(tmp_path))


def test_support_falls_with_the_distance_from_train(view, fitted) -> None:
    near = fitted.confidence(sift_view(seed=5))
    far = sift_view(seed=5)
    far.descriptors = (far.descriptors[0] * 40, far.descriptors[1])
    assert ((near > 0) & (near <= 1)).all()
    assert fitted.confidence(far).mean() < near.mean() / 2


def test_support_by_hand() -> None:
    arrays = {
        "support.centre": np.zeros(2),
        "support.root": np.diag([1.0, 0.5]),
        "support.held": np.array([1.0, 2.0, 3.0]),
    }
    found = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 5.0], [9.0, 0.0]])  # distances 0, 2, 2.5, 9
    assert gate.support(found, arrays).tolist() == [1.0, 0.75, 0.5, 0.25]


def test_support_is_uniform_on_rows_like_those_held_out() -> None:
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(6, 6))
    train, held, new = (rng.normal(size=(n, 6)) @ mix for n in (500, 400, 2000))
    found = gate.support(new, gate.fit_support(train, held))
    assert np.quantile(found, [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.06)


def test_agree_is_of_thinned_networks_and_of_each_trace_alone(view) -> None:
    found = SiftSmall(**QUICK, gate="agree", dropout=0.3).fit(view, seed=0)
    confidence = found.confidence(view)
    assert ((confidence >= 0) & (confidence < 1)).all()
    assert np.array_equal(confidence, found.confidence(view))
    assert np.allclose(found.confidence(only(view, np.array([8]))), confidence[8], atol=1e-5)
    assert gate.agree(np.array([[0.5, 0.0], [0.5, 1.0]])).tolist() == [1.0, 0.0]


def test_each_environments_own_detector_scores_it(view) -> None:
    found = SiftSmall(**QUICK, objective="jit-oracle").fit(view, seed=0)
    assert found.reads_label_evidence
    assert "true_environments" in found.needs
    names = found.params["networks"]
    assert names == ["base", "language", "paraphrase"]
    assert [member["environment"] for member in found.training["members"]] == names
    features = found._features(view)
    each = [sigmoid(found._apply(features, place)[0]) for place in range(3)]
    scores = found.score(view)
    for place, name in enumerate(names):
        own = view.true_environments == name
        assert np.allclose(scores[own], each[place][own])
    elsewhere = only(view, np.arange(len(view)))
    elsewhere.true_environments = np.full(len(view), "budget")
    assert np.allclose(found.score(elsewhere), np.mean(each, axis=0))
    assert not np.allclose(each[0], each[1])


def test_the_model_that_wrote_a_trace_is_no_secret(view) -> None:
    mixed = sift_view()
    models = np.array(["x", "y"])[np.arange(len(mixed)) // 2 % 2]
    mixed.environments = dataclasses.replace(mixed.environments, models=models)
    mixed.text = [{"model_id": model} for model in models.tolist()]
    choices = {**QUICK, "objective": "jit-oracle", "environments": "model"}
    found = SiftSmall(**choices).fit(mixed, seed=0)
    assert not found.reads_label_evidence
    assert set(found.needs) == {"descriptors", "environments", "text"}
    assert found.params["networks"] == ["x", "y"]
    own = sigmoid(found._apply(found._features(mixed), 1)[0])
    assert np.allclose(found.score(mixed)[models == "y"], own[models == "y"])


def test_the_environment_is_guessed_where_no_oracle_is(view, tmp_path) -> None:
    told = sift_view()
    told.descriptors[0][:, :, 5] += 9 * (told.environments.names == "base")[:, None]
    told.descriptors[0][~told.descriptors[1]] = 0
    oracle, guess = (
        SiftSmall(**QUICK, objective=objective).fit(told, seed=0)
        for objective in ("jit-oracle", "jit-pred")
    )
    assert not guess.reads_label_evidence
    assert "true_environments" not in guess.needs
    assert guess.training["environment_accuracy"] > 0.5
    base = told.environments.names == "base"
    del told.true_environments
    scores = guess.score(told)
    told.true_environments = told.environments.names
    assert np.allclose(scores[base], oracle.score(told)[base])
    loaded = load_saved(guess.save(tmp_path))
    assert np.array_equal(loaded.score(told), scores)


def test_pick_by_hand() -> None:
    scores = np.array([[0.1, 0.2, 0.3], [0.5, 0.6, 0.7]])
    assert pick(scores, np.array([1, 0, -1])).tolist() == pytest.approx([0.5, 0.2, 0.5])


@pytest.mark.parametrize(
    ("choices", "match"),
    [
        ({"depth": 3}, "depth"),
        ({"dim": 10}, "multiple of heads"),
        ({"dim": 512}, "dim"),
        ({"families": "velocity+speed"}, "families"),
        ({"static": "none", "learned": False}, "static"),
        ({"tcn": 1}, "tcn"),
        ({"gate": "density"}, "gate"),
        ({"gate": "agree", "dropout": 0}, "agree needs"),
        ({"gate": "agree", "stable": True}, "agree needs"),
        ({"gate": "support", "objective": "jit-pred"}, "no such gate"),
    ],
)
def test_choices_that_cannot_be_are_refused(choices: dict, match: str) -> None:
    with pytest.raises(InputError, match=match):
        load_detector("sift_small", **choices)


def test_the_signature_names_every_choice() -> None:
    names = set(inspect.signature(SiftT7).parameters)
    assert {"objective", "tcn", "dim", "gate", "leave_out", "vary"} <= names
    assert SiftT7().params["filters"] == 64
    assert SiftSmall().params["filters"] == 8


def test_labels_of_calib_and_test_reach_it_nowhere(synthetic, tmp_path) -> None:
    def flip(rows):
        for row in rows:
            if row["split"] == "test" or row["fold"] == "calib":
                row["label"] = None if row["label"] is None else 1 - row["label"]

    other = tmp_path / "flipped"
    shutil.copytree(synthetic, other)
    change(other / "traces", flip)
    agree(other)
    params = {**QUICK, "epochs": 2, "gate": "support"}
    a, b = (run_detector("sift_small", fd.open(f), (0,), params=params) for f in (synthetic, other))
    assert a.column_names == ["trace_id", "seed", "score", "confidence"]
    for name in a.column_names:
        assert a[name].equals(b[name])
    training = json.loads(a.schema.metadata[b"faithshift"])["training"]["0"]
    assert training["chosen_by"] == "tune_loss"
