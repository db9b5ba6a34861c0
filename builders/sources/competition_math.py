"""Short competition-style mathematics with a whole-number answer."""

from __future__ import annotations

from math import comb
from random import Random

from builders.sources import Question, Task, numeric_question

DOMAIN, SOURCE, LICENCE = "competition_math", "faithshift-competition-math", "CC-BY-4.0"


def remainder(rng: Random) -> Question:
    """The remainder of a sum of products."""
    a, b, c, m = rng.randint(4, 19), rng.randint(4, 19), rng.randint(2, 30), rng.randint(5, 13)
    return numeric_question(
        (a * b + c) % m,
        f"What is the remainder when {a} times {b} plus {c} is divided by {m}?",
        f"Multiply {a} by {b}, add {c}, and divide the result by {m}. Which remainder is left?",
    )


def series(rng: Random) -> Question:
    """The sum of a short arithmetic progression."""
    first, step, terms = rng.randint(1, 12), rng.randint(2, 7), rng.randint(4, 7)
    total = sum(first + step * k for k in range(terms))
    return numeric_question(
        total,
        f"An arithmetic sequence starts at {first} and grows by {step} at every step. What is the "
        f"sum of its first {terms} terms?",
        f"Add up the first {terms} members of the arithmetic progression with first member "
        f"{first} and common difference {step}. What total comes out?",
    )


def rectangle(rng: Random) -> Question:
    """An area from a perimeter and one side."""
    side, other = rng.randint(3, 15), rng.randint(3, 15)
    return numeric_question(
        side * other,
        f"A rectangle has perimeter {2 * (side + other)} and one side of length {side}. What is "
        f"its area?",
        f"One side of a rectangle measures {side} and its perimeter is {2 * (side + other)}. "
        f"Find the area of the rectangle.",
    )


def pairs(rng: Random) -> Question:
    """The number of ways to choose two or three of n."""
    n, k = rng.randint(4, 11), rng.choice((2, 3))
    crowd = rng.choice(("players", "books", "colours", "cards", "singers"))
    return numeric_question(
        comb(n, k),
        f"In how many ways can {k} {crowd} be chosen from {n} {crowd}, if order does not matter?",
        f"From {n} {crowd} a set of {k} is picked without regard to order. Count the possible "
        f"sets.",
    )


def digits(rng: Random) -> Question:
    """The digit sum of a product."""
    a, b = rng.randint(12, 39), rng.randint(4, 12)
    return numeric_question(
        sum(map(int, str(a * b))),
        f"What is the sum of the digits of {a} times {b}?",
        f"Compute {a} times {b} and add the digits of the product. What number results?",
    )


def average(rng: Random) -> Question:
    """The missing number behind a known mean."""
    known = [rng.randint(4, 30) for _ in range(3)]
    mean = rng.randint(max(known), max(known) + 9)
    missing = 4 * mean - sum(known)
    listed = ", ".join(map(str, known))
    return numeric_question(
        missing,
        f"The mean of four numbers is {mean}. Three of them are {listed}. What is the fourth?",
        f"Four numbers average {mean}, and {listed} are three of them. Determine the number that "
        f"is missing.",
    )


TASKS: dict[str, Task] = {
    "remainder": remainder,
    "series": series,
    "rectangle": rectangle,
    "pairs": pairs,
    "digits": digits,
    "average": average,
}
