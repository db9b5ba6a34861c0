"""What is random in a training, and which of it the seed decides (S table 6)."""

from __future__ import annotations

from collections.abc import Sequence

from faithshift_data.errors import InputError

ALL = "all"
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
