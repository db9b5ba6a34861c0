"""A planted shortcut that turns round: invariance objectives lean on it less than ERM does.

A fixed number of epochs, so that objectives are compared, not the epochs that were chosen.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from faithshift_bench.detectors.sift.mlp import TwoLayers
from faithshift_bench.detectors.sift.plan import Plan
from faithshift_bench.detectors.sift.training import Rows, _Run, apply, own_state
from faithshift_bench.metrics import auroc

SEEDS = (0, 1)
ERM = {"objective": "erm"}


def columns(cause: NDArray, shortcut: NDArray, labels: NDArray, codes: NDArray) -> Rows:
    x = torch.from_numpy(np.stack([cause, shortcut], axis=1).astype(np.float32))
    return Rows((x,), torch.from_numpy(labels.astype(np.float32)), codes)


def turning(n: int, strengths: tuple[float, ...], seed: int) -> Rows:
    """The shortcut goes with the label by another strength, and sign, in each environment."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(strengths)), n)
    labels = np.arange(len(codes)) % 2
    sign = 2 * labels - 1
    noise = rng.normal(size=(2, len(codes)))
    return columns(
        0.8 * sign + noise[0], sign * np.array(strengths)[codes] + noise[1], labels, codes
    )


def marked(n: int, shares: tuple[float, ...], seed: int) -> Rows:
    """The shortcut marks the environment, and one environment has more faithful traces."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(2), n)
    labels = (np.arange(2 * n) % n < np.array(shares)[codes] * n).astype(int)
    noise = rng.normal(size=(2, 2 * n))
    cause = 0.8 * (2 * labels - 1) + noise[0]
    return columns(cause, 1.5 * (1 - 2 * codes) + 0.5 * noise[1], labels, codes)


def after(train: Rows, test: Rows, seed: int, **choices: float | str) -> float:
    """AUROC on test after 60 epochs on train."""
    plan = Plan(**{"batch": 64, "rate": 3e-3, "warmup": 0.3, "epochs": 60, **choices})
    seeds = {"init": seed, "order": seed, "dropout": seed}
    with own_state(seed):
        run = _Run(lambda: TwoLayers(2, 8), train, train, plan, seeds, "cpu")
        for epoch in range(1, plan.epochs + 1):
            run.epoch(epoch)
    logits, _ = apply(run.network, test.inputs)
    value = auroc(logits, test.labels.numpy().astype(int)).value
    assert value is not None
    return value


def test_irm_leans_less_on_a_shortcut_that_turns_round() -> None:
    gains = []
    for seed in SEEDS:
        train, test = turning(300, (2.0, -0.5), seed), turning(500, (-2.0,), seed + 20)
        by_erm = after(train, test, seed, **ERM)
        gains.append(after(train, test, seed, objective="irm", irm_weight=10.0) - by_erm)
        assert by_erm < 0.65
    assert min(gains) > 0.1


def test_dann_leans_less_on_a_mark_of_the_environment() -> None:
    gains = []
    for seed in SEEDS:
        train, test = marked(300, (0.8, 0.2), seed), marked(500, (0.2, 0.8), seed + 20)
        by_erm = after(train, test, seed, **ERM)
        gains.append(after(train, test, seed, objective="dann", dann_weight=1.0) - by_erm)
        assert by_erm < 0.7
    assert min(gains) > 0.08
