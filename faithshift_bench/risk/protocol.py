"""How certificates are made: the default, and the two that are always printed beside it."""

from __future__ import annotations

from dataclasses import dataclass

from faithshift_bench.risk.plan import needs_tune


@dataclass(frozen=True)
class Protocol:
    """How certificates are made; fixed by the protocol's version, not chosen after a result."""

    unit: str = "clustered"
    bound: str = "betting"
    grid: str | tuple[float, ...] = "q5"
    multiplicity: str = "fixed_sequence"

    @property
    def name(self) -> str:
        """``unit/bound/grid/multiplicity``."""
        grid = self.grid if isinstance(self.grid, str) else f"{len(self.grid)} thresholds"
        return f"{self.unit}/{self.bound}/{grid}/{self.multiplicity}"

    @property
    def needs_tune(self) -> bool:
        """Whether labelled tune rows are needed (bets, order, or grid)."""
        return needs_tune(self.bound, self.multiplicity) or self.grid == "q5"


DEFAULT = Protocol()
ONE_PER_ITEM = Protocol("one_per_item", "exact", "q5", "fixed_sequence")
PUBLISHED = Protocol("one_per_item", "exact", "k/20", "bonferroni")
