"""The network: padding counts for nothing, parts agree with torch's own, counts by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from faithshift_bench.detectors.sift.detector import SiftSmall, SiftT7
from faithshift_bench.detectors.sift.encoder import (
    Layer,
    MaskedBatchNorm,
    Network,
    Pool,
    count_parameters,
)
from faithshift_bench.detectors.sift.shape import FULL, SMALL, Shape
from faithshift_bench.detectors.sift.training import apply

SHAPES = {
    "small": SMALL,
    "no tcn": replace(SMALL, tcn=False),
    "no transformer": replace(SMALL, transformer=False),
    "mean pooling": replace(SMALL, pooling="mean"),
    "static alone": replace(SMALL, learned=False),
}


def inputs(n: int = 9, steps: int = 16, seed: int = 0) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, steps + 1, (n, 1), generator=generator)
    mask = torch.arange(steps) < lengths
    psi = torch.randn(n, steps, 32, generator=generator) * mask[:, :, None]
    return psi, mask, torch.randn(n, 4, generator=generator)


def network(shape: Shape) -> Network:
    torch.manual_seed(0)
    made = Network(shape, 32, 4)
    made.train()
    made(*inputs(64, seed=1))  # running statistics that are not those of the start
    return made.eval()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_padding_and_batch_size_do_not_change_a_score(shape: Shape) -> None:
    made, (psi, mask, static) = network(shape), inputs()
    whole = made(psi, mask, static)
    wide = nn.functional.pad(psi, (0, 0, 0, 5)), nn.functional.pad(mask, (0, 5)), static
    for one, more in zip(whole, made(*wide), strict=True):
        assert torch.allclose(one, more, atol=1e-5)
    lengths = mask.sum(1).numpy()
    for batch in (1, 2, 256):
        for bucketed in (None, lengths):
            logits, found = apply(made, (psi, mask, static), lengths=bucketed, batch=batch)
            assert torch.allclose(torch.from_numpy(logits).float(), whole[0], atol=1e-5)
            assert torch.allclose(torch.from_numpy(found).float(), whole[1], atol=1e-5)


def test_what_stands_in_the_padding_is_not_read() -> None:
    made, (psi, mask, static) = network(replace(SMALL, tcn=False)), inputs()
    noise = torch.where(mask[:, :, None], psi, torch.full_like(psi, 7.0))
    assert torch.allclose(made(psi, mask, static)[0], made(noise, mask, static)[0], atol=1e-5)


def test_a_trace_without_steps_gives_a_number() -> None:
    made, (psi, mask, static) = network(SMALL), inputs(2)
    assert torch.isfinite(made(psi * 0, mask & False, static)[0]).all()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_trace_without_steps_scores_the_same_beside_longer_ones(shape: Shape) -> None:
    made, (psi, mask, static) = network(shape), inputs()
    psi[0], mask[0] = 0, False
    alone = made(psi[:1], mask[:1], static[:1])
    for one, more in zip(alone, made(psi, mask, static), strict=True):
        assert torch.allclose(one[0], more[0], atol=1e-5)


def test_masked_batch_norm_is_that_of_the_steps_alone() -> None:
    x, mask = torch.randn(5, 4, 3, generator=torch.Generator().manual_seed(0)), inputs(5, 4)[1]
    ours, theirs = MaskedBatchNorm(3), nn.BatchNorm1d(3)
    for _ in range(2):
        assert torch.allclose(ours(x, mask)[mask], theirs(x[mask]), atol=1e-6)
    assert torch.allclose(ours.mean, theirs.running_mean, atol=1e-6)
    assert torch.allclose(ours.variance, theirs.running_var, atol=1e-6)
    ours.eval(), theirs.eval()
    assert torch.allclose(ours(x, mask)[mask], theirs(x[mask]), atol=1e-6)


def test_a_layer_is_torchs_pre_norm_layer() -> None:
    ours = Layer(SMALL).eval()
    theirs = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True).eval()
    names = {
        "norm_1": theirs.norm1,
        "norm_2": theirs.norm2,
        "out": theirs.self_attn.out_proj,
        "up": theirs.linear1,
        "down": theirs.linear2,
    }
    for name, part in names.items():
        part.load_state_dict(getattr(ours, name).state_dict())
    theirs.self_attn.in_proj_weight.data = ours.qkv.weight.data
    theirs.self_attn.in_proj_bias.data = ours.qkv.bias.data
    h, mask = torch.randn(3, 6, 32, generator=torch.Generator().manual_seed(0)), inputs(3, 6)[1]
    with torch.no_grad():
        expected = theirs(h, src_key_padding_mask=~mask)
    assert torch.allclose(ours(h, mask)[mask], expected[mask], atol=1e-5)


def test_learned_pooling_by_hand() -> None:
    pool = Pool(1)
    pool.weight.weight.data.fill_(1.0)
    log2 = torch.log(torch.tensor(2.0))
    h = torch.tensor([[[0.0], [log2], [9.0]]])  # shares 1/3 and 2/3 of the steps that there are
    assert pool(h, torch.tensor([[True, True, False]])).item() == pytest.approx(2 / 3 * log2.item())


def by_hand(shape: Shape, channels: int, static: int) -> int:
    """Weights and biases, counted from the sizes alone."""
    f, d, ff = shape.filters, shape.dim, 2 * shape.dim
    convolutions = sum(channels * f * kernel + f for kernel in (3, 5, 7, 11))
    norm_and_mix = 2 * 4 * f + 4 * f * d + d
    layer = 4 * d + 3 * d * d + 3 * d + d * d + d + d * ff + ff + ff * d + d
    head = (d + static) * shape.hidden + shape.hidden + shape.hidden + 1
    return convolutions + norm_and_mix + shape.layers * layer + 2 * d + d + head


def test_parameters_are_those_that_the_classes_and_the_readme_name() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    without = []
    for found, shape in ((SiftT7, FULL), (SiftSmall, SMALL)):
        count = count_parameters(Network(shape, 32, 4))
        assert count == by_hand(shape, 32, 4)
        assert f"{count:,} parameters" in (found.__doc__ or "")
        assert f"| `{found.name}` | {count:,} |" in readme
        without.append(f"{count_parameters(Network(shape, 32, 0)):,}")
    assert f"On data without scalars they have {' and '.join(without)}." in readme
    assert count_parameters(Network(SMALL, 32, 4)) <= 28_400
    assert round(count_parameters(Network(FULL, 32, 4)) / 1e6, 2) == 0.63


@pytest.mark.parametrize("dim", [8, 16, 32, 64, 128, 256])
def test_every_width_of_the_dimension_ablation_can_be_built(dim: int) -> None:
    for shape in (FULL, SMALL):
        made = Network(replace(shape, dim=dim, layers=1), 32, 4).eval()
        assert made(*inputs(2))[1].shape == (2, dim)
