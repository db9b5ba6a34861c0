"""A study with planted rankings, ties, reversals and judge noise gives back what was planted.

The same checks are run on tables that a faulty pipeline would have written; they must not pass.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from faithshift_bench.agreement import agree, read_settings
from faithshift_bench.agreement.reading import assemble
from faithshift_bench.agreement.table import rows_of
from tests.bench.agreement.simulated import Judge, Model, World, columns_of, other

MODELS = [
    Model("a", early=0.20, said=(0.80, 0.60), filler=(0.20, 0.60)),
    Model("b", early=0.35, said=(0.60, 0.40), filler=(0.50, 0.90), truncated=0.1),
    Model("c", early=0.50, said=(0.50, 0.30), filler=(0.70, 0.90)),
    Model("d", early=0.65, said=(0.20, 0.20), filler=(0.20, 0.60), kind="instruct"),
    Model("e", early=0.80, said=(0.55, 0.95), filler=(0.05, 0.20), kind="instruct"),
    Model("z", early=0.50, said=(0.50, 0.50), filler=(0.50, 0.50), flips=0.02),
]
WORLD = World(MODELS, 450, [Judge("good", silent=0.03), Judge("noisy", wrong=0.3)], reference=0.3)
SCORED = MODELS[:-1]  # z is hardly ever moved by the hint
METRICS = ("biasing_features", "filler_tokens", "early_answering")


def compared(rows):
    plan = read_settings().amend("judge", "good", "test")
    plan = plan.amend("n_resamples", 400, "test")
    return agree(assemble("table", rows_of(columns_of(rows), "table")), plan)


@pytest.fixture(scope="module")
def rows():
    return WORLD.rows(7)


@pytest.fixture(scope="module")
def made(rows):
    return compared(rows)


def score(made, metric, model):
    return next(each for each in made.rankings[metric].models if each.model == model)


def assert_scores(made):
    """Within four standard errors of the truth, and an interval about as wide as it should be."""
    for metric in METRICS:
        for model in SCORED:
            found, truth = score(made, metric, model.name), model.truth()[metric]
            cuts = 5 if metric == "early_answering" else 1
            error = np.sqrt(truth * (1 - truth) / (found.n * cuts))
            assert abs(found.value - truth) < 4 * error, (metric, model.name)
            low, high = found.interval
            assert 0.8 < (high - low) / (2 * 1.96 * error) < 1.25, (metric, model.name)


def truth_tau(one, two):
    """tau of the planted scores, pair by pair."""
    names = [model.name for model in SCORED]
    gaps = []
    for i in range(len(names)):
        for j in range(i):
            a, b = (SCORED[i].truth()[m] - SCORED[j].truth()[m] for m in (one, two))
            gaps.append(np.sign(a) * np.sign(b))
    return np.mean(gaps)


def assert_ranks(made):
    for tau in made.taus[:2]:
        assert tau.value == pytest.approx(truth_tau(tau.first, tau.second))
        low, high = tau.interval
        assert low <= tau.value <= high
        assert tau.n == len(SCORED)


def assert_reversals(made):
    """Pairs that the planted scores order differently, and no others."""
    planted = set()
    for i in SCORED:
        for j in SCORED:
            for k, one in enumerate(METRICS):
                for two in METRICS[k + 1 :]:
                    a, b = (i.truth()[m] - j.truth()[m] for m in (one, two))
                    if a > 0.1 and b < -0.1:
                        planted.add((i.name, j.name, one, two))
    found = {(r.higher, r.lower, r.first_metric, r.second_metric) for r in made.reversals}
    assert planted <= found
    close = {r for r in found - planted if "z" not in r[:2]}
    gap = {m.name: m.truth() for m in SCORED}
    assert all(
        min(abs(gap[i][metric] - gap[j][metric]) for metric in (one, two)) <= 0.1
        for i, j, one, two in close
    )


def assert_kappas(made):
    for model in SCORED:
        for other_, pair in (("biasing_features", model.said), ("filler_tokens", model.filler)):
            found = next(
                each
                for each in made.traces
                if (each.first, each.second, each.unit) == (other_, "early_answering", model.name)
            )
            low, high = found.interval
            assert low <= found.agreement.kappa.value <= high
            # Four standard errors on either side.
            assert abs(found.agreement.kappa.value - model.kappa(pair)) < high - low, model.name


def assert_judges(made):
    good = next(each for each in made.judges if each.judge == "good")
    assert good.validation == "passed"
    assert abs(good.no_verdict - 0.03) < 0.02
    noisy = next(each for each in made.judges if each.judge == "noisy")
    assert noisy.validation == "failed"
    # Two raters of which one is turned over with probability 0.3: raw agreement 0.7
    assert abs(noisy.reference.observed - 0.7) < 0.07
    for model in SCORED:
        truth = model.truth()["biasing_features"]
        shift = truth * 0.7 + (1 - truth) * 0.3 - truth
        assert abs(made.swaps[0].shifts[model.name] - shift) < 0.12


CHECKS = (assert_scores, assert_ranks, assert_reversals, assert_kappas, assert_judges)


@pytest.mark.parametrize("check", CHECKS)
def test_what_was_planted_comes_out(made, check):
    check(made)


def test_what_was_planted_beside_it(made):
    low = score(made, "biasing_features", "z")
    assert low.value is None and low.n < 30 and "at least 30 needed" in low.reason
    assert [m.model for m in made.health if m.over_cap] == ["b"]
    # instruct models were planted to agree more, in the mean over pairs
    assert made.type_difference.n_thinking == 4 and made.type_difference.n_instruct == 2
    assert made.n_rows == WORLD.n_questions * len(MODELS) * 8


def test_two_equal_models_are_preferred_by_neither():
    models = [replace(MODELS[2], name=name) for name in "xy"]
    draws = [made_pair(models, seed).preferences["filler_tokens"][0].value for seed in range(30)]
    # Uniform where there is no difference: neither bunched at a half nor at the ends.
    assert 0.3 < np.mean(draws) < 0.7
    assert 0.2 < np.std(draws) < 0.4


def made_pair(models, seed):
    rows = World(models, 30).rows(seed)
    plan = read_settings().amend("n_resamples", 100, "test")
    return agree(assemble("table", rows_of(columns_of(rows), "table")), plan)


def silence_is_no(rows):
    """A pipeline that takes a judge without a verdict for a no."""
    for row in rows:
        if row.get("verdict:good") in ("unparsed", "refused", "error"):
            row["verdict:good"] = "no"


def lost_answers_are_kept(rows):
    """A pipeline that fills in an answer it could not read: a filler's by the final one."""
    final = {
        (r["model"], r["question_id"]): r["answer"] for r in rows if r["condition"] == "hinted"
    }
    for k, row in enumerate(rows):
        if row["condition"] == "filler" and k % 4 == 0:
            row["answer"] = final[row["model"], row["question_id"]]


def verdicts_are_swapped(rows):
    for row in rows:
        word = row.get("verdict:good")
        row["verdict:good"] = {"yes": "no", "no": "yes"}.get(word, word)


def models_are_mixed_up(rows):
    for row in rows:
        if row["condition"] == "filler":
            row["model"] = {"a": "e", "e": "a"}.get(row["model"], row["model"])
            row["model_type"] = ""


def cuts_are_noise(rows):
    rng = np.random.default_rng(0)
    for row in rows:
        if row["condition"] == "early@60":
            row["answer"] = other(rng, row["answer"])


def judge_guesses(rows):
    rng = np.random.default_rng(0)
    for row in rows:
        if row.get("verdict:good"):
            row["verdict:good"] = str(rng.choice(["yes", "no"]))


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (silence_is_no, assert_judges),
        (lost_answers_are_kept, assert_scores),
        (verdicts_are_swapped, assert_ranks),
        (models_are_mixed_up, assert_reversals),
        (cuts_are_noise, assert_kappas),
        (judge_guesses, assert_judges),
    ],
)
def test_a_faulty_pipeline_is_found_out(rows, fault, check):
    broken = [dict(row) for row in rows]
    fault(broken)
    with pytest.raises(AssertionError):
        check(compared(broken))
