"""Risks and penalties: by hand, and against automatic differentiation."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from faithshift_bench.detectors.sift import objectives


def batch(seed: int, n: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, generator=generator, dtype=torch.float64)
    return logits.requires_grad_(), torch.arange(n, dtype=torch.float64) % 2


def test_slope_by_hand() -> None:
    z = torch.tensor([0.0, math.log(3)], dtype=torch.float64)
    y = torch.tensor([1.0, 0.0], dtype=torch.float64)
    # sigmoid(log 3) = 3/4; the first term is 0, and the mean is over two rows.
    assert objectives.slope(z, y, 1.0).item() == pytest.approx(0.375 * math.log(3))
    # A faithful trace weighs 2: (0.25 - 1) * -log 3 * 2.
    assert objectives.slope(-z[1:], 1 - y[1:], 2.0).item() == pytest.approx(1.5 * math.log(3))


@pytest.mark.parametrize("positive", [1.0, 0.4])
def test_penalty_and_its_gradient_are_those_of_a_dummy_scalar(positive: float) -> None:
    groups = [batch(0), batch(1, 8)]
    slopes = []
    for z, y in groups:
        w = torch.ones((), dtype=torch.float64, requires_grad=True)
        risk = objectives.risk(w * z, y, positive)
        slopes.append(torch.autograd.grad(risk, w, create_graph=True)[0])
    oracle = torch.stack(slopes).square().mean()
    penalty = objectives.irm(groups, positive)
    assert penalty.item() == pytest.approx(oracle.item(), rel=1e-12)
    for z, _ in groups:
        (got,) = torch.autograd.grad(penalty, z, retain_graph=True)
        (expected,) = torch.autograd.grad(oracle, z, retain_graph=True)
        assert torch.allclose(got, expected, rtol=1e-9)
        assert got.abs().max() > 1e-4


def test_irm_is_a_mean_over_environments() -> None:
    once = objectives.irm([batch(0)], 1.0)
    assert objectives.irm([batch(0)] * 5, 1.0).item() == pytest.approx(once.item())


def test_the_unbiased_penalty_is_a_product_of_halves_and_may_be_negative() -> None:
    z = torch.tensor([2.0, -2.0, 2.0, -2.0])
    y = torch.tensor([0.0, 0.0, 0.0, 0.0])
    left, right = (objectives.slope(z[i::2], y[i::2], 1.0) for i in (0, 1))
    assert left > 0 > right
    assert objectives.irm_unbiased([(z, y)], 1.0).item() == pytest.approx((left * right).item())


def test_the_unbiased_penalty_is_unbiased_where_the_square_is_not() -> None:
    generator = torch.Generator().manual_seed(0)
    # Calibrated by construction: the population's slope is 0.
    z = torch.randn(4000, 8, generator=generator)
    y = (torch.rand(z.shape, generator=generator) < torch.sigmoid(z)).float()
    rows = list(zip(z, y, strict=True))
    unbiased = torch.stack([objectives.irm_unbiased([row], 1.0) for row in rows])
    squared = torch.stack([objectives.irm([row], 1.0) for row in rows])
    error = unbiased.std() / math.sqrt(len(rows))
    assert abs(unbiased.mean()) < 3 * error
    assert squared.mean() > 10 * error


def test_reversal_negates_the_encoders_gradient_and_not_the_heads() -> None:
    torch.manual_seed(0)
    encoder, head = nn.Linear(3, 4), objectives.EnvironmentHead(4, 3)
    x, truth = torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    gradients = []
    for reverse in (lambda h: h, objectives.reverse):
        loss = nn.functional.cross_entropy(head(reverse(encoder(x))), truth)
        parameters = [*encoder.parameters(), *head.parameters()]
        gradients.append(torch.autograd.grad(loss, parameters))
    plain, reversed_ = gradients
    for i, (a, b) in enumerate(zip(plain, reversed_, strict=True)):
        assert torch.equal(a, -b if i < 2 else b)
        assert a.abs().max() > 0


def test_group_weights_by_hand() -> None:
    weights = objectives.GroupWeights(2, step=0.5)
    first = weights(torch.tensor([1.0, 3.0]))
    e = math.e
    assert first.tolist() == pytest.approx([1 / (1 + e), e / (1 + e)])
    assert weights(torch.tensor([2.0, 0.0])).tolist() == pytest.approx([0.5, 0.5])


def test_alignment_by_hand() -> None:
    left, right = torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0], [3.0, 4.0]])
    assert objectives.alignment(left, right).item() == pytest.approx((4 + 25) / 2)
