"""Do certificates hold? Simulated where the true risk is exactly alpha.

``FAITHSHIFT_LONG=1`` runs 2,000 repeats; ``python -m tests.long.trials 2000`` prints the tables.
Each of the 108 certificates and populations raises a false alarm with probability under 1e-4; of 30
repeats, one that is wrong in every third is seen with probability .8.
"""

import ast
import os
from pathlib import Path

import numpy as np
import pytest

from tests.long import populations
from tests.long.populations import ALPHA, LEVELS, NULLS, informative
from tests.long.trials import (
    CALIB_SIZES,
    INVALID,
    OPTIONS,
    QUICK,
    VALID,
    certified,
    decided,
    fails,
    power,
    wrong_at_any_look,
    wrong_certificates,
    wrong_when_peeking,
)

FULL = os.environ.get("FAITHSHIFT_LONG") == "1"
REPEATS = 2000 if FULL else 30
BY_NAME = {p.name: p for p in NULLS}
# A report costs five times its decision, and the two are compared below.
HOLD = VALID if FULL else {name: QUICK[name] for name in VALID}
DEFAULT, AGRAPA = "clustered/betting/fixed_sequence", "clustered/betting-agrapa/fixed_sequence"
PUBLISHED = "one_per_item/exact/bonferroni"


def test_the_simulator_knows_nothing_of_the_package():
    tree = ast.parse(Path(populations.__file__).read_text("utf-8"))
    found = {
        name
        for node in ast.walk(tree)
        for name in (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert found == {"dataclasses", "numpy", "scipy"}


@pytest.mark.parametrize("population", NULLS, ids=lambda p: p.name)
def test_populations_have_the_risk_they_state(population):
    conf, errors, groups = population.draw(np.random.default_rng(1), 20_000)
    lowest = np.nanmin([population.risk(t) for t in LEVELS if population.is_wrong(t)])
    assert lowest == pytest.approx(ALPHA)
    for t in (0, 0.3, 0.5):
        kept = conf >= t - 1e-12
        sums = [
            np.bincount(np.unique(groups, return_inverse=True)[1], x) for x in (errors * kept, kept)
        ]
        risk = sums[0].sum() / sums[1].sum()
        spread = np.std(sums[0] - risk * sums[1]) / sums[1].mean() / np.sqrt(len(sums[0]))
        assert abs(risk - population.risk(t)) < 4 * spread
    # Errors of two rows of an item depend, or do not.
    pair = errors.reshape(-1, 20)[:, :2].T
    expected = (0.3, 0.7) if population.dependence else (-0.03, 0.03)
    assert expected[0] < np.corrcoef(pair)[0, 1] < expected[1]


@pytest.mark.parametrize("population", NULLS, ids=lambda p: p.name)
def test_certificates_that_hold_do(population):
    counts = wrong_certificates(population, HOLD, REPEATS)
    assert not {name: count for name, count in counts.items() if fails(count, REPEATS)}


@pytest.mark.parametrize(
    ("population", "broken"),
    [
        (
            "flat, dependent",
            [name for name in INVALID if name.startswith("iid/")]
            + ["sgr iid/exact", "sgr iid/normal", "observed rate"],
        ),
        (
            "flat, independent",
            ["one_per_item/normal/bonferroni", "one_per_item/normal/holm", "observed rate"],
        ),
        ("uneven items", ["drawn among selected/exact/bonferroni", "observed rate"]),
    ],
)
def test_what_does_not_hold_fails_the_same_test(population, broken):
    repeats = max(REPEATS, 120)
    counts = wrong_certificates(BY_NAME[population], {b: INVALID[b] for b in broken}, repeats)
    assert not {name: count for name, count in counts.items() if not fails(count, repeats)}


@pytest.mark.parametrize("name", ["flat, independent", "flat, dependent", "uneven items"])
def test_streams_hold_at_every_look_and_a_bound_of_one_look_does_not(name):
    counts = wrong_at_any_look(BY_NAME[name], REPEATS)
    assert not {look: count for look, count in counts.items() if fails(count, REPEATS)}
    repeats = max(REPEATS, 400)
    assert fails(*wrong_when_peeking(BY_NAME[name], repeats).values(), repeats)


@pytest.mark.parametrize("population", NULLS[1::3], ids=lambda p: p.name)
def test_the_quick_way_decides_as_certify_does(population):
    rng = np.random.default_rng(3)
    for _ in range(4):
        calib, tune = population.draw(rng, 60), population.draw(rng, 30, prefix="tune")
        for option in OPTIONS:
            assert decided(option, calib, tune) == certified(option, calib, tune)


def test_power_grows_with_items_and_the_default_has_most():
    repeats = max(REPEATS // 4, 20)
    found = {
        n: {name: share for name, (share, _) in power(
            informative(0.15), n, repeats, (DEFAULT, AGRAPA, PUBLISHED)
        ).items()}
        for n in (CALIB_SIZES if FULL else (40, 120))
    }  # fmt: skip
    assert found[120][DEFAULT] >= 0.95 and found[120][PUBLISHED] >= 0.5
    for shares in found.values():
        assert min(shares[DEFAULT], shares[AGRAPA]) >= shares[PUBLISHED]
    assert found[40][PUBLISHED] + 0.2 <= found[120][PUBLISHED]


def test_the_verdict_lets_delta_pass_and_little_more():
    assert not fails(100, 2000) and not fails(130, 2000) and fails(150, 2000)
    assert not fails(2, 40) and fails(10, 40)
