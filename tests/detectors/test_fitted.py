"""The fitted detectors: signal found, seeds, saving, and faults."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from faithshift_bench.detectors import load_detector, load_saved
from faithshift_bench.detectors.linear import sigmoid, standardise, standardiser
from faithshift_bench.detectors.registry import BASELINES, CONTROLS
from faithshift_bench.detectors.saved import load_all
from faithshift_data.errors import InputError
from tests.detectors.views import make_view, profile, text_row

NAMES = ("truncate@0.0", "scramble")
QUICK = [*CONTROLS, *BASELINES]
NETWORKS = ["counterfactual", "instance_level"]
CONVEX = ["length_only", "edit_distance", "biasing", "hidden_state", "attribution"]


def whole_view(n=120, seed=0, labels=None):
    """Every part, with a planted signal in each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n) if labels is None else np.asarray(labels)
    sign = (2 * labels - 1)[:, None]
    changed = np.where(rng.random((n, 2)) < 0.5 + 0.4 * sign, 1.0, 0.0)
    changed[rng.random((n, 2)) < 0.1] = np.nan
    psi = (rng.normal(size=(n, 16, 32)) + 0.2 * sign[:, :, None]).astype(np.float32)
    mask = np.arange(16) < rng.integers(1, 17, n)[:, None]
    states = (rng.normal(size=(n, 24)) + 0.5 * sign).astype(np.float32)
    rows = [text_row(reasoning="step " * (1 + 9 * int(y))) for y in labels]
    return make_view(
        labels.tolist(),
        text=rows,
        states=states,
        interventions=profile(NAMES, changed),
        descriptors=(psi * mask[:, :, None], mask),
    )


def auroc(scores, labels):
    """P(a faithful trace scores above an unfaithful one), ties a half."""
    ahead = scores[labels == 1][:, None] - scores[labels == 0][None, :]
    return (ahead > 0).mean() + 0.5 * (ahead == 0).mean()


@pytest.mark.parametrize("name", ["length_only", "hidden_state", "attribution", *NETWORKS])
def test_planted_signal_is_found_on_new_rows(name):
    detector = load_detector(name).fit(whole_view(200, seed=1), seed=0)
    new = whole_view(200, seed=2)
    assert auroc(detector.score(new), new.labels) > 0.8


@pytest.mark.parametrize("name", ["hidden_state", "instance_level"])
def test_shuffled_labels_give_no_signal(name):
    train = whole_view(200, seed=1)
    train.labels = np.random.default_rng(0).permutation(train.labels)
    new = whole_view(300, seed=2)
    assert abs(auroc(load_detector(name).fit(train, seed=0).score(new), new.labels) - 0.5) < 0.2


def test_standardised_columns_have_mean_0_and_spread_1_and_constants_stay_finite():
    x = np.array([[1.0, 5.0], [3.0, 5.0]])
    arrays = standardiser(x)
    assert arrays["mean"].tolist() == [2.0, 5.0]
    assert arrays["scale"].tolist() == [1.0, 1.0]
    assert standardise(np.array([[4.0, 5.0], [1e9, 6.0]]), arrays).tolist() == [
        [2.0, 0.0],
        [8.0, 1.0],
    ]


def test_sigmoid_does_not_overflow():
    assert sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("name", QUICK)
def test_same_seed_same_scores_and_a_round_trip_through_files(name, tmp_path):
    train, new = whole_view(seed=3), whole_view(60, seed=4)
    first = load_detector(name).fit(train, seed=5)
    again = load_detector(name).fit(train, seed=5)
    scores = first.score(new)
    assert scores.shape == (60,)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.array_equal(scores, again.score(new))
    first.save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / name).iterdir())
    assert files == ["arrays.safetensors", "detector.json"]
    load_file(tmp_path / name / "arrays.safetensors")
    loaded = load_detector(name).load(tmp_path / name)
    assert np.array_equal(scores, loaded.score(new))


@pytest.mark.parametrize("name", [*CONVEX, *NETWORKS])
def test_rows_of_unknown_label_change_nothing(name):
    train = whole_view(80, seed=1)
    train.labels[60:] = -1
    part = whole_view(80, seed=1)
    for field in ("trace_ids", "item_ids", "labels"):
        setattr(part, field, getattr(part, field)[:60])
    part.text, part.states = part.text[:60], part.states[:60]
    part.interventions = profile(NAMES, part.interventions.changed[:60])
    part.descriptors = tuple(array[:60] for array in part.descriptors)
    new = whole_view(30, seed=2)
    scores = [load_detector(name).fit(view, seed=0).score(new) for view in (train, part)]
    assert np.allclose(*scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [*CONVEX, *NETWORKS])
def test_one_class_is_refused_in_one_line(name):
    with pytest.raises(InputError, match="nothing to learn from") as caught:
        load_detector(name).fit(whole_view(20, labels=[1] * 20), seed=0)
    assert "\n" not in str(caught.value)


def test_seeds_change_the_network_and_not_the_convex_fits():
    train, new = whole_view(seed=3), whole_view(60, seed=4)
    for name, same in [(name, True) for name in CONVEX] + [(name, False) for name in NETWORKS]:
        a, b = (load_detector(name).fit(train, seed=seed).score(new) for seed in (0, 1))
        assert np.array_equal(a, b) == same, name


def test_padding_does_not_reach_the_network():
    view = whole_view(40, seed=1)
    detector = load_detector("instance_level").fit(view, seed=0)
    psi, mask = view.descriptors
    dirty = make_view(
        [0] * 40,
        interventions=view.interventions,
        descriptors=(np.where(mask[:, :, None], psi, 77.0), mask),
    )
    assert np.array_equal(detector.score(view), detector.score(dirty))


