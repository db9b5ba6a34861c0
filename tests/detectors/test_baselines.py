"""counterfactual, attribution and edit_distance: hand-worked features, oracles, properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from faithshift_bench.detectors import load_detector, load_saved
from faithshift_bench.detectors.controls import edit_distance
from faithshift_data.errors import InputError
from faithshift_data.measure.descriptors import CHANNELS
from tests.detectors.views import make_view, profile, text_row

KEPT = [k for k, name in enumerate(CHANNELS) if name.split(".")[::2] == ["stability", "mean"]]


def profile_view(changed, labels=None):
    names = tuple(f"truncate@{k / 10}" for k in range(len(changed[0])))
    return make_view(labels or [0] * len(changed), interventions=profile(names, changed))


def psi_view(values, steps, labels=None):
    """Stability of each trace in all bands, with so many steps; other channels at random."""
    psi = np.random.default_rng(0).normal(size=(len(values), 16, 32)).astype(np.float32)
    psi[:, :, KEPT] = np.asarray(values, np.float32)[:, None, None]
    mask = np.arange(16) < np.asarray(steps)[:, None]
    return make_view(labels, descriptors=(psi * mask[:, :, None], mask))


def test_a_profile_is_what_moved_the_answer_and_what_is_unknown():
    view = profile_view([[1, 0, np.nan], [0.25, np.nan, 1]])
    assert load_detector("counterfactual").features(view).tolist() == [
        [1, 0, 0.5, 0, 0, 1],
        [0.25, 0.5, 1, 0, 1, 0],
    ]


def test_unknown_is_a_value_of_its_own():
    """Half of the seeds moved the answer, or nothing is known: the same 0.5, told apart."""
    labels = [0, 1] * 40
    train = profile_view([[0.5] if y else [np.nan] for y in labels], labels)
    half, unknown = load_detector("counterfactual").fit(train, seed=0).score(train)[[1, 0]]
    assert half > 0.8 and unknown < 0.2


def test_a_profile_without_interventions_is_refused_in_one_line():
    empty = make_view([0, 1], interventions=profile((), np.zeros((2, 0))))
    with pytest.raises(InputError, match="no interventions; `faithshift measure` adds them"):
        load_detector("counterfactual").fit(empty, seed=0)


def test_descriptors_of_other_channels_are_refused_when_scoring():
    view = psi_view([0.1, 0.9] * 10, [3] * 20, [0, 1] * 10)
    view.interventions = profile(("filler",), np.zeros((20, 1)))
    detectors = [
        load_detector(name).fit(view, seed=0) for name in ("instance_level", "attribution")
    ]
    psi, mask = view.descriptors
    view.descriptors = psi[:, :, :30], mask
    for detector, message in zip(detectors, ("other descriptors", "other channels"), strict=True):
        with pytest.raises(InputError, match=message):
            detector.score(view)


def test_stability_is_the_mean_over_steps_and_bands():
    view = psi_view([0.25, 0.5, 0.75], [1, 16, 0])
    psi, mask = view.descriptors
    psi[0, 0, KEPT] = 0.0, 0.25, 0.5, 1.0
    assert load_detector("attribution").features(view).tolist() == [[0.4375], [0.5], [0.0]]
    psi[~mask] = np.nan
    assert load_detector("attribution").features(view).tolist() == [[0.4375], [0.5], [0.0]]


def test_attribution_is_a_threshold_on_one_number():
    rng = np.random.default_rng(1)
    values, steps = rng.uniform(size=60), rng.integers(1, 17, 60)
    labels = (values + rng.normal(scale=0.3, size=60) > 0.5).astype(int)
    train = psi_view(values, steps, labels.tolist())
    detector = load_detector("attribution").fit(train, seed=0)
    x = (detector.features(train) - values.mean()) / values.std()
    oracle = LogisticRegression(C=1.0, max_iter=2000).fit(x, labels)
    new = psi_view(np.linspace(0, 1, 50), [5] * 50)
    scores = detector.score(new)
    assert scores == pytest.approx(
        oracle.predict_proba((detector.features(new) - values.mean()) / values.std())[:, 1],
        abs=1e-4,
    )
    assert (np.diff(scores) > 0).all() and scores[0] < 0.5 < scores[-1]


def test_attribution_reads_no_other_channel():
    view = psi_view([0.2, 0.8] * 10, [4] * 20, [0, 1] * 10)
    detector = load_detector("attribution").fit(view, seed=0)
    before = detector.score(view)
    others = [k for k in range(32) if k not in KEPT]
    view.descriptors[0][:, :, others] = 7.0
    assert np.array_equal(detector.score(view), before)


def test_rollout_is_another_quantity_and_has_to_be_stored(tmp_path):
    view = psi_view([0.5] * 20, [4] * 20, [0, 1] * 10)
    view.rollout = None
    detector = load_detector("attribution", variant="rollout")
    with pytest.raises(InputError, match=r"no attention rollout .*`faithshift measure --rollout`"):
        detector.fit(view, seed=0)
    view.rollout = np.tile(np.float32([[0.7, 0, 0.1, 0.2], [0.1, 0, 0.1, 0.8]]), (10, 1))
    detector.fit(view, seed=0)
    assert detector.features(view) == pytest.approx(view.rollout)
    unfaithful, faithful = detector.score(view)[:2]
    assert unfaithful < 0.2 < 0.8 < faithful
    loaded = load_saved(detector.save(tmp_path / "d"))
    assert np.array_equal(loaded.score(view), detector.score(view))


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [
        ("", "", 0),
        ("two pens", "", 1),
        ("How many pens?", "how MANY pens", 0),
        ("a b c d", "a c d", 1 / 4),
        ("a b c d", "x b y d", 2 / 4),
        ("a b", "b a", 2 / 2),
        ("b c", "a b c d", 2 / 4),
        ("x_1 = 2.5", "x 1 2 5", 0),
    ],
)
def test_edit_distance_by_hand(left, right, distance):
    assert edit_distance(left, right) == distance == edit_distance(right, left)


@given(st.lists(st.sampled_from("abc"), max_size=9), st.lists(st.sampled_from("abc"), max_size=9))
def test_edit_distance_is_levenshteins(left, right):
    rapidfuzz = pytest.importorskip("rapidfuzz.distance")
    expected = rapidfuzz.Levenshtein.normalized_distance(left, right)
    assert edit_distance(" ".join(left), " ".join(right)) == pytest.approx(expected)


def test_edit_distance_reads_reasoning_and_question_alone():
    view = make_view([0, 1] * 4, text=[text_row(), text_row(reasoning="How many pens?")] * 4)
    detector = load_detector("edit_distance").fit(view, seed=0)
    far, near = detector.score(view)[:2]
    assert far < 0.5 < near
    other = text_row(prompt="A professor says 9.", answer="9", model_id="z", steps=[])
    assert detector.score(make_view(text=[other]))[0] == far
    missing = make_view(text=[text_row(reasoning=None)])
    assert detector.features(missing).tolist() == [[1.0]]
