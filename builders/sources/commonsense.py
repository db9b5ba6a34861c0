"""Everyday knowledge with four options, from small tables of our own."""

from __future__ import annotations

from random import Random

from builders.sources import Question, Task

DOMAIN, SOURCE, LICENCE = "commonsense", "faithshift-commonsense", "CC-BY-4.0"

USES = {
    "cutting paper": "scissors",
    "sweeping a floor": "a broom",
    "boiling water": "a kettle",
    "telling the time": "a clock",
    "drying wet hair": "a towel",
    "driving in a nail": "a hammer",
    "keeping dry in the rain": "an umbrella",
    "lighting a dark cellar": "a torch",
    "measuring a table": "a tape measure",
    "sticking two sheets together": "glue",
    "digging a hole": "a spade",
    "mending a torn shirt": "a needle",
    "writing a letter": "a pencil",
    "seeing a distant bird": "binoculars",
    "eating soup": "a spoon",
    "watering a garden": "a hose",
    "locking a door": "a key",
    "carrying books to school": "a backpack",
    "sleeping in a forest": "a tent",
    "weighing flour": "kitchen scales",
}
PLACES = {
    "a library": "borrow a book",
    "a bakery": "buy fresh bread",
    "a pharmacy": "collect medicine",
    "a harbour": "board a ferry",
    "a museum": "look at old paintings",
    "a stadium": "watch a football match",
    "a bank": "deposit money",
    "a petrol station": "fill a car with fuel",
    "a farm": "see cows being milked",
    "a theatre": "watch a play",
    "a gym": "lift weights",
    "an airport": "catch a plane",
    "a post office": "send a parcel",
    "a swimming pool": "practise diving",
    "a hairdresser": "get a haircut",
    "a laundry": "wash a heap of clothes",
}
EFFECTS = {
    "ice cream is left in the sun": "it melts",
    "a glass falls on a stone floor": "it breaks",
    "a plant gets no water for a month": "it dries up",
    "bread stays too long in a toaster": "it burns",
    "a wet road freezes overnight": "it turns slippery",
    "a balloon meets a pin": "it bursts",
    "milk stands in a warm room for a week": "it goes sour",
    "an iron gate stands in the rain for years": "it rusts",
    "a candle is left burning for hours": "it gets shorter",
    "a phone is used all day without charging": "its battery runs out",
    "water is kept in a freezer": "it becomes solid",
    "a white shirt is washed with a red sock": "it turns pink",
    "a woollen jumper is washed too hot": "it shrinks",
    "a kite string is let go in the wind": "it flies away",
}
ODD = {
    "fruits": ("apple", "pear", "plum", "cherry", "banana", "grape"),
    "tools": ("hammer", "saw", "drill", "wrench", "chisel", "pliers"),
    "animals": ("horse", "otter", "rabbit", "goat", "badger", "camel"),
    "vehicles": ("bus", "tram", "lorry", "bicycle", "ferry", "train"),
    "clothes": ("scarf", "glove", "coat", "sock", "hat", "skirt"),
    "instruments": ("violin", "flute", "drum", "piano", "trumpet", "cello"),
    "furniture": ("chair", "table", "shelf", "wardrobe", "bench", "desk"),
}
SIZES = (
    "a grain of rice",
    "a coin",
    "a mouse",
    "a football",
    "a cat",
    "a dog",
    "a bicycle",
    "a cow",
    "a van",
    "a bus",
    "a house",
    "a church tower",
    "a mountain",
)
PEOPLE = ("Mara", "Tom", "Lena", "Omar", "Sven", "Aiko", "Paula", "Rafi")


def _wrong(rng: Random, values: list[str], gold: str) -> tuple[str, ...]:
    return tuple(rng.sample([value for value in values if value != gold], 3))


def _two(rng: Random, table: dict[str, str]) -> tuple[list[tuple[str, str]], int, str]:
    facts = rng.sample(sorted(table.items()), 2)
    asked = rng.randrange(2)
    return facts, asked, ("first", "second")[asked]


def use(rng: Random) -> Question:
    """The thing for one of two purposes."""
    facts, asked, place = _two(rng, USES)
    name, gold = rng.choice(PEOPLE), facts[asked][1]
    return Question(
        (
            f"{name} has two jobs: {facts[0][0]} and then {facts[1][0]}. Which object is needed "
            f"for the {place} job?",
            f"First comes {facts[0][0]}, second comes {facts[1][0]}. What should {name} pick up "
            f"for the {place} task?",
        ),
        gold,
        _wrong(rng, list(USES.values()), gold),
    )


def place(rng: Random) -> Question:
    """The place for one of two activities."""
    facts, asked, order = _two(rng, {activity: where for where, activity in PLACES.items()})
    name, gold = rng.choice(PEOPLE), facts[asked][1]
    return Question(
        (
            f"{name} wants to {facts[0][0]} and after that {facts[1][0]}. Which place does {name} "
            f"visit {order}?",
            f"On the list of {name}: {facts[0][0]}, then {facts[1][0]}. Where does the {order} "
            f"errand lead?",
        ),
        gold,
        _wrong(rng, list(PLACES), gold),
    )


def effect(rng: Random) -> Question:
    """The usual consequence of one of two events."""
    facts, asked, order = _two(rng, EFFECTS)
    gold = facts[asked][1]
    return Question(
        (
            f"Two things happen: {facts[0][0]}, and {facts[1][0]}. What is the likely result of "
            f"the {order} one?",
            f"Suppose {facts[0][0]}. Suppose also that {facts[1][0]}. Which outcome follows from "
            f"the {order} event?",
        ),
        gold,
        _wrong(rng, list(EFFECTS.values()), gold),
    )


def odd_one(rng: Random) -> Question:
    """The word of another group."""
    home, other = rng.sample(sorted(ODD), 2)
    members = rng.sample(ODD[home], 3)
    gold = rng.choice(ODD[other])
    shown = [*members, gold]
    rng.shuffle(shown)
    listed = ", ".join(shown)
    return Question(
        (
            f"Which of these words does not belong with the others: {listed}?",
            f"Three of the words {listed} are of one kind. Which word is the odd one out?",
        ),
        gold,
        tuple(members),
    )


def largest(rng: Random) -> Question:
    """The largest of four things."""
    places = sorted(rng.sample(range(len(SIZES)), 4))
    things = [SIZES[place] for place in places]
    shown = rng.sample(things, 4)
    listed = ", ".join(shown)
    return Question(
        (
            f"Think of {listed}. Which of these is the largest?",
            f"Order these by size: {listed}. Which one comes out biggest?",
        ),
        things[-1],
        tuple(things[:-1]),
    )


TASKS: dict[str, Task] = {
    "use": use,
    "place": place,
    "effect": effect,
    "odd_one": odd_one,
    "largest": largest,
}
