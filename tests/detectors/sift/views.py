"""Views with descriptors and environments, small and seeded."""

from __future__ import annotations

import numpy as np

from faithshift_data.environments import Environments
from tests.detectors.views import FakeView, make_view

AXES = ("base", "paraphrase", "language")


def sift_view(n: int = 96, seed: int = 0, *, scalars: bool = True, gap: float = 2.0) -> FakeView:
    """``n`` traces of 1 to 16 steps in three environments; the first channel tells the label."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    lengths = rng.integers(1, 17, n)
    mask = np.arange(16) < lengths[:, None]
    psi = rng.normal(size=(n, 16, 32)).astype(np.float32)
    psi[:, :, 0] += gap * labels[:, None]
    psi *= mask[:, :, None]
    names = np.array([AXES[i // 2 % 3] for i in range(n)])
    pairs = np.array([(i, i + 2) for i in range(0, n - 2, 6)])
    found = Environments(names, np.array(["m"] * n), pairs, np.array(["paraphrase"] * len(pairs)))
    view = make_view(
        labels.tolist(),
        descriptors=(psi, mask),
        scalars=rng.normal(size=(n, 4)).astype(np.float32) if scalars else None,
        environments=found,
        true_environments=names,
    )
    view.item_ids = np.array([f"i{i // 6:04d}" for i in range(n)])
    return view
