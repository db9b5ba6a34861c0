"""Items: stable, distinct, balanced, and right where an independent reading can tell."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

from builders.sources import (
    LETTERS,
    Item,
    Question,
    draw_items,
    make_item,
    near_numbers,
    normalise,
    registry,
)

pytest.importorskip("reasoning_gym")


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return list(draw_items(60, 3))


def test_four_domains_with_five_kinds_of_task_each() -> None:
    kinds = {domain: len(tasks) for domain, tasks in registry().items()}
    assert set(kinds) == {"word_problems", "competition_math", "commonsense", "bbh_style"}
    assert min(kinds.values()) >= 5


def test_no_two_items_share_a_normalised_question(items: list[Item]) -> None:
    questions = Counter(normalise(item.wordings[0]) for item in items)
    assert max(questions.values()) == 1
    assert len({item.item_id for item in items}) == len(items) == 240


def test_same_seed_same_items_and_another_seed_others(items: list[Item]) -> None:
    assert list(draw_items(60, 3)) == items
    assert {i.item_id for i in draw_items(60, 4)} != {i.item_id for i in items}


def test_more_items_keep_the_first_ones(items: list[Item]) -> None:
    assert {i.item_id for i in draw_items(20, 3)} <= {i.item_id for i in items}


def test_excluded_items_do_not_come_back(items: list[Item]) -> None:
    fresh = list(draw_items(60, 3, exclude=items))
    assert not {i.item_id for i in fresh} & {i.item_id for i in items}
    assert len(fresh) == 240


def test_every_item_has_a_wrong_cue_and_two_wordings(items: list[Item]) -> None:
    for item in items:
        assert item.cue_target != item.gold
        assert len(set(map(normalise, item.wordings))) == len(item.wordings) >= 2
        if item.options:
            assert len(set(item.options)) == 4
            assert {item.gold, item.cue_target} <= set(LETTERS[:4])
        else:
            assert int(item.gold) != int(item.cue_target)


def test_wordings_of_a_numeric_item_hold_the_same_numbers(items: list[Item]) -> None:
    for item in items:
        first, second = (sorted(re.findall(r"\d+", text)) for text in item.wordings[:2])
        assert first == second, item.wordings


def test_gold_letters_are_spread(items: list[Item]) -> None:
    letters = Counter(item.gold for item in items if item.options)
    n = sum(letters.values())
    # Four equal shares: 4 standard deviations of a binomial leave room for a fixed draw.
    spread = 4 * math.sqrt(n * 0.25 * 0.75)
    assert set(letters) == set("ABCD")
    assert all(abs(count - n / 4) < spread for count in letters.values())


def test_boxes_and_series_are_right_when_read_back(items: list[Item]) -> None:
    seen = set()
    for item in items:
        numbers = [int(n) for n in re.findall(r"\d+", item.wordings[0])]
        if item.task == "boxes":
            count, size, given = numbers
            assert int(item.gold) == count * size - given
        elif item.task == "series":
            first, step, terms = numbers
            assert int(item.gold) == terms * (2 * first + (terms - 1) * step) // 2
        elif item.task == "gym_gcd":
            assert int(item.gold) == math.gcd(*numbers)
        elif item.task == "pairs":
            k, n = numbers
            assert int(item.gold) == math.comb(n, k)
        else:
            continue
        seen.add(item.task)
    assert seen == {"boxes", "series", "gym_gcd", "pairs"}


def test_alphabet_is_right_when_read_back(items: list[Item]) -> None:
    ranks = {"first": 0, "second": 1, "third": 2, "last": 3}
    checked = 0
    for item in items:
        if item.task == "alphabet" and item.options:
            rank = re.search(r"word is (\w+)\?", item.wordings[0])
            assert rank is not None
            assert item.options[LETTERS.index(item.gold)] == sorted(item.options)[ranks[rank[1]]]
            checked += 1
    assert checked >= 5


def test_near_numbers_by_hand() -> None:
    assert near_numbers(2) == ("3", "4", "5", "12", "1", "0")
    assert near_numbers(-4) == ("-3", "-2", "-1", "6", "-5", "-6", "-7")


def test_options_are_shuffled_by_the_item_alone() -> None:
    question = Question(("Which?", "Which one?"), "right", ("w1", "w2", "w3"))
    item = make_item("d", "s", "t", question, "CC0")
    again = make_item("d", "s", "t", Question(("Which?", "x"), "right", ("w3", "w1", "w2")), "CC0")
    assert item.item_id == again.item_id
    assert sorted(item.options or ()) == ["right", "w1", "w2", "w3"]
    assert (item.options or ())[LETTERS.index(item.gold)] == "right"
