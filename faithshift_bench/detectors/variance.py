"""What is random in a training, and which of it the seed decides (S table 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from faithshift_data.errors import InputError

ALL = "all"
# What a fit without randomness varies, and what it can be made to vary.
NONE, BOOT = "none", "boot"
# The seed of a source that is held fixed.
FIXED = 0


def check_vary(vary: object, sources: Sequence[str]) -> None:
    """Refuse what is neither ``all`` nor one of a detector's sources."""
    if vary not in (ALL, *sources):
        expected = ", ".join((ALL, *sources))
        raise InputError("bad parameter", field="vary", expected=expected, got=vary)


def source_seeds(seed: int, vary: str, sources: Sequence[str]) -> dict[str, int]:
    """A seed for each source of randomness.

    Args:
        seed: that of `fit`.
        vary: ``all``: it decides every source; or the one source that it decides, while the
            others keep the seed 0. Seed 0 is thus the same training for every ``vary``.
        sources: names, such as ``init`` (first weights), ``order`` (of the rows in an epoch) and
            ``held`` (train items held out for early stopping).
    """
    return {source: seed if vary in (ALL, source) else FIXED for source in sources}


def resample(items: NDArray, labels: NDArray, seed: int) -> NDArray[np.intp]:
    """Rows of as many items as there are, drawn with replacement; both labels are among them.

    Args:
        items: of each row, (n,).
        labels: 0 or 1, (n,), both.
        seed: of the draw.
    """
    names, of = np.unique(items, return_inverse=True)
    rows = [np.flatnonzero(of == place) for place in range(len(names))]
    draws = np.random.default_rng(seed)
    while True:
        drawn = np.concatenate([rows[k] for k in draws.integers(len(names), size=len(names))])
        if len(set(labels[drawn].tolist())) == 2:
            return drawn
