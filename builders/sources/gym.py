"""Tasks of the ``reasoning-gym`` package, worded a second time for paraphrases."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from random import Random

from builders.sources import Question, Task, numeric_question

SOURCE, LICENCE = "reasoning-gym", "Apache-2.0"


def _entry(name: str, rng: Random, settings: dict[str, int]) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import reasoning_gym

        data = reasoning_gym.create_dataset(name, size=1, seed=rng.randrange(2**31), **settings)
    return {key: str(data[0][key]) for key in ("question", "answer")}


def _numeric(name: str, reword: Callable[[str], tuple[str, str]], **settings: int) -> Task:
    def task(rng: Random) -> Question:
        while True:
            entry = _entry(name, rng, settings)
            if re.fullmatch(r"-?\d{1,4}", entry["answer"]):
                return numeric_question(int(entry["answer"]), *reword(entry["question"].strip()))

    return task


def _numbers(text: str) -> str:
    return ", ".join(re.findall(r"\d+", text))


def _divisor(text: str) -> tuple[str, str]:
    numbers = _numbers(text)
    return (
        f"What is the greatest common divisor of {numbers}?",
        f"Find the largest whole number that divides all of {numbers}.",
    )


def _multiple(text: str) -> tuple[str, str]:
    numbers = _numbers(text)
    return (
        f"What is the least common multiple of {numbers}?",
        f"Find the smallest positive number that each of {numbers} divides.",
    )


def _legs(text: str) -> tuple[str, str]:
    herd = text.partition("if you have")[2].strip(" ?")
    return (
        f"How many legs are there in total if you have {herd}?",
        f"A keeper looks after {herd}. Count all the legs.",
    )


TASKS: dict[str, dict[str, Task]] = {
    "competition_math": {
        "gym_gcd": _numeric("gcd", _divisor),
        "gym_lcm": _numeric("lcm", _multiple),
    },
    "word_problems": {"gym_legs": _numeric("leg_counting", _legs, min_animals=2, max_animals=3)},
}
