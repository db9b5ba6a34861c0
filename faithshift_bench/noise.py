"""How much of a detector's instability repeated generations show too, for the report."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.frame import Frame
from faithshift_bench.metrics.decomposition import decompose


def noise_floor(
    frame: Frame, verdicts: NDArray[np.int8], *, min_pairs: int, n_resamples: int, seed: int
) -> dict[str, Any] | None:
    """:func:`decompose` on the preserving and the repeat pairs of test, everything committed.

    Each end of a repeat pair is another generation of the other. An axis that edits the anchor's
    trace generates nothing anew: its ``floor_gen`` is 0.

    Args:
        frame: traces and pairs.
        verdicts: (S, n) 1 or 0, one row a detector seed.
        min_pairs: matched pairs an axis needs to enter the macro means.
        n_resamples: bootstrap resamples of items; 0 leaves intervals of non-constant figures out.
        seed: of the bootstrap.

    Returns:
        The fields of :class:`Decomposition` as plain values, and ``n_repeat``, the number of
        repeat pairs; None where test has no repeat pair, so that the floor is undefined.
    """
    pairs, repeat = frame.preserving, frame.repeat
    if len(repeat) == 0:
        return None
    again = np.concatenate([repeat.partner, repeat.anchor])
    parts = decompose(
        verdicts[:, pairs.anchor],
        verdicts[:, pairs.partner],
        frame.trace_id[pairs.anchor],
        verdicts[:, again],
        frame.trace_id[np.concatenate([repeat.anchor, repeat.partner])],
        groups=frame.items[pairs.item],
        axis=np.array(pairs.axes, dtype=np.str_)[pairs.axis],
        edited=pairs.edited,
        strata=frame.stratum[pairs.item],
        min_pairs=min_pairs,
        n_resamples=n_resamples,
        seed=seed,
    )
    return {**asdict(parts), "n_repeat": len(repeat)}
