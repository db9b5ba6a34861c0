"""Label rules and metrics against the mechanism; what a benchmark says that believes them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import faithshift_bench as fb
import faithshift_data as fd
from builders.__main__ import main
from builders.organisms.probing import probe_table
from builders.organisms.truth import believed, trusts
from faithshift_bench.detectors.registry import BASELINES, CONTROLS
from faithshift_bench.evaluation import frame_of
from faithshift_bench.frame import Frame
from faithshift_bench.studies.belief import moves
from faithshift_bench.studies.truth import confusions

RULES = ("construct", "construct+causal", "biasing_features", "filler_tokens", "early_answering",
         "adding_mistakes")  # fmt: skip


@pytest.fixture(scope="module")
def mechanism(data: fd.FaithShift) -> dict[str, int]:
    rows = data.table("traces").select(["trace_id", "label"]).to_pylist()
    return {row["trace_id"]: row["label"] for row in rows}


@pytest.fixture(scope="module")
def by_rule(data: fd.FaithShift) -> dict[str, dict[str, int]]:
    return believed(data)


def test_what_each_rule_can_know(
    data: fd.FaithShift, mechanism: dict[str, int], by_rule: dict[str, dict[str, int]]
) -> None:
    """The stand-ins do what they are there for, so that each figure follows from the rule."""
    assert tuple(by_rule) == RULES
    found = {each.rule: each for each in confusions(data, by_rule, n_resamples=50)}
    conditions = Counter(row["condition"] for row in data.table("traces").to_pylist())
    base, cut = conditions["base"] // 2, conditions["causal_truncation"] // 2
    rest = len(mechanism) // 2 - base - cut
    # No hint, nothing to hide: all are faithful. A silent hint that turned the answer: none is.
    same = {"faithful": base, "unfaithful": cut, "unknown": rest}
    assert found["construct"].counts == {"faithful": same, "unfaithful": same}
    assert found["construct"].right.value == 0.5
    # A probe that moves the answer is evidence; one that does not is none.
    causal = found["construct+causal"].counts
    assert causal["unfaithful"] == {"faithful": 0, "unfaithful": cut, "unknown": base + rest}
    assert causal["faithful"]["unfaithful"] == cut
    assert 0.8 * base <= causal["faithful"]["faithful"] <= base
    # The hint turned the answer of cut texts alone, and none of them says so.
    assert found["biasing_features"].counts == {
        name: {"faithful": 0, "unfaithful": cut, "unknown": base + rest}
        for name in ("faithful", "unfaithful")
    }
    for rule in ("filler_tokens", "early_answering", "adding_mistakes"):
        assert found[rule].right_if_unfaithful.value == 1, rule
    assert found["filler_tokens"].decided.value == 1
    assert 0.7 < found["filler_tokens"].right_if_faithful.value < 1
    assert found["adding_mistakes"].right.value == 1
    assert found["adding_mistakes"].counts["faithful"]["unknown"] > 0


def test_rules_on_models_that_were_trained() -> None:
    """Twins share what `construct` and `biasing_features` read: they are right by half."""
    data = fd.open("organisms")
    found = {each.rule: each for each in confusions(data, believed(data), n_resamples=100)}
    for rule in ("construct", "biasing_features"):
        assert found[rule].right.value == 0.5
    assert found["construct"].right_if_faithful.n_traces > 100
    for rule in RULES[3:]:
        assert found[rule].right_if_unfaithful.value > 0.99, rule
    assert found["adding_mistakes"].right.value > 0.99
    # A changed answer is a proof, an unchanged one is not: some faithful answers stay by chance.
    for rule in ("filler_tokens", "early_answering"):
        assert 0.6 < found[rule].right_if_faithful.value < 0.95, rule
    assert found["construct+causal"].counts["unfaithful"]["faithful"] == 0
    # Who believes that silence about the hint is unfaithful certifies a constant, wrong by half.
    rule = {"biasing_features": believed(data)["biasing_features"]}
    constant = fb.run_detector("constant", data, (0,))
    known, taken = moves(data, {"constant": constant}, rule, n_resamples=20)
    assert not known.certified["certified"]
    assert taken.certified["certified"] and taken.certified["coverage"] == 1
    assert (taken.believed_risk.value, taken.true_risk.value) == (0, 0.5)


def test_published_probes_and_text_baselines_follow_from_the_data() -> None:
    data = fd.open("organisms")
    published = data.manifest.audit["probes"]
    again = probe_table(data)
    assert [(row["features"], row["reach"]) for row in published] == [
        (row["features"], row["reach"]) for row in again
    ]
    for row, other in zip(published, again, strict=True):
        assert row["low"] <= row["auroc"] <= row["high"] and row["n_items"] >= 30
        for name in ("auroc", "low", "high"):
            assert row[name] == pytest.approx(other[name], abs=0.01), row
    low = {(row["features"], row["reach"]): row["low"] for row in published}
    assert low["state", "same model"] > 0.5 and low["psi", "same model"] > 0.5
    for row in data.manifest.audit["text"].values():
        assert row["low"] <= 0.5 <= row["high"]


def test_no_rule_sees_the_mechanism(data: fd.FaithShift, by_rule: dict[str, Any]) -> None:
    """Twins get one label of what is written: only interventions tell them apart."""
    twins: dict[Any, list[str]] = {}
    for row in data.table("traces").to_pylist():
        twins.setdefault((row["item_id"], row["condition"]), []).append(row["trace_id"])
    for rule in ("construct", "biasing_features"):
        assert all(by_rule[rule][a] == by_rule[rule][b] for a, b in twins.values())
    rows = data.table("traces").to_pylist()
    assert {row["condition"] for row in rows if trusts(row)} == {"cue_verbalization"}


def ends(frame: Frame) -> dict[tuple[str, str], int]:
    return {
        (str(frame.trace_id[a]), str(frame.trace_id[b])): int(d)
        for pairs in (frame.preserving, frame.altering)
        for a, b, d in zip(pairs.anchor, pairs.partner, pairs.direction, strict=True)
    }


def test_believed_labels_decide_kind_and_direction(
    data: fd.FaithShift, mechanism: dict[str, int]
) -> None:
    own = frame_of(data)[0]
    same = frame_of(data, mechanism)[0]
    assert ends(same) == ends(own)
    assert np.array_equal(same.label, own.label)
    anchor = next(a for a, _ in ends(own))
    turned = frame_of(data, mechanism | {anchor: 1 - mechanism[anchor]})[0]
    change = 1 - 2 * mechanism[anchor]
    for (a, b), before in ends(own).items():
        moved = change * ((b == anchor) - (a == anchor))
        assert ends(turned)[a, b] == before + moved
    assert set(ends(turned)) == set(ends(own))
    unknown = frame_of(data, mechanism | {anchor: -1})[0]
    lost = {pair for pair, d in ends(own).items() if anchor in pair and d}
    assert lost and set(ends(own)) - set(ends(unknown)) == lost


@pytest.mark.parametrize("epsilon", [0.05, 0.2])
def test_flipped_labels_move_ivr_and_as_as_they_must(
    data: fd.FaithShift, mechanism: dict[str, int], epsilon: float
) -> None:
    """A verdict that is the mechanism itself, judged by labels flipped at a known rate.

    Of P preserving and A altering pairs, a share q = 2 epsilon (1 - epsilon) changes sides.
    """
    own = ends(frame_of(data)[0])
    n_altering = sum(direction != 0 for direction in own.values())
    n_preserving = len(own) - n_altering
    rng = np.random.default_rng(0)
    counts = np.zeros(4)
    for _ in range(30):
        turned = rng.random(len(mechanism)) < epsilon
        flipped = {
            trace: label ^ int(turn)
            for (trace, label), turn in zip(mechanism.items(), turned, strict=True)
        }
        frame = frame_of(data, flipped)[0]
        verdict = np.array([mechanism[trace] for trace in frame.trace_id.tolist()])
        for at, pairs in ((0, frame.preserving), (2, frame.altering)):
            change = verdict[pairs.partner] - verdict[pairs.anchor]
            right = change == pairs.direction
            counts[at : at + 2] += (~right if at == 0 else right).sum(), len(pairs)
    q = 2 * epsilon * (1 - epsilon)
    believed_preserving = n_preserving * (1 - q) + n_altering * q
    believed_altering = n_altering * (1 - q) + n_preserving * q
    assert counts[0] / counts[1] == pytest.approx(n_altering * q / believed_preserving, abs=0.015)
    assert counts[2] / counts[3] == pytest.approx(
        n_altering * (1 - epsilon) ** 2 / believed_altering, abs=0.03
    )


def test_figures_by_the_mechanism_are_those_of_a_report(
    data: fd.FaithShift, by_rule: dict[str, dict[str, int]], mechanism: dict[str, int]
) -> None:
    scores = fb.run_detector("instance_level", data, (0,))
    found = moves(data, {"network": scores}, by_rule, n_resamples=100)
    assert [each.labels for each in found] == ["mechanism", *RULES]
    report = fb.evaluate_scores(scores, data, n_resamples=100)
    for name in ("ivr", "as", "hm", "coverage", "n_preserving", "n_altering"):
        assert found[0].full[name] == report.full[name]
        assert found[0].certified[name] == report.certified[name]
    # Altering pairs take two different labels, and `construct` never gives them to one item's pair.
    construct = found[1]
    assert construct.full["as"] is None and construct.full["n_altering"] == 0


def test_a_certificate_holds_of_what_is_believed_not_of_what_is_true(
    data: fd.FaithShift, mechanism: dict[str, int]
) -> None:
    """Whoever believes the opposite certifies a detector that is always wrong."""
    opposite = {"opposite": {trace: 1 - label for trace, label in mechanism.items()}}
    scores = {
        "trace_id": list(mechanism),
        "score": [0.95 - 0.9 * label for label in mechanism.values()],
    }
    by, other = moves(data, {"wrong": scores}, opposite, alpha=0.6, delta=0.2, n_resamples=100)
    assert not by.certified["certified"] and by.true_risk.value is None
    assert other.certified["certified"] and other.certified["mfs"] == 1
    assert (other.believed_risk.value, other.true_risk.value) == (0, 1)
    frame = frame_of(data)[0]
    test = int((frame.fold == "test").sum())
    assert other.true_risk.n_traces == test


def test_the_command_prints_both_tables(
    data: fd.FaithShift, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["truth", str(data.path), "--seeds", "1", "--resamples", "10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line.split()[0] for line in lines if line]
    assert heads[:8] == ["tiny", "rule", *RULES]
    assert heads[8:10] == ["Detectors", "detector"]
    assert Counter(heads[10:]) == dict.fromkeys((*CONTROLS, *BASELINES), 1 + len(RULES))
    assert main(["truth", "mini"]) == 1
    assert "the truth is not known" in capsys.readouterr().err
    assert main(["truth", "mini", "--seeds", "0"]) == 1
    assert capsys.readouterr().err == "error: --seeds: expected 1 or more, got 0\n"
