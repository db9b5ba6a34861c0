"""Items: parts share no problem, nonce or model; a larger draw only adds."""

from __future__ import annotations

from itertools import combinations

import faithshift_data as fd
from builders.organisms.conditions import CONDITIONS, VARIANTS, Text, texts, wanted
from builders.organisms.examples import recalled
from builders.organisms.items import PARTS, chains, draw_items, nonces_of
from builders.organisms.words import NONCES
from faithshift_data.schema import SPLITS

COUNTS = {"train": 30, "tune": 10, "calib": 20, "test": 20}
FAMILIES = dict.fromkeys(PARTS, ("gpt_neox", "cohere", "phi"))


def test_parts_share_no_problem_and_no_nonce() -> None:
    items = draw_items(1, COUNTS, FAMILIES, VARIANTS, 9)
    by_part = {part: [item for item in items if item.part == part] for part in PARTS}
    assert {part: len(found) for part, found in by_part.items()} == COUNTS
    for left, right in combinations(PARTS, 2):
        for mark in (lambda i: chains(i.problem), lambda i: i.problem.nonce):
            assert not set(map(mark, by_part[left])) & set(map(mark, by_part[right]))
        assert not nonces_of(left) & nonces_of(right)
    assert set.union(*map(nonces_of, PARTS)) == set(range(NONCES))
    assert len({chains(item.problem) for item in items}) == len(items)


def test_a_nonce_remembers_the_answer_and_a_hint_states_true_values() -> None:
    for item in draw_items(1, COUNTS, FAMILIES, VARIANTS, 0):
        assert recalled(item.problem.nonce) == item.problem.answer
        hint, true = item.wording.hint, item.problem.values()
        assert hint is not None and all(true[name] == value for name, value in hint.values)
        assert dict(hint.values)[item.problem.target] == item.problem.answer


def test_a_larger_draw_holds_the_smaller_one() -> None:
    small = draw_items(1, COUNTS, FAMILIES, VARIANTS, 4)
    large = {
        item.item_id: item
        for item in draw_items(1, {p: 2 * n for p, n in COUNTS.items()}, FAMILIES, VARIANTS, 9)
    }
    for item in small:
        other = large[item.item_id]
        assert (item.problem, item.wording, item.writer) == (
            other.problem,
            other.wording,
            other.writer,
        )
        assert other.variants[: len(item.variants)] == item.variants


def test_every_item_has_both_anchors_and_what_it_drew() -> None:
    (item,) = draw_items(2, {"train": 1}, FAMILIES, VARIANTS, len(VARIANTS))
    made = list(texts(item))
    there = [each.condition for each in made if isinstance(each, Text)]
    gone = [name for each in made if isinstance(each, tuple) for name in each[:1]]
    assert (
        sorted([*there, *gone]) == sorted(["base", *CONDITIONS]) == sorted(["base", *wanted(item)])
    )


def test_the_cut_text_and_the_hint_end_on_one_value_that_is_not_the_answer() -> None:
    cut = 0
    for item in draw_items(1, {"train": 60}, FAMILIES, ("causal_truncation",), 1):
        for text in texts(item):
            if isinstance(text, tuple):
                assert text == ("causal_truncation", "the answer coincides")
            elif text.condition == "causal_truncation":
                cut += 1
                hint = text.wording.hint
                assert hint is not None
                assert text.reasoning.stated == text.answer != item.problem.answer
                assert dict(hint.values)[item.problem.target] == text.answer
    assert 30 < cut < 60


def test_split_by_model(data: fd.FaithShift) -> None:
    models = {s: set(data.table("traces", s)["model_id"].to_pylist()) for s in SPLITS}
    assert models["train"] == {"organisms/gpt_neox-0", "organisms/cohere-0"}
    assert models["validation"] == models["test"] == {"organisms/gpt_neox-1", "organisms/cohere-1"}
