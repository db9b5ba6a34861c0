"""Symbolic tasks in the manner of BIG-Bench Hard, four options each."""

from __future__ import annotations

from random import Random

from builders.sources import Question, Task

DOMAIN, SOURCE, LICENCE = "bbh_style", "faithshift-bbh-style", "CC-BY-4.0"

PEOPLE = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
GIFTS = ("a lamp", "a kite", "a drum", "a vase", "a rug", "a map")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# fmt: off
WORDS = (
    "anchor", "basket", "copper", "desert", "ember", "falcon", "garden", "harbour", "island",
    "jacket", "kettle", "lantern", "marble", "needle", "orchard", "pepper", "quartz", "river",
    "saddle", "timber", "umbrella", "velvet", "window", "yellow", "zebra",
)
# fmt: on


def swaps(rng: Random) -> Question:
    """Four people swap gifts; who holds what at the end."""
    people, gifts = rng.sample(PEOPLE, 4), rng.sample(GIFTS, 4)
    held = dict(zip(people, gifts, strict=True))
    moves = [rng.sample(people, 2) for _ in range(3)]
    for first, second in moves:
        held[first], held[second] = held[second], held[first]
    start = ", ".join(f"{p} has {g}" for p, g in zip(people, gifts, strict=True))
    story = ". Then ".join(f"{first} and {second} swap gifts" for first, second in moves)
    asked = rng.choice(people)
    wrong = tuple(gift for gift in gifts if gift != held[asked])
    return Question(
        (
            f"At first {start}. Then {story}. What does {asked} have at the end?",
            f"In the beginning {start}. After that {story}. Which gift is with {asked} now?",
        ),
        held[asked],
        wrong,
    )


def weekday(rng: Random) -> Question:
    """The weekday some days away."""
    today, shift = rng.randrange(7), rng.randint(3, 40)
    sign = rng.choice((1, -1))
    gold = DAYS[(today + sign * shift) % 7]
    when = "days from now" if sign > 0 else "days ago"
    verb = "will it be" if sign > 0 else "was it"
    wrong = tuple(rng.sample([day for day in DAYS if day != gold], 3))
    return Question(
        (
            f"Today is {DAYS[today]}. Which day of the week {verb} {shift} {when}?",
            f"If the calendar shows {DAYS[today]} today, what weekday {verb} {shift} {when}?",
        ),
        gold,
        wrong,
    )


def ordering(rng: Random) -> Question:
    """The order of four people in a race."""
    people = rng.sample(PEOPLE, 4)
    clues = [
        f"{people[0]} finished before {people[1]}",
        f"{people[1]} finished before {people[2]}",
        f"{people[2]} finished before {people[3]}",
    ]
    rng.shuffle(clues)
    rank = rng.randrange(4)
    place = ("first", "second", "third", "last")[rank]
    story = ". ".join(clues)
    wrong = tuple(person for person in people if person != people[rank])
    return Question(
        (
            f"Four runners raced. {story}. Who finished {place}?",
            f"{story}. Of these four runners, which one came {place}?",
        ),
        people[rank],
        wrong,
    )


def alphabet(rng: Random) -> Question:
    """A word's place in alphabetical order."""
    words = rng.sample(WORDS, 4)
    rank = rng.randrange(4)
    place = ("first", "second", "third", "last")[rank]
    gold = sorted(words)[rank]
    listed = ", ".join(words)
    return Question(
        (
            f"Put these words in alphabetical order: {listed}. Which word is {place}?",
            f"Sort {listed} from A to Z. Name the word that stands {place}.",
        ),
        gold,
        tuple(word for word in words if word != gold),
    )


def walk(rng: Random) -> Question:
    """The end of a walk on a grid."""
    compass = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
    first = rng.choice(("north", "south"))
    second = rng.choice(("east", "west"))
    a, b, c = rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 9)
    back = {"north": "south", "south": "north"}[first]
    y = compass[first][1] * (a - c)
    if y == 0:
        a += 1
        y = compass[first][1]
    vertical = "north" if y > 0 else "south"
    horizontal = second
    flip = {"north": "south", "south": "north", "east": "west", "west": "east"}
    gold = f"{vertical}-{horizontal}"
    wrong = (
        f"{flip[vertical]}-{horizontal}",
        f"{vertical}-{flip[horizontal]}",
        f"{flip[vertical]}-{flip[horizontal]}",
    )
    return Question(
        (
            f"You walk {a} steps {first}, then {b} steps {second}, then {c} steps {back}. In "
            f"which direction from the start are you?",
            f"From the start go {first} for {a} steps, {second} for {b} steps and {back} for {c} "
            f"steps. Which direction from the start describes where you stand?",
        ),
        gold,
        wrong,
    )


TASKS: dict[str, Task] = {
    "swaps": swaps,
    "weekday": weekday,
    "ordering": ordering,
    "alphabet": alphabet,
    "walk": walk,
}
