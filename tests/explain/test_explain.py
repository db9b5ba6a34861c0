"""`faithshift explain`: parts that add up to the score, for each detector that has them."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import faithshift_data as fd
from faithshift_bench.detectors import load_detector, run_detector
from faithshift_bench.detectors.linear import sigmoid, standardise
from faithshift_bench.explain.explanation import explain
from faithshift_bench.explain.fitted import fitted_detector
from faithshift_bench.explain.inputs import Feature
from faithshift_bench.explain.text import render
from faithshift_data.errors import InputError
from tests.synthetic import write_synthetic

LINEAR = ("length_only", "biasing", "hidden_state", "attribution")
NETWORKS = ("counterfactual", "instance_level")


@pytest.fixture(scope="module")
def data(synthetic):
    return fd.open(synthetic)


@pytest.fixture(scope="module")
def traces(data):
    return data.view("test").trace_ids[:2].tolist()


@pytest.fixture(scope="module")
def detectors(data):
    """Fitted detectors by name, each once."""
    return {name: fitted_detector(name, data) for name in (*LINEAR, *NETWORKS)}


@pytest.fixture(scope="module")
def kept(detectors, tmp_path_factory):
    """A folder of one saved detector."""
    detectors["instance_level"].fitted = {"seed": 2}
    folder = tmp_path_factory.mktemp("kept")
    detectors["instance_level"].save(folder / "seed-2")
    return folder


@pytest.mark.parametrize("name", [*LINEAR, *NETWORKS])
def test_the_parts_add_up_to_the_score(data, traces, detectors, name):
    for trace in traces:
        found = explain(detectors[name], data, trace)
        total = found.baseline + sum(part.value for part in found.parts)
        assert total == pytest.approx(found.log_odds, abs=found.tolerance)
        assert sigmoid(found.log_odds) == pytest.approx(found.score, abs=1e-6)
        assert abs(found.error) <= found.tolerance
        for keys in (("family",), ("band",), ("step",), ("family", "channel", "band", "step")):
            assert sum(found.by(*keys).values()) == pytest.approx(total - found.baseline)


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_detector_gives_weight_times_standardised_feature(data, traces, detectors, name):
    detector = detectors[name]
    view = data.view("test", needs=detector.needs, only=traces[:1])
    expected = detector.arrays["weight"] * standardise(detector.features(view), detector.arrays)[0]
    found = explain(detector, data, traces[0])
    assert [part.value for part in found.parts] == pytest.approx(expected.tolist(), abs=1e-12)
    assert found.error < 1e-9


def test_sift_is_taken_apart_step_by_step(data, traces):
    detector = fitted_detector("sift_small", data, params={"epochs": 1})
    found = explain(detector, data, traces[0])
    view = data.view("test", needs=("descriptors",), only=traces[:1])
    steps = int(view.descriptors[1].sum())
    assert {part.feature.step for part in found.parts} - {None} == set(range(steps))
    assert found.score == pytest.approx(detector.score(view)[0])
    given = detector.differentiable(view)
    value, gradient = given.value_and_gradient(given.inputs[None])
    for k in (0, len(given.inputs) // 2, len(given.inputs) - 1):
        there, back = given.inputs.copy(), given.inputs.copy()
        there[k] += 1e-5
        back[k] -= 1e-5
        ends = given.value_and_gradient(np.stack([there, back]))[0]
        assert gradient[0, k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-5)
    assert f"\n{steps}: " in render(found)


@pytest.mark.parametrize("name", ["constant", "random", "label_prior"])
def test_a_detector_that_cannot_be_explained_says_so(data, traces, name):
    with pytest.raises(InputError, match=f"{name}: cannot be explained") as caught:
        explain(fitted_detector(name, data), data, traces[0])
    assert "\n" not in str(caught.value)


def test_a_function_that_is_not_the_score_is_refused(data, traces, detectors, monkeypatch):
    detector = detectors["length_only"]
    monkeypatch.setattr(detector, "score", lambda view: np.array([0.123]))
    with pytest.raises(InputError, match="its function gives another score .expected 0.1230"):
        explain(detector, data, traces[0])


def test_steps_that_were_merged_show_their_texts():
    from faithshift_bench.explain.explanation import _texts

    def of(count):
        return [Feature("lens", "mean", 1, step) for step in range(count)]

    assert _texts(["a", "b"], of(2)) == ("a", "b")
    assert _texts([str(k % 10) for k in range(18)], of(16))[:3] == ("01", "23", "4")
    assert _texts(["a", "b", "c"], of(2)) == ()
    assert _texts(["a", "b"], [Feature("state", "unit 0")]) == ()


def test_the_command_writes_numbers_and_a_picture(run, kept, synthetic, traces, tmp_path):
    out = tmp_path / "why"
    argv = ("explain", "instance_level", "--data", synthetic, "--trace", traces[0])
    code, text, err = run(*argv, "-o", out, "--load", kept)
    assert code == 0, err
    assert "layer band" in text and "largest 10 of" in text
    saved = json.loads((out / "explanation.json").read_text())
    assert set(saved["parts"][0]) == {"family", "channel", "band", "step", "value"}
    picture = (out / "explanation.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 10_000
    width, height = (int.from_bytes(picture[at : at + 4]) for at in (16, 20))
    assert 600 < width < 4000 and 300 < height < 2000


def test_a_saved_detector_is_explained_as_it_is(run, kept, detectors, data, synthetic, traces):
    argv = ("explain", "instance_level", "--data", synthetic, "--trace", traces[0], "--load", kept)
    code, text, err = run(*argv, "--json")
    assert code == 0, err
    detector = detectors["instance_level"]
    view = data.view("test", needs=detector.needs, only=traces[:1])
    found = json.loads(text)
    assert (found["score"], found["seed"]) == (pytest.approx(detector.score(view)[0]), 2)
    code, _, err = run(*argv, "--param", "hidden=3")
    assert code == 1 and "a saved detector is as it was fitted" in err


def test_an_unknown_trace_is_one_line(run, synthetic):
    code, out, err = run("explain", "length_only", "--data", synthetic, "--trace", "t-0")
    assert (code, out) == (1, "")
    # Nothing was fitted before.
    assert err.startswith("faithshift: synthetic, field trace: no such trace")


def test_traces_without_labels_are_explained_by_what_others_taught(run, synthetic, tmp_path):
    trace = {"question": "How many?", "prompt": "How many?", "answer": "4", "reasoning": "2 + 2."}
    folder = fd.write(tmp_path / "own", [trace])
    own = fd.open(folder).table("traces")["trace_id"][0].as_py()
    argv = ("explain", "length_only", "--data", folder, "--trace", own)
    code, out, _ = run(*argv, "--fit-on", synthetic, "--json")
    assert code == 0 and {part["channel"] for part in json.loads(out)["parts"]} == {
        "characters",
        "steps",
    }
    code, _, err = run(*argv, "--fit-on", synthetic, "--load", tmp_path)
    assert code == 1 and "expected nothing beside --load" in err


def test_interventions_that_only_the_other_dataset_has_are_left_out_as_by_detect(tmp_path, data):
    def without(rows):
        rows["interventions"] = [r for r in rows["interventions"] if r["kind"] != "scramble"]

    other = fd.open(write_synthetic(tmp_path / "other", mutate=without))
    said = []
    detector = fitted_detector("counterfactual", data, explained=other, progress=said.append)
    assert "not in both, and left out: scramble" in said[0]
    found = explain(detector, other, other.view("test").trace_ids[0])
    table = run_detector("counterfactual", other, (0,), fit_on=data)
    scores = dict(zip(*(table[name].to_pylist() for name in ("trace_id", "score")), strict=True))
    assert found.score == scores[found.trace_id]


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_cannot_be_trained_with_is_one_line(data, seed):
    with pytest.raises(InputError, match="field seed: bad parameter"):
        fitted_detector("counterfactual", data, seed=seed)


def test_without_matplotlib_there_is_a_line_and_nothing_else(
    run, synthetic, traces, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    argv = ("explain", "length_only", "--data", synthetic, "--trace", traces[0])
    code, _, err = run(*argv, "-o", tmp_path / "why")
    assert code == 1 and "faithshift[report]" in err
    assert not (tmp_path / "why").exists()


def test_only_limits_a_view(data, traces):
    view = data.view("test", needs=("text", "interventions"), only=traces)
    whole = data.view("test", needs=("text", "interventions"))
    assert view.trace_ids.tolist() == traces
    assert view.interventions.names == whole.interventions.names
    assert np.array_equal(
        view.interventions.changed, whole.interventions.changed[:2], equal_nan=True
    )
    assert len(data.view("train", only=traces)) == 0
    assert load_detector("length_only").fit(data.view("train"), seed=0).score(view).shape == (2,)
