"""Items: questions with a known answer and a planted wrong one.

A source is one file with a ``TASKS`` table; a task draws the parts of a question and words it
in several ways, so that a paraphrase is another wording of the same facts.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from string import ascii_uppercase

from faithshift_data.schema import stable_id

LETTERS = ascii_uppercase


@dataclass(frozen=True)
class Question:
    """What a task draws.

    Attributes:
        wordings: the same question in at least two wordings; the first is the anchor's.
        gold: the right answer, a number or the text of an option.
        wrong: wrong answers; for a number the near ones, for options the other three.
    """

    wordings: tuple[str, ...]
    gold: str
    wrong: tuple[str, ...]


Task = Callable[[random.Random], Question]


@dataclass(frozen=True)
class Item:
    """One question as the stages see it; ids are content hashes."""

    item_id: str
    domain: str
    source: str
    task: str
    wordings: tuple[str, ...]
    options: tuple[str, ...] | None
    gold: str
    cue_target: str
    licence: str

    @property
    def answer_kind(self) -> str:
        """``letter`` where there are options, ``number`` otherwise."""
        return "letter" if self.options else "number"


def normalise(question: str) -> str:
    """Lower-case words and digits only: what decides whether two questions are the same."""
    return " ".join(re.findall(r"[a-z0-9]+", question.lower()))


def item_rng(item_id: str, purpose: str) -> random.Random:
    """A generator that depends on the item and the purpose alone, never on order."""
    digest = hashlib.sha256(f"{item_id}/{purpose}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def make_item(domain: str, source: str, task: str, question: Question, licence: str) -> Item:
    """Fix the id, shuffle the options by the id, and plant the wrong cue."""
    choices = not _is_number(question.gold)
    key = "/".join([normalise(question.wordings[0]), *sorted((question.gold, *question.wrong))])
    item_id = stable_id("q", source, task, key)
    options, gold = None, question.gold
    if choices:
        texts = [question.gold, *question.wrong]
        item_rng(item_id, "options").shuffle(texts)
        options, gold = tuple(texts), LETTERS[texts.index(question.gold)]
        wrong = [letter for letter in LETTERS[: len(texts)] if letter != gold]
    else:
        wrong = list(question.wrong)
    target = item_rng(item_id, "cue").choice(wrong)
    return Item(item_id, domain, source, task, question.wordings, options, gold, target, licence)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+", text) is not None


def near_numbers(gold: int) -> tuple[str, ...]:
    """Wrong numbers near the right one, all distinct and never negative when gold is not."""
    steps = [1, 2, 3, 10, -1, -2, -3]
    near = dict.fromkeys(gold + step for step in steps if gold < 0 or gold + step >= 0)
    return tuple(str(number) for number in near)


def numeric_question(gold: int, *wordings: str) -> Question:
    """A question with a number for an answer and near ones for wrong answers."""
    return Question(wordings, str(gold), near_numbers(gold))


@cache
def registry() -> dict[str, dict[str, tuple[str, str, Task]]]:
    """Domain -> task name -> (source, licence, task)."""
    from builders.sources import bbh_style, commonsense, competition_math, gym, word_problems

    tasks: dict[str, dict[str, tuple[str, str, Task]]] = {}
    for module in (word_problems, competition_math, commonsense, bbh_style):
        entries = {
            name: (module.SOURCE, module.LICENCE, task) for name, task in module.TASKS.items()
        }
        tasks[module.DOMAIN] = entries
    for domain, entries in gym.TASKS.items():
        tasks[domain] |= {name: (gym.SOURCE, gym.LICENCE, task) for name, task in entries.items()}
    return tasks


def draw_items(per_domain: int, seed: int, *, exclude: Iterable[Item] = ()) -> Iterator[Item]:
    """Candidate items, the task kinds of a domain taken in turn.

    No two items share a normalised question, not even across domains and seeds of one call.

    Args:
        per_domain: items a domain.
        seed: another seed draws other items.
        exclude: items whose questions must not come up, such as those of a pilot.

    Yields:
        ``per_domain`` items for each domain.
    """
    seen = {normalise(item.wordings[0]) for item in exclude}
    for domain, tasks in registry().items():
        names, found, attempt = sorted(tasks), 0, 0
        while found < per_domain:
            name = names[attempt % len(names)]
            source, licence, task = tasks[name]
            rng = random.Random(f"{seed}/{domain}/{name}/{attempt}")
            attempt += 1
            if attempt > 60 * per_domain:
                raise RuntimeError(f"{domain}: only {found} distinct items of {per_domain}")
            question = task(rng)
            key = normalise(question.wordings[0])
            if key in seen:
                continue
            seen.add(key)
            found += 1
            yield make_item(domain, source, name, question, licence)
