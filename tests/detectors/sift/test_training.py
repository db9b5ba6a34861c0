"""The trainer: what chance decides, what penalties change, when it ends, what it leaves behind."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from faithshift_bench.detectors.sift.encoder import Network
from faithshift_bench.detectors.sift.environments import batches
from faithshift_bench.detectors.sift.mlp import TwoLayers, train_mlp
from faithshift_bench.detectors.sift.plan import Plan
from faithshift_bench.detectors.sift.shape import SMALL
from faithshift_bench.detectors.sift.training import Rows, Trained, _Run, own_state, train
from faithshift_bench.detectors.training import warnings
from faithshift_data.errors import InputError

SEEDS = {"init": 0, "order": 0, "dropout": 0}
SHORT = Plan(objective="erm", epochs=3, batch=8)
TINY = replace(SMALL, filters=2, dim=8, layers=1, heads=2, hidden=8)


def rows(n: int = 60, seed: int = 0, codes: int = 3) -> Rows:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    x = rng.normal(size=(n, 5)) + labels[:, None] * [1.0, 0, 0, 0, 0]
    pairs = np.arange(n).reshape(-1, 2)
    tensors = torch.from_numpy(x.astype(np.float32)), torch.from_numpy(labels.astype(np.float32))
    return Rows((tensors[0],), tensors[1], np.arange(n) // 2 % codes, pairs)


def psi_rows(n: int = 40) -> Rows:
    rng = np.random.default_rng(0)
    psi = torch.from_numpy(rng.normal(size=(n, 6, 3)).astype(np.float32))
    labels = torch.arange(n) % 2
    static = torch.zeros(n, 0, dtype=torch.float32)
    codes = np.arange(n) // 2 % 2
    mask = torch.ones(n, 6, dtype=torch.bool)
    return Rows((psi, mask, static), labels.to(torch.float32), codes)


def fit(plan: Plan = SHORT, data: Rows | None = None, **seeds: int) -> Trained:
    return train(lambda: TwoLayers(5, 6), data or rows(), rows(30, 1), plan, {**SEEDS, **seeds})


def fit_psi(plan: Plan, **seeds: int) -> Trained:
    data = psi_rows()
    return train(lambda: Network(TINY, 3, 0), data, data, plan, {**SEEDS, **seeds})


def same(a: Trained, b: Trained) -> bool:
    return all(np.array_equal(a.arrays[name], b.arrays[name]) for name in a.arrays)


@pytest.mark.parametrize("objective", ["irm", "irm-unbiased", "dann", "irm+dann", "alignment"])
def test_weights_of_zero_equal_erm_bit_for_bit(objective: str) -> None:
    none = replace(SHORT, objective=objective, irm_weight=0, dann_weight=0, alignment_weight=0)
    a, b = fit(), fit(none)
    assert same(a, b)
    assert a.record["curves"]["loss"] == b.record["curves"]["loss"]
    assert not same(a, fit(replace(SHORT, objective=objective, warmup=0)))


def test_group_dro_with_a_step_differs_from_erm() -> None:
    assert not same(fit(), fit(replace(SHORT, objective="group_dro", dro_step=1)))


def test_the_penalty_alone_moves_the_network_and_its_sign_is_kept() -> None:
    plan = replace(SHORT, objective="irm-unbiased", warmup=0, epochs=30, patience=30)
    curve = fit(plan, rows(codes=1)).record["curves"]["irm-unbiased"]
    assert min(curve) < 0 < max(curve)
    with own_state(0):
        run = _Run(
            lambda: TwoLayers(5, 6), rows(), rows(), replace(plan, objective="irm"), SEEDS, "cpu"
        )
        groups = next(batches(run.codes, 8, np.random.default_rng(0)))
        (with_, figures), (without, _) = run.loss(groups, 1.0), run.loss(groups, 0.0)
        parameters = list(run.network.parameters())
        gradients = torch.autograd.grad(with_ - without, parameters)
        assert figures["irm"] > 0
        assert all(gradient.abs().max() > 0 for gradient in gradients)


def test_warm_up_by_hand_and_adam_starts_anew_with_the_penalty() -> None:
    plan = Plan(objective="irm", irm_weight=4.0, epochs=10, warmup=0.2)
    assert [plan.irm_weight_at(epoch) for epoch in (1, 2, 3, 10)] == [0, 2, 4, 4]
    assert replace(plan, warmup=0).irm_weight_at(1) == 4
    assert replace(plan, objective="erm").warm == 0
    with own_state(0):
        run = _Run(lambda: TwoLayers(5, 6), rows(), rows(), plan, SEEDS, "cpu")
        seen = []
        for epoch in range(1, 5):
            run.epoch(epoch)
            seen.append(run.optimiser)
    assert seen[0] is not seen[1]
    assert seen[1] is seen[2] is seen[3]


def test_a_weight_over_one_divides_the_whole_loss() -> None:
    plan = Plan(objective="irm", irm_weight=10.0, warmup=0)
    with own_state(0):
        run = _Run(lambda: TwoLayers(5, 6), rows(), rows(), plan, SEEDS, "cpu")
        groups = [np.arange(0, 20), np.arange(20, 40)]
        plain, figures = run.loss(groups, 0.0)
        loss, _ = run.loss(groups, 10.0)
    assert loss.item() == pytest.approx(plain.item() / 10 + figures["irm"])


def test_no_run_ends_before_its_warm_up_and_an_epoch_of_it_is_said() -> None:
    data = rows()
    upside_down = Rows(data.inputs, 1 - data.labels)  # nothing is ever better than the start

    def run(plan: Plan) -> dict:
        return train(lambda: TwoLayers(5, 6), data, upside_down, plan, SEEDS).record

    plan = Plan(objective="irm", epochs=20, warmup=0.5, patience=2, rate=0.05)
    record = run(plan)
    assert (record["epoch"], record["epochs"]) == (0, 12)
    assert run(replace(plan, objective="erm"))["epochs"] == 2
    assert record["irm_weight_full"] == 1
    warned = warnings({**record, "epoch": 4, "irm_weight": plan.irm_weight_at(4)})
    assert warned == ["kept epoch 4 of 20: in the warm-up, its IRM penalty weighing 0.3 of 1"]
    assert warnings({**record, "epoch": 12, "irm_weight": plan.irm_weight_at(12)}) == []


def test_the_same_seed_gives_the_same_bits_whatever_the_state_of_torch() -> None:
    plan = replace(SHORT, objective="irm+dann")
    first = fit_psi(plan)
    with disturbed():
        second = fit_psi(plan)
    assert same(first, second)
    assert first.record["curves"] == second.record["curves"]


def test_the_state_of_torch_is_put_back() -> None:
    with disturbed():
        before = state()
        fit_psi(replace(SHORT, objective="irm+dann"))
        assert repr(state()) == repr(before)
        with contextlib.suppress(RuntimeError), own_state(0):
            raise RuntimeError
        assert repr(state()) == repr(before)


@contextlib.contextmanager
def disturbed() -> Iterator[None]:
    """Settings that a user may have; the test's own are put back."""
    random, dtype, threads = (
        torch.get_rng_state(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
    )
    torch.manual_seed(99)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(2)
    torch.set_deterministic_debug_mode("warn")
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_rng_state(random)
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        torch.set_deterministic_debug_mode("default")


def state() -> tuple:
    return (
        torch.get_rng_state().tolist(),
        np.random.get_state()[1].tolist(),  # noqa: NPY002 - the global state is the point
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.get_deterministic_debug_mode(),
        torch.is_grad_enabled(),
    )


def test_each_source_of_chance_alone_changes_the_network() -> None:
    plan = replace(SHORT, epochs=2, patience=9)
    start = fit_psi(plan)
    for source in SEEDS:
        assert not same(start, fit_psi(plan, **{source: 1})), source


def test_stable_leaves_the_first_weights_to_chance_and_nothing_else() -> None:
    plan = replace(SHORT, stable=True)
    data = psi_rows()
    shape = replace(TINY, dropout=0.0)  # as the detector makes it of a stable plan

    def run(**seeds: int) -> Trained:
        return train(lambda: Network(shape, 3, 0), data, data, plan, {**SEEDS, **seeds})

    start = run()
    assert same(start, run(order=1))
    assert same(start, run(dropout=1))
    assert not same(start, run(init=1))


def test_batches_hold_as_many_rows_of_each_environment_and_all_rows_of_the_largest() -> None:
    codes = np.array([0] * 20 + [1] * 5 + [2] * 3)
    seen: Counter[int] = Counter()
    count = 0
    for groups in batches(codes, 4, np.random.default_rng(0)):
        assert [len(group) for group in groups] == [4, 4, 3]
        assert all((codes[group] == code).all() for code, group in enumerate(groups))
        seen.update(np.concatenate(groups).tolist())
        count += 1
    assert count == 5
    assert [seen[row] for row in range(20)] == [1] * 20
    assert all(seen[row] >= 3 for row in range(20, 28))


def test_the_best_epoch_is_kept_and_patience_ends_the_run() -> None:
    plan = Plan(objective="erm", epochs=200, patience=3, batch=8)
    record = fit(plan).record
    curve = record["curves"]["held_loss"]
    assert record["epoch"] == int(np.argmin(curve)) + 1
    assert record["epochs"] == len(curve) == record["epoch"] + 3 < 200
    assert record["chosen_by"] == "held_loss"
    assert not record["flagged"]


def test_a_run_that_only_gets_worse_keeps_its_start_and_is_flagged() -> None:
    data = rows()
    upside_down = Rows(data.inputs, 1 - data.labels)
    trained = train(lambda: TwoLayers(5, 6), data, upside_down, Plan(objective="erm"), SEEDS)
    assert trained.record["epoch"] <= 1
    assert trained.record["flagged"]


def test_a_loss_that_is_not_finite_ends_the_run_with_finite_weights() -> None:
    data = rows()
    wild = Rows((data.inputs[0] * float("inf"),), data.labels, data.codes)
    trained = train(lambda: TwoLayers(5, 6), wild, rows(), replace(SHORT, rate=1.0), SEEDS)
    assert trained.record["diverged"]
    assert all(np.isfinite(array).all() for array in trained.arrays.values())


def test_auroc_may_choose_the_epoch_and_needs_both_labels() -> None:
    plan = replace(SHORT, stop="auroc", epochs=20)
    record = fit(plan).record
    assert record["better"] == "higher"
    assert max([record["start"], *record["curves"]["held_loss"]]) == pytest.approx(
        ([record["start"], *record["curves"]["held_loss"]])[record["epoch"]]
    )
    one = Rows(rows().inputs, torch.ones(60))
    with pytest.raises(InputError, match="AUROC cannot choose"):
        train(lambda: TwoLayers(5, 6), rows(), one, plan, SEEDS)


def test_alignment_draws_pairs_together() -> None:
    free = fit(replace(SHORT, epochs=30, patience=30))
    plan = Plan(objective="alignment", alignment_weight=10.0, epochs=30, patience=30, batch=8)
    curve = fit(plan).record["curves"]["alignment"]
    assert curve[-1] < curve[0] / 2
    assert "alignment" not in free.record["curves"]


def test_two_layers_for_a_table_score_without_torch() -> None:
    data = rows()
    x, labels = data.inputs[0].numpy().astype(float), data.labels.numpy().astype(int)
    held = np.arange(60) >= 48
    environments = ["base", "language"] * 30
    called: list[int] = []
    arrays, epoch, record = train_mlp(
        x,
        labels,
        [environments[i // 2] for i in range(60)],
        held,
        hidden=6,
        objective="irm+dann",
        init=0,
        order=0,
        progress=lambda epoch, of, figures: called.append(epoch),
        epochs=4,
    )
    assert [arrays[name].shape for name in ("w0", "b0", "w1", "b1")] == [(5, 6), (6,), (6, 1), (1,)]
    assert epoch == record["epoch"]
    assert called == [1, 2, 3, 4]
    assert set(record["environments"]) == {"base", "language"}
    assert {"irm", "dann", "environment_accuracy"} <= set(record["curves"])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("objective", "irl"),
        ("objective", 3),
        ("objective", "irm+irm-unbiased"),
        ("objective", "dann+dann"),
        ("objective", "erm+dann"),
        ("environments", "domain"),
        ("vary", "attention_temperature"),
        ("vary", "data"),
        ("irm_weight", -1),
        ("irm_weight", float("nan")),
        ("warmup", 1),
        ("epochs", 0),
        ("batch", 2.5),
        ("stable", "yes"),
        ("stop", "accuracy"),
    ],
)
def test_plans_that_cannot_be_are_refused(field: str, value: object) -> None:
    with pytest.raises(InputError, match=field):
        Plan(**{field: value})  # type: ignore[arg-type]
