"""Word problems with a whole-number answer, two to three steps each."""

from __future__ import annotations

from random import Random

from builders.sources import Question, Task, numeric_question

DOMAIN, SOURCE, LICENCE = "word_problems", "faithshift-word-problems", "CC-BY-4.0"

NAMES = ("Amira", "Boris", "Chloe", "Diego", "Esra", "Femi", "Greta", "Hiro", "Ines", "Jonas")
GOODS = ("pens", "stickers", "marbles", "candles", "buttons", "postcards", "badges", "shells")


def boxes(rng: Random) -> Question:
    """Boxes bought, some pieces given away."""
    name, thing = rng.choice(NAMES), rng.choice(GOODS)
    count, size, given = rng.randint(3, 9), rng.randint(4, 12), rng.randint(2, 10)
    return numeric_question(
        count * size - given,
        f"{name} buys {count} boxes with {size} {thing} in each box and gives {given} {thing} "
        f"away. How many {thing} does {name} have left?",
        f"There are {size} {thing} in a box. {name} takes {count} such boxes home, then hands "
        f"{given} {thing} to a friend. What number of {thing} remains?",
    )


def savings(rng: Random) -> Question:
    """A weekly sum saved on top of a first amount."""
    name = rng.choice(NAMES)
    start, week, weeks = rng.randint(5, 40), rng.randint(3, 12), rng.randint(3, 9)
    return numeric_question(
        start + week * weeks,
        f"{name} has {start} dollars and saves {week} dollars every week. How many dollars does "
        f"{name} have after {weeks} weeks?",
        f"Every week {week} dollars go into {name}'s jar, which held {start} dollars at first. "
        f"Count the dollars in the jar once {weeks} weeks have passed.",
    )


def trip(rng: Random) -> Question:
    """Two legs of a trip at different speeds."""
    name = rng.choice(NAMES)
    slow, fast = rng.randint(3, 12), rng.randint(13, 30)
    first, second = rng.randint(2, 5), rng.randint(2, 5)
    return numeric_question(
        slow * first + fast * second,
        f"{name} walks {first} hours at {slow} km an hour and then cycles {second} hours at "
        f"{fast} km an hour. How many kilometres does {name} travel in all?",
        f"A day out: {second} hours on a bicycle at {fast} km an hour, after {first} hours on "
        f"foot at {slow} km an hour. What distance in kilometres did {name} cover?",
    )


def ages(rng: Random) -> Question:
    """An age from two relations."""
    old, young = rng.sample(NAMES, 2)
    age, times, years = rng.randint(3, 12), rng.randint(2, 4), rng.randint(2, 9)
    return numeric_question(
        age * times + years,
        f"{young} is {age} years old. {old} is {times} times as old as {young}. How old will "
        f"{old} be in {years} years?",
        f"{old} has lived {times} times as many years as {young}, who is {age}. State the age of "
        f"{old} after {years} more years.",
    )


def shopping(rng: Random) -> Question:
    """Change from a bill after two purchases."""
    name, (first, second) = rng.choice(NAMES), rng.sample(GOODS, 2)
    n, m, p, q = rng.randint(2, 6), rng.randint(2, 6), rng.randint(2, 7), rng.randint(2, 7)
    paid = 100
    return numeric_question(
        paid - n * p - m * q,
        f"{name} buys {n} {first} at {p} dollars each and {m} {second} at {q} dollars each, and "
        f"pays with {paid} dollars. How many dollars of change does {name} get?",
        f"At the shop one of the {first} costs {p} dollars and one of the {second} costs {q}. "
        f"{name} takes {n} {first} and {m} {second} and hands over {paid} dollars. How much "
        f"change, in dollars, comes back?",
    )


def sharing(rng: Random) -> Question:
    """Pieces shared out equally after some are set aside."""
    name, thing = rng.choice(NAMES), rng.choice(GOODS)
    friends, each, kept = rng.randint(3, 8), rng.randint(3, 9), rng.randint(2, 9)
    total = friends * each + kept
    return numeric_question(
        each,
        f"{name} has {total} {thing}, keeps {kept} and shares the rest equally among {friends} "
        f"friends. How many {thing} does each friend get?",
        f"Out of {total} {thing}, {kept} stay with {name} and the others are split evenly between "
        f"{friends} friends. Find the number of {thing} for one friend.",
    )


TASKS: dict[str, Task] = {
    "boxes": boxes,
    "savings": savings,
    "trip": trip,
    "ages": ages,
    "shopping": shopping,
    "sharing": sharing,
}
