"""From a trajectory to the numbers that are stored.

Four families, each a number a layer and token: velocity, drift, lens and stability. Layers are
pooled into 4 bands of equal depth; a step's channel is the mean or the standard deviation over
its tokens and the layers of a band. Four scalars a trace say when the model came to its answer.
The lens reads the trace's own answer, never the label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from faithshift_data.measure.spans import BLOCKS

if TYPE_CHECKING:
    from faithshift_data.measure.recorder import Trajectory

BANDS = 4
FAMILIES = ("velocity", "drift", "lens", "stability")
CHANNELS = tuple(
    f"{family}.{band}.{moment}"
    for family in FAMILIES
    for band in range(BANDS)
    for moment in ("mean", "sd")
)
SCALARS = ("commitment_half", "early_minus_late", "onset", "range")
SCALES = ("raw", "sqrt_d", "rel")
STABILITIES = ("tv", "cosine", "js")


@dataclass(frozen=True)
class Descriptors:
    """What a trace's trajectory is reduced to.

    Attributes:
        psi: float16 (n_steps, 32), n_steps at most 16, channels as in ``CHANNELS``.
        state: float16 (d,), the state ``final_norm`` averaged over the reasoning's tokens.
        scalars: float16 (4,), as in ``SCALARS``.
        rollout: float16 (4,), shares of attention rollout on ``BLOCKS``; None where not measured.
    """

    psi: np.ndarray
    state: np.ndarray
    scalars: np.ndarray
    rollout: np.ndarray | None = None

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """What there is by name, as it is stored."""
        arrays = {"psi": self.psi, "state": self.state, "scalars": self.scalars}
        return arrays if self.rollout is None else {**arrays, "rollout": self.rollout}


def manifest_entries(arrays: Mapping[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """The manifest's ``descriptors``, from what one trace has; empty without any."""
    channels = {"psi": CHANNELS, "scalars": SCALARS, "rollout": BLOCKS}
    return {
        name: {
            "resolution": "step" if name == "psi" else "trace",
            "dtype": "float16",
            "shape": list(array.shape[1:] if name == "psi" else array.shape),
            "channels": list(channels.get(name, ())),
        }
        for name, array in sorted(arrays.items())
    }


# What is not finite is refused at the end, by name.
@np.errstate(all="ignore")
def reduce(
    trajectory: Trajectory,
    steps: Sequence[tuple[int, int]],
    candidate: int,
    *,
    scale: str = "sqrt_d",
    stability: str = "tv",
) -> Descriptors:
    """Pool a trajectory by band and step.

    Args:
        trajectory: of n reasoning tokens.
        steps: half-open spans over these n tokens.
        candidate: the column of the lens that belongs to the trace's answer.
        scale: of velocity and drift, ``scaled``.
        stability: ``stable``.

    Raises:
        ValueError: unknown variant, fewer layers than bands, or a value that is not finite in
            float16.
    """
    values = (
        scaled(trajectory.velocity, trajectory, scale),
        scaled(trajectory.drift, trajectory, scale),
        trajectory.lens[:, :, candidate],
        stable(trajectory.profile, stability),
    )
    psi = np.concatenate([_pool(family, steps) for family in values], axis=1)
    scalars = commitment(trajectory.final_lens[:, candidate])
    return Descriptors(_half(psi), _half(trajectory.state), _half(scalars))


def scaled(values: np.ndarray, trajectory: Trajectory, scale: str) -> np.ndarray:
    """Velocity or drift, (layers, n), in a named scale.

    ``raw`` is the norm as printed, ``sqrt_d`` divides by the root of the width (a root mean
    square a unit), ``rel`` by ``||H[l,t]||``, the only one that compares across models.
    """
    if scale == "raw":
        return values
    if scale == "sqrt_d":
        return values / np.float32(np.sqrt(len(trajectory.state)))
    if scale == "rel":
        return values / trajectory.norm[: len(values)]
    raise ValueError(f"scale {scale!r}: expected one of {', '.join(SCALES)}")


def stable(profile: np.ndarray, kind: str) -> np.ndarray:
    """How much of its attention profile a token's successor keeps, (L, n) in [0, 1].

    ``tv`` is one minus the total variation distance, ``cosine`` the cosine, ``js`` one minus the
    Jensen-Shannon divergence in bits. The last token has no successor and gets 1.
    """
    here, there = profile[:, :-1].astype(float), profile[:, 1:].astype(float)
    if kind == "tv":
        kept = 1 - np.abs(here - there).sum(axis=-1) / 2
    elif kind == "cosine":
        norms = np.linalg.norm(here, axis=-1) * np.linalg.norm(there, axis=-1)
        kept = (here * there).sum(axis=-1) / norms
    elif kind == "js":
        kept = 1 - _entropy((here + there) / 2) + (_entropy(here) + _entropy(there)) / 2
    else:
        raise ValueError(f"stability {kind!r}: expected one of {', '.join(STABILITIES)}")
    return np.pad(kept, ((0, 0), (0, 1)), constant_values=1.0)


def _entropy(shares: np.ndarray) -> np.ndarray:
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return -(shares * logs).sum(axis=-1)


def commitment(lens: np.ndarray) -> np.ndarray:
    """When the model came to its answer, from the lens (n,) of the state ``final_norm``.

    Returns:
        The largest value in the first half of the tokens (S eq. 19 with t_early = n / 2; of one
        token, its value); mean of the first half minus mean of the rest, 0 for one token; the
        first token at 80% of the range, as a share of n in [0, 1); the range. Cosines all, but
        for the third.
    """
    early = lens[: max(len(lens) // 2, 1)]
    late = lens[len(lens) // 2 :]
    low, high = lens.min(), lens.max()
    onset = np.argmax(lens >= low + np.float32(0.8) * (high - low)) / len(lens)
    return np.array([early.max(), early.mean() - late.mean(), onset, high - low])


def _pool(values: np.ndarray, steps: Sequence[tuple[int, int]]) -> np.ndarray:
    """(layers, n) -> (n_steps, 2 x bands): mean and sd by band and step."""
    if len(values) < BANDS:
        raise ValueError(f"{len(values)} layers do not make {BANDS} bands")
    bands = np.array_split(values.astype(float), BANDS, axis=0)
    return np.array(
        [[f(band[:, a:b]) for band in bands for f in (np.mean, np.std)] for a, b in steps]
    )


def _half(array: np.ndarray) -> np.ndarray:
    half = array.astype(np.float16)
    if not np.isfinite(half).all():
        raise ValueError("a descriptor is not finite in float16")
    return half
