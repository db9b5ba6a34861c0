"""Pooling, variants and scalars by hand-worked values."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from faithshift_data.measure.descriptors import (
    CHANNELS,
    STABILITIES,
    commitment,
    reduce,
    scaled,
    stable,
)
from faithshift_data.measure.recorder import Trajectory

shares = arrays(np.float32, (2, 6, 5), elements=st.floats(0, 1, width=32))


def trajectory(depth: int = 4, n: int = 3, width: int = 4) -> Trajectory:
    """Block k moves every state by k + 1; norms are 2; attention never moves."""
    velocity = np.repeat(np.arange(1, depth + 1, dtype=np.float32)[:, None], n, axis=1)
    return Trajectory(
        velocity=velocity,
        drift=np.full((depth + 1, n), 6, np.float32),
        norm=np.full((depth + 1, n), 2, np.float32),
        lens=np.tile(np.array([[[0.25, -0.5]]], np.float32), (depth + 1, n, 1)),
        final_lens=np.tile(np.array([[0.25, -0.5]], np.float32), (n, 1)),
        profile=np.full((depth, n, 5), 0.2, np.float32),
        state=np.arange(width, dtype=np.float32),
    )


def test_channels_by_hand() -> None:
    found = reduce(trajectory(), [(0, 2), (2, 3)], candidate=1)
    row = dict(zip(CHANNELS, found.psi[0].tolist(), strict=True))
    # Width 4, so sqrt_d halves; 5 residual states make bands of 2, 1, 1 and 1.
    assert [row[f"velocity.{band}.mean"] for band in range(4)] == [0.5, 1, 1.5, 2]
    assert {row[f"drift.{band}.mean"] for band in range(4)} == {3}
    assert {row[f"lens.{band}.mean"] for band in range(4)} == {-0.5}
    assert {row[f"stability.{band}.mean"] for band in range(4)} == {1}
    assert {value for name, value in row.items() if name.endswith(".sd")} == {0}
    assert found.psi.shape == (2, 32) and found.state.tolist() == [0, 1, 2, 3]
    assert found.scalars.tolist() == [-0.5, 0, 0, 0]


def test_scales_by_hand() -> None:
    made = trajectory()
    assert scaled(made.drift, made, "raw")[0, 0] == 6
    assert scaled(made.drift, made, "sqrt_d")[0, 0] == 3
    assert scaled(made.drift, made, "rel")[0, 0] == 3
    assert scaled(made.velocity, made, "rel")[:, 0].tolist() == [0.5, 1, 1.5, 2]


def test_relative_to_the_state_a_block_starts_from() -> None:
    made = trajectory()
    made.norm[:] = np.array([1, 2, 4, 8, 16])[:, None]
    assert scaled(made.velocity, made, "rel")[:, 0].tolist() == [1, 1, 0.75, 0.5]


@pytest.mark.parametrize(("kind", "moved"), [("tv", 0.0), ("cosine", 0.0), ("js", 0.0)])
def test_stability_of_disjoint_and_equal_profiles(kind: str, moved: float) -> None:
    profile = np.array([[[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0]]], np.float32)
    np.testing.assert_allclose(stable(profile, kind), [[moved, 1, 1]], atol=1e-12)


def test_stability_by_hand() -> None:
    profile = np.array([[[0.5, 0.5, 0, 0, 0], [1, 0, 0, 0, 0]]], np.float32)
    assert stable(profile, "tv")[0, 0] == 0.5
    assert stable(profile, "cosine")[0, 0] == pytest.approx(np.sqrt(0.5))
    # H(3/4, 1/4) = 2 - 3/4 log2 3 bits; the halves' entropies are 1 and 0.
    assert stable(profile, "js")[0, 0] == pytest.approx(1 - (2 - 0.75 * np.log2(3)) + 0.5)


@pytest.mark.parametrize("kind", STABILITIES)
@given(raw=shares)
def test_stability_is_a_symmetric_share(kind: str, raw: np.ndarray) -> None:
    profile = (raw + np.float32(1e-3)) / (raw + np.float32(1e-3)).sum(axis=-1, keepdims=True)
    found = stable(profile, kind)
    assert (found >= -1e-6).all() and (found <= 1 + 1e-6).all() and (found[:, -1] == 1).all()
    np.testing.assert_allclose(stable(profile[:, ::-1], kind)[:, -2::-1], found[:, :-1], atol=1e-9)


def test_scalars_by_hand() -> None:
    lens = np.array([0.0, 0.2, 0.1, 0.6, 0.4, 0.7, 1.0, 0.9], np.float32)
    half, early_late, onset, reach = commitment(lens)
    assert half == pytest.approx(0.6) and reach == pytest.approx(1.0)
    assert early_late == pytest.approx(0.9 / 4 - 3.0 / 4)
    assert onset == 6 / 8


def test_the_half_of_an_odd_number_of_tokens_is_rounded_down() -> None:
    assert commitment(np.array([0.1, 0.9, 0.2], np.float32))[0] == pytest.approx(0.1)


def test_one_token_has_scalars() -> None:
    np.testing.assert_allclose(commitment(np.array([0.3], np.float32)), [0.3, 0, 0, 0], rtol=1e-6)


@given(arrays(np.float32, st.integers(1, 20), elements=st.floats(-1, 1, width=32)))
def test_scalars_stay_in_their_ranges(lens: np.ndarray) -> None:
    half, early_late, onset, reach = commitment(lens)
    assert lens.min() <= half <= lens.max() and abs(early_late) <= reach + 1e-6
    assert 0 <= onset < 1 and 0 <= reach <= 2


@pytest.mark.parametrize("name", ["velocity", "drift", "lens", "profile", "state"])
@pytest.mark.parametrize("value", [1e6, np.nan, -np.inf])
def test_what_does_not_fit_float16_is_refused(name: str, value: float) -> None:
    made = trajectory()
    bad = getattr(made, name).copy()
    bad[(1, 0)[: bad.ndim]] = value
    with pytest.raises(ValueError, match="not finite in float16"):
        reduce(replace(made, **{name: bad}), [(0, 3)], 1)


def test_a_state_of_length_zero_has_no_relative_drift() -> None:
    made = trajectory()
    made.norm[2, 1] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="not finite in float16"):
            reduce(made, [(0, 3)], 1, scale="rel")


def test_a_shallow_model_has_no_bands() -> None:
    with pytest.raises(ValueError, match="3 layers do not make 4 bands"):
        reduce(trajectory(depth=3), [(0, 3)], 0)
