"""What is written: whole steps, and a seed for every attempt."""

from __future__ import annotations

import pytest

from builders.writing import whole_steps
from faithshift_data.measure.engines import generation_seed


@pytest.mark.parametrize(
    ("text", "cut", "kept"),
    [
        (" One step. Two steps.\n", False, " One step. Two steps."),
        (" One step. Two st", True, " One step."),
        (" One step. Two steps.", True, " One step. Two steps."),
        (" One step. Two st", False, " One step. Two st"),
        (" torn", True, " torn"),
        ("", True, ""),
    ],
)
def test_a_cut_reasoning_loses_its_torn_step(text: str, cut: bool, kept: str) -> None:
    assert whole_steps(text, cut) == kept


def test_every_attempt_has_a_seed_of_its_own() -> None:
    seeds = {generation_seed(trace, attempt) for trace in ("t-1", "t-2") for attempt in range(4)}
    assert len(seeds) == 8 and all(0 <= seed < 2**31 for seed in seeds)
