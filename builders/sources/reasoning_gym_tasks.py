"""Tasks of the ``reasoning-gym`` package as it words them, where the answer is a number."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from builders.sources.given import Given, Unusable
from faithshift_data.errors import InputError
from faithshift_data.splits import unit_hash

if TYPE_CHECKING:
    from builders.presets.uses import SourceUse

TASKS = (
    "aiw",
    "basic_arithmetic",
    "chain_sum",
    "count_primes",
    "gcd",
    "gsm_symbolic",
    "lcm",
    "leg_counting",
    "letter_counting",
    "number_sequence",
    "simple_equations",
)
SPARE = 2.0


@dataclass(frozen=True)
class GymSource:
    """The generators of the installed package; its version is in a manifest's environment."""

    name: str = "reasoning_gym"
    revision: str = ""

    def questions(self, use: SourceUse, wanted: int, seed: int) -> Iterator[Given | Unusable]:
        """Twice as many as wanted, the same number of every task.

        Raises:
            InputError: a task that the package does not have.
        """
        import reasoning_gym

        tasks = use.tasks or TASKS
        size = ceil(SPARE * wanted / len(tasks))
        for task in tasks:
            draw = int(2**31 * unit_hash("reasoning_gym", seed, task))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    data = reasoning_gym.create_dataset(task, size=size, seed=draw)
                except ValueError:
                    raise InputError(
                        "unknown", file=self.name, field="tasks", expected="its own", got=task
                    ) from None
            for place in range(size):
                entry = data[place]
                yield Given(task, str(entry["question"]), str(entry["answer"]))

    def stated(self, use: SourceUse) -> tuple[str, str, str]:
        """The package and its licence."""
        return "reasoning-gym", "Apache-2.0", "PyPI package reasoning-gym, procedural tasks"


SOURCE = GymSource()
