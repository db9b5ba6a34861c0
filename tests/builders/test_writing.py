"""What is written: whole steps, and a seed for every attempt."""

from __future__ import annotations

import pytest

from builders.writing import reasoning_in, whole_steps
from faithshift_data.measure.engines import Completion, generation_seed


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


@pytest.mark.parametrize(
    ("prompt", "text", "finish", "found"),
    [
        ("U<think>\nLet's think.", " So.</think>\n\nAnswer", "stop", (" So.", False)),
        ("U<think>\nLet's think.", " So it", "length", (" So it", True)),
        ("U<think>\nLet's think.", " So it", "stop", (" So it", True)),  # never closed
        ("Let's think.", " So.</think> B", "stop", (" So.</think> B", False)),
        ("Let's think.", " So it", "length", (" So it", True)),
    ],
)
def test_what_follows_the_block_of_a_prompt_is_no_reasoning(prompt, text, finish, found) -> None:
    assistant = f"<|im_start|>assistant\n{prompt}"
    assert reasoning_in(Completion(text, finish, 3), assistant) == found


def test_every_attempt_has_a_seed_of_its_own() -> None:
    seeds = {generation_seed(trace, attempt) for trace in ("t-1", "t-2") for attempt in range(4)}
    assert len(seeds) == 8 and all(0 <= seed < 2**31 for seed in seeds)