def test_a_trace_without_steps_or_answers_still_gets_a_score():
    detector = load_detector("instance_level").fit(whole_view(40, seed=1), seed=0)
    empty = make_view(
        [0],
        interventions=profile(NAMES, [[np.nan, np.nan]]),
        descriptors=(np.zeros((1, 16, 32), np.float32), np.zeros((1, 16), bool)),
    )
    assert 0 <= detector.score(empty)[0] <= 1


def test_other_interventions_or_states_than_fitted_on_are_refused():
    view = whole_view(40, seed=1)
    instance = load_detector("instance_level").fit(view, seed=0)
    hidden = load_detector("hidden_state").fit(view, seed=0)
    view.interventions = profile(("truncate@0.4", "scramble"), view.interventions.changed)
    view.states = view.states[:, :7]
    with pytest.raises(InputError, match="other interventions"):
        instance.score(view)
    with pytest.raises(InputError, match="expected width 24, got 7"):
        hidden.score(view)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_by_name(value, tmp_path):
    detector = load_detector("hidden_state").fit(whole_view(40), seed=0)
    name = min(detector.arrays)
    folder = detector.save(tmp_path / "d")
    detector.arrays[name] = np.full_like(detector.arrays[name], value)
    with pytest.raises(InputError, match=f"hidden_state, field {name}: .*not finite"):
        detector.save(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    save_file(detector.arrays, folder / "arrays.safetensors")
    with pytest.raises(InputError, match=f"arrays.safetensors, field {name}: .*not finite"):
        load_detector("hidden_state").load(folder)


def without(array):
    return lambda arrays: arrays.pop(array)


def cut(array):
    return lambda arrays: arrays.update({array: arrays[array][:-1]})


@pytest.mark.parametrize(
    ("name", "alter"),
    [
        ("biasing", cut("weight")),
        ("biasing", without("mean")),
        ("instance_level", cut("w0")),
        ("hidden_state", lambda arrays: arrays.update(bias=arrays["bias"] + 1)),
        ("hidden_state", lambda arrays: arrays.update(more=arrays["bias"])),
    ],
)
def test_arrays_that_were_altered_are_one_line(name, alter, tmp_path):
    folder = load_detector(name).fit(whole_view(40), seed=0).save(tmp_path)
    load_saved(folder)
    arrays = load_file(folder / "arrays.safetensors")
    alter(arrays)
    save_file(arrays, folder / "arrays.safetensors")
    with pytest.raises(InputError, match="detector.json, field digest: .*not those that were"):
        load_saved(folder)


def test_parameters_that_json_orders_otherwise_are_read_back(tmp_path):
    detector = load_detector("constant")
    detector.params["seen"] = {9: 1, 10: (2.5, 1e-17)}
    assert load_saved(detector.save(tmp_path)).params["seen"] == {"9": 1, "10": [2.5, 1e-17]}


@pytest.mark.parametrize("damage", ["params", "name", "revision", "json", "arrays", "missing"])
def test_a_folder_of_something_else_is_refused(damage, tmp_path):
    folder = load_detector("hidden_state").fit(whole_view(40), seed=0).save(tmp_path / "d")
    described = json.loads((folder / "detector.json").read_text())
    if damage == "params":
        (folder / "detector.json").write_text(json.dumps(described | {"params": None}))
    elif damage in described:
        described[damage] = "other"
        (folder / "detector.json").write_text(json.dumps(described))
    elif damage == "json":
        (folder / "detector.json").write_text("{")
    elif damage == "arrays":
        (folder / "arrays.safetensors").write_bytes(b"junk")
    else:
        folder = tmp_path / "absent"
    with pytest.raises(InputError, match="detector.json"):
        load_detector("hidden_state").load(folder)


@pytest.mark.parametrize("name", [name for name in QUICK if name != "constant"])
def test_scoring_before_fit_is_refused(name):
    with pytest.raises(InputError, match=f"{name}: fit or load it first"):
        load_detector(name).score(whole_view(8))


@pytest.mark.parametrize(
    ("name", "param", "values"),
    [
        ("biasing", "C", ("abc", -1, 0, float("nan"), float("inf"), [1], True, None)),
        ("hidden_state", "C", ("abc", 0)),
        ("instance_level", "hidden", ("abc", 0, -3, 1.5, float("nan"), [1], True, 10**9)),
        ("counterfactual", "hidden", (0, "64")),
        ("counterfactual", "vary", ("dropout", None, 0)),
        ("attribution", "variant", ("attention", None, 1)),
        ("attribution", "C", (0,)),
        ("constant", "value", ("abc", -0.1, 1.1, float("nan"), [1], True)),
    ],
)
def test_a_bad_parameter_is_refused_by_name(name, param, values):
    for value in values:
        with pytest.raises(InputError, match=f"field {param}: bad parameter"):
            load_detector(name, **{param: value})


def test_two_saved_detectors_of_one_seed_are_refused(tmp_path):
    for place in ("seed-0", "seed-1"):
        load_detector("constant").save(tmp_path / place)
    with pytest.raises(InputError, match="two saved detectors of one seed .got 0"):
        load_all(tmp_path, "constant")


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("fitted", [1], "field fitted: not a saved detector"),
        ("training", [1], "field training: not a saved detector"),
        ("fitted", {"seed": "x"}, "field seed: bad value"),
        ("fitted", {"seed": -4}, "field seed: bad value"),
        ("fitted", {"seed": 1.7}, "field seed: bad value"),
    ],
)
def test_a_damaged_description_is_one_line(tmp_path, key, value, match):
    path = load_detector("constant").save(tmp_path) / "detector.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(InputError, match=match):
        load_all(tmp_path, "constant")
