"""Psi: the descriptors of a trace step by step, and the numbers that belong to all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.linear import standardise, standardiser
from faithshift_bench.detectors.pooling import over_steps
from faithshift_bench.detectors.sift.shape import BAND_MEANS, Shape
from faithshift_data.errors import InputError
from faithshift_data.measure.descriptors import CHANNELS

if TYPE_CHECKING:
    from torch import Tensor

    from faithshift_bench.detectors.sift.training import Rows
    from faithshift_data.views import View

PARTS = ("psi", "static")


@dataclass(frozen=True)
class Features:
    """What a network reads of n traces.

    Attributes:
        psi: (n, T, C), the channels that a shape reads; 0 where there is no step.
        mask: bool (n, T), the steps that there are.
        static: (n, k).
    """

    psi: NDArray
    mask: NDArray[np.bool_]
    static: NDArray

    def scales(self, rows: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
        """Means and scales of some rows, of psi over their steps: ``psi.mean`` and so on."""
        found = {"psi": self.psi[rows][self.mask[rows]], "static": self.static[rows]}
        return {
            f"{part}.{name}": array
            for part, values in found.items()
            for name, array in standardiser(values).items()
        }

    def scaled(self, arrays: dict[str, NDArray]) -> Features:
        """By the means and scales of train, clipped to [-8, 8], float32."""
        of = {p: {k: arrays[f"{p}.{k}"] for k in ("mean", "scale")} for p in PARTS}
        psi = np.where(self.mask[:, :, None], standardise(self.psi, of["psi"]), 0)
        static = standardise(self.static, of["static"])
        return Features(psi.astype(np.float32), self.mask, static.astype(np.float32))

    def tensors(self, rows: NDArray[np.intp] | None = None) -> tuple[Tensor, ...]:
        """Some rows, or all, as a network takes them."""
        import torch

        arrays = (self.psi, self.mask, self.static)
        chosen = (array if rows is None else array[rows] for array in arrays)
        return tuple(torch.from_numpy(np.array(array)) for array in chosen)

    def labelled(
        self,
        labels: NDArray,
        rows: NDArray[np.intp],
        codes: NDArray[np.int64] | None = None,
        pairs: NDArray[np.int64] | None = None,
    ) -> Rows:
        """Some rows as the trainer takes them, with labels of every row."""
        import torch

        from faithshift_bench.detectors.sift.training import Rows

        known = torch.from_numpy(labels[rows].astype(np.float32))
        return Rows(self.tensors(rows), known, codes, pairs)

    @property
    def lengths(self) -> NDArray[np.intp]:
        """Number of steps of each trace, (n,)."""
        return self.mask.sum(axis=1)

    @property
    def pooled(self) -> NDArray[np.float64]:
        """Mean and standard deviation of each channel over the steps, and static, (n, 2C + k)."""
        return np.hstack([*over_steps(self.psi, self.mask), self.static])


def has_scalars(view: View, shape: Shape) -> bool:
    """Whether a network of this shape reads scalars, and the data has them."""
    return "scalars" in shape.static.split("+") and view.scalars is not None


def read(view: View, shape: Shape, *, scalars: bool) -> Features:
    """The features of every row, not yet standardised.

    Args:
        view: with descriptors.
        shape: says what is read.
        scalars: whether the scalars are read; a dataset may have none.

    Raises:
        InputError: descriptors of another number of channels, no scalars where they are read, or
            nothing to read at all.
    """
    psi, mask = view.descriptors
    if psi.shape[2] != len(CHANNELS):
        message, got = "descriptors of another kind", f"{psi.shape[2]} channels"
        raise InputError(message, field="psi", expected=f"{len(CHANNELS)} channels", got=got)
    parts = [np.empty((len(psi), 0))]
    if "bands" in shape.static.split("+"):
        means = [CHANNELS.index(name) for name in BAND_MEANS]
        parts.append(over_steps(psi[:, :, means], mask)[0])
    if scalars:
        if view.scalars is None:
            message = "no scalars, which it was fitted on; `faithshift measure` adds them"
            raise InputError(message, field="static", expected="scalars, or a fit with static=none")
        parts.append(view.scalars)
    static = np.hstack(parts)
    if not shape.learned and not static.shape[1]:
        raise InputError("this data has nothing that such a network reads", field="static")
    return Features(psi[:, :, [CHANNELS.index(name) for name in shape.channels]], mask, static)
