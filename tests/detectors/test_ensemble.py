"""Ensembles: the mean of members that no other seed shares, by the usual path to a certificate."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faithshift_bench as fb
import faithshift_data as fd
from faithshift_bench.detectors import (
    Detector,
    load_detector,
    load_saved,
    registry,
    run_detector,
    save_scores,
)
from faithshift_bench.detectors.ensemble import Ensemble
from faithshift_bench.detectors.network import log_loss
from faithshift_bench.detectors.runs import apply_saved
from faithshift_data.errors import InputError
from tests.detectors.test_fitted import whole_view
from tests.synthetic import write_synthetic


class Spoken(Detector):
    """Says a number that its seed decides, and how sure it is."""

    name = "spoken"
    needs = ("states", "text")
    devices = ("cpu", "cuda")

    def __init__(self, gate="margin", step=0.1):
        super().__init__()
        self.params.update(gate=gate, step=step)

    def fit(self, view, *, seed, tune=None):
        self.params.update(seed=seed, tuned=tune is not None)
        return self

    def score(self, view):
        self.need_fitted("seed" in self.params)
        return np.full(len(view), self.params["step"] * (self.params["seed"] % 10))

    def confidence(self, view):
        return np.full(len(view), 0.5) if self.params["gate"] == "sure" else None


@pytest.fixture
def spoken(monkeypatch):
    monkeypatch.setitem(registry.BUILT_IN, "spoken", f"{__name__}:Spoken")


def test_its_score_is_the_mean_of_its_members_seeds(synthetic):
    data = fd.open(synthetic)
    single = run_detector("random", data, range(8))
    both = run_detector("ensemble", data, (0, 1), params={"of": "random", "members": 4})
    for seed, members in ((0, range(4)), (1, range(4, 8))):
        expected = np.mean([column(single, "score", member) for member in members], axis=0)
        assert column(both, "score", seed) == pytest.approx(expected, abs=1e-12)
        assert column(both, "trace_id", seed).tolist() == column(single, "trace_id", 0).tolist()


def column(table, name, seed):
    return np.array(table[name].to_pylist())[np.array(table["seed"]) == seed]


def test_threshold_and_certificate_come_from_the_mean(synthetic, tmp_path):
    """Its report is that of a file which holds the means and knows of no ensemble."""
    data = fd.open(synthetic)
    table = run_detector("ensemble", data, (0,), params={"of": "hidden_state+attribution"})
    parts = [run_detector(name, data, (0,)) for name in ("hidden_state", "attribution")]
    mean = np.mean([part["score"].to_numpy() for part in parts], axis=0)
    plain = pa.table({"trace_id": table["trace_id"], "seed": table["seed"], "score": mean})
    found = [
        json.loads(fb.evaluate_scores(path, data, n_resamples=0).to_json())
        for path in (
            save_scores(table, tmp_path / "ensemble.parquet"),
            save_scores(plain, tmp_path / "plain.parquet"),
        )
    ]
    for part in ("full", "certified", "per_seed"):
        assert found[0].get(part) == found[1].get(part)


@settings(max_examples=12)
@given(st.integers(1, 8), st.integers(0, 50), st.integers(0, 50))
def test_ensembles_of_different_seeds_share_no_member(members, one, other):
    view = whole_view(2, labels=[0, 1])
    registry.BUILT_IN["spoken"] = f"{__name__}:Spoken"
    try:
        seeds = [
            [
                member.params["seed"]
                for member in Ensemble(of="spoken+spoken", members=members)
                .fit(view, seed=seed)
                .members
            ]
            for seed in (one, other)
        ]
    finally:
        del registry.BUILT_IN["spoken"]
    for each, seed in zip(seeds, (one, other), strict=True):
        assert each == list(range(2 * members * seed, 2 * members * (seed + 1)))
    assert one == other or not set(seeds[0]) & set(seeds[1])


def test_agreement_is_one_less_twice_the_spread(spoken):
    view = whole_view(3, labels=[0, 1, 1])
    detector = load_detector("ensemble", of="spoken", members=2, gate="agree", step=0.2)
    detector.fit(view, seed=2)  # members 4 and 5: 0.8 and 1.0, a standard deviation of 0.1
    assert detector.score(view) == pytest.approx([0.9] * 3)
    assert detector.confidence(view) == pytest.approx([0.8] * 3)


@pytest.mark.parametrize(
    ("name", "params", "differ"),
    [
        ("seed4", {"of": "hidden_state"}, False),
        ("seed4", {"of": "hidden_state", "vary": "boot"}, True),
        ("ensemble", {"of": "hidden_state+hidden_state", "members": 1}, False),
        ("ensemble", {"of": "hidden_state+attribution", "members": 1}, True),
        ("ensemble", {"of": "counterfactual", "members": 1}, False),
        ("ensemble", {"of": "counterfactual+counterfactual", "members": 1}, True),
    ],
)
def test_members_that_cannot_differ_cannot_agree(name, params, differ):
    assert load_detector(name, **params).params["gate"] == "margin"
    if not differ:
        with pytest.raises(InputError, match="field gate: no two members can differ"):
            load_detector(name, **params, gate="agree")
        return
    train = whole_view(40, seed=1)
    found = load_detector(name, **params, gate="agree").fit(train, seed=0).confidence(train)
    assert found.min() < found.max() <= 1


def test_the_margin_and_a_gate_of_the_members(spoken):
    view = whole_view(2, labels=[0, 1])
    margin = load_detector("ensemble", of="spoken", members=2).fit(view, seed=0)
    assert margin.confidence(view) is None
    sure = load_detector("ensemble", of="spoken+attribution", members=2, gate="sure")
    assert sure.fit(view, seed=0).confidence(view).tolist() == [0.5, 0.5]


def test_needs_mark_devices_and_tune_are_its_members(spoken):
    found = load_detector("ensemble", of="spoken+biasing+attribution", members=2)
    assert found.needs == ("states", "text", "descriptors")
    assert found.reads_label_evidence and found.devices == ("cpu",)
    fair = load_detector("ensemble", of="spoken", members=1)
    assert not fair.reads_label_evidence and fair.devices == ("cpu", "cuda")
    view = whole_view(20)
    found.fit(view, seed=0, tune=view)
    assert [member.params.get("tuned") for member in found.members[:3]] == [True, True, None]


def test_parameters_reach_the_members_that_take_them():
    found = load_detector("ensemble", of="counterfactual+hidden_state", members=2, hidden=8, C=0.5)
    assert [member.params.get("hidden") for member in found.members] == [8, 8, None, None]
    assert [member.params.get("C") for member in found.members] == [None, None, 0.5, 0.5]
    assert load_detector("detectors4", C=0.5).members[2].params["C"] == 0.5


@pytest.mark.parametrize(
    ("name", "params", "match"),
    [
        ("ensemble", {"of": "hiden_state"}, "no such detector .*hidden_state"),
        ("ensemble", {"of": ""}, "no such detector"),
        ("ensemble", {"of": 3}, "no such detector"),
        ("ensemble", {"members": 0}, "field members: bad parameter"),
        ("ensemble", {"members": 65}, "field members: bad parameter"),
        ("ensemble", {"members": True}, "field members: bad parameter"),
        ("ensemble", {"hiden": 3}, "field hiden: no member takes it"),
        ("ensemble", {"profile": 3}, "field profile: learned, not chosen"),
        ("ensemble", {"of": "random", "gate": "support"}, "field gate: no member takes it"),
        ("ensemble", {"of": "random", "members": 1, "gate": "agree"}, "no two members can"),
        ("ensemble", {"hidden": 0}, "field hidden: bad parameter"),
        ("detectors4", {"of": "random"}, "field of: fixed in this ensemble"),
        ("detectors4", {"members": 2}, "field members: fixed in this ensemble"),
    ],
)
def test_a_bad_parameter_is_one_line(name, params, match):
    with pytest.raises(InputError, match=match) as caught:
        load_detector(name, **params)
    assert "\n" not in str(caught.value)


def test_a_member_that_cannot_be_fitted_is_one_line():
    detector = load_detector("ensemble", of="constant+hidden_state", members=2)
    with pytest.raises(
        InputError, match=r"member 2 \(hidden_state, seed 6\) .*nothing to"
    ) as caught:
        detector.fit(whole_view(20, labels=[1] * 20), seed=3)
    assert "\n" not in str(caught.value)


def test_the_order_of_detectors_does_not_matter():
    train, new = whole_view(60, seed=1), whole_view(20, seed=2)
    a, b = (
        load_detector("ensemble", of=of, members=2).fit(train, seed=1).score(new)
        for of in ("hidden_state+attribution", "attribution+hidden_state")
    )
    assert a == pytest.approx(b, abs=1e-12)


def test_the_mean_loses_no_more_than_its_members_on_average():
    train, new = whole_view(60, seed=1), whole_view(60, seed=2)
    detector = load_detector("ensemble", of="counterfactual", members=2).fit(train, seed=0)
    each = [log_loss(member.score(new), new.labels) for member in detector.members]
    assert log_loss(detector.score(new), new.labels) < np.mean(each)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    train = whole_view(60, seed=1)
    detector = load_detector("ensemble", of="counterfactual+biasing", members=2, hidden=8)
    detector.fit(train, seed=3)
    detector.fitted = {"data": "mini", "seed": 3}
    return detector, detector.save(tmp_path_factory.mktemp("saved") / "e")


def test_a_round_trip_keeps_every_member(saved):
    detector, folder = saved
    new = whole_view(20, seed=2)
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == [
        f"member-0{place}" for place in range(4)
    ]
    loaded = load_saved(folder)
    assert loaded.params == detector.params
    assert np.array_equal(loaded.score(new), detector.score(new))
    assert loaded.n_parameters == detector.n_parameters > 0
    assert loaded.training == json.loads(json.dumps(detector.training))
    alone = [load_saved(folder / f"member-0{place}") for place in range(4)]
    assert [each.fitted["seed"] for each in alone] == [6, 7, 6, 7]
    assert {each.fitted["data"] for each in alone} == {"mini"}
    mean = np.mean([each.score(new) for each in alone], axis=0)
    assert np.array_equal(mean, detector.score(new))


@pytest.mark.parametrize("damage", ["missing", "other", "members", "of", "unknown"])
def test_a_damaged_folder_is_one_line(saved, damage, tmp_path):
    folder = shutil.copytree(saved[1], tmp_path / "e")
    about = json.loads((folder / "detector.json").read_text())
    if damage == "missing":
        shutil.rmtree(folder / "member-03")
    elif damage == "other":
        shutil.copytree(folder / "member-02", folder / "member-00", dirs_exist_ok=True)
    else:
        about["params"] |= {"members": {"members": 3}, "of": {"of": "../x"}}.get(damage, {"z": 1})
        (folder / "detector.json").write_text(json.dumps(about))
    with pytest.raises(InputError) as caught:
        load_saved(folder)
    assert "\n" not in str(caught.value)


def test_a_saved_ensemble_scores_data_that_have_more_interventions(synthetic, tmp_path):
    def fewer(rows):
        rows["interventions"] = [r for r in rows["interventions"] if r["kind"] != "filler"]

    data, less = fd.open(synthetic), fd.open(write_synthetic(tmp_path / "less", mutate=fewer))
    params = {"of": "counterfactual+attribution", "members": 1, "hidden": 4}
    run_detector("ensemble", less, (2,), params=params, save=tmp_path / "saved")
    lines = []
    table = apply_saved("ensemble", data, tmp_path / "saved", progress=lines.append)
    assert "interventions that it was not fitted with, left out: filler" in lines
    about = json.loads(table.schema.metadata[b"faithshift"])
    assert about["params"] == {**params, "gate": "margin"}
    detector = load_saved(tmp_path / "saved/seed-2")
    assert detector.params["profile"] == detector.members[0].params["profile"]
    alone = [
        apply_saved(name, data, tmp_path / f"saved/seed-2/member-0{place}")["score"].to_numpy()
        for place, name in enumerate(("counterfactual", "attribution"))
    ]
    assert np.array_equal(table["score"].to_numpy(), np.mean(alone, axis=0))


def test_scoring_before_fit_is_refused():
    with pytest.raises(InputError, match="detectors4: fit or load it first"):
        load_detector("detectors4").score(whole_view(8))
