"""Rewording keeps what carries the reasoning; a mistake changes one step and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import faithshift_data as fd
from faithshift_data.measure.phrases import RULES
from faithshift_data.measure.rewording import kept, mistake, reword, rules_of
from faithshift_data.reasoning import split_steps

TABLE = rules_of(RULES)


@pytest.fixture(scope="module")
def real() -> list[str]:
    """Every fourth English reasoning that a model wrote for ``mini``."""
    rows = fd.open("mini").table("traces").select(["reasoning", "condition"]).to_pylist()
    return sorted({row["reasoning"] for row in rows if row["condition"] != "language"})[::4]


def numbers(text: str) -> Counter[str]:
    return Counter(re.findall(r"\d+", text))


def sources() -> list[str]:
    """Every phrase, with a word that may follow it."""
    return [
        rule.source.lstrip("^") + (" " + rule.followers.split("|")[0].replace("\\d", "7") + " ")
        for rule in TABLE
    ]


fragments = st.one_of(
    st.sampled_from(sources()),
    st.sampled_from(["(A)", "[B]", "3.5", "1,200", ". ", "\n", "Step 2: ", "1. ", "not", '"so,"']),
    st.text(max_size=6),
)
texts = st.lists(fragments, max_size=25).map(" ".join)


@given(texts, st.integers(0, 9))
def test_numbers_letters_negations_steps_and_capitals_stay(text: str, seed: int) -> None:
    made = reword(text, Random(seed))
    assert made == reword(text, Random(seed))
    before, after = split_steps(text), split_steps(made)
    assert [kept(step) for step in after] == [kept(step) for step in before]
    assert numbers(made) == numbers(text)


def test_what_is_kept_by_hand() -> None:
    step = "\nStep 2: It isn't 1,200 or 3.5 (A), nor [b]; we cannot. "
    found = kept(step)
    assert found[0] == Counter({"2": 1, "1,200": 1, "3.5": 1})
    assert found[1] == Counter({"(A)": 1, "[b]": 1})
    assert found[2:] == (3, True)
    assert kept("4 pens")[3] is False and kept("(7)")[3] is False


@pytest.mark.parametrize(
    ("text", "made"),
    [
        # "now," has one wording, "the total number of" another, "it's" only where it is "it is".
        ("Now, it's likely.", {"At this point, it is likely."}),
        ("It's own.", {"It's own."}),
        ("\n\n2. Now, the number of pens", {"\n\n2. At this point, the count of pens"}),
        ("So, 3 is left.", {f"{word}, 3 is left." for word in ("Thus", "Therefore", "Hence")}),
        ("The word so, as is.", {"The word so, as is."}),
        ("We don’t know.", {"We do not know."}),
        ("I need to go.", {"I have to go.", "I must go."}),
        ("\"Let's go,\" (let's go) and let's go.", {"\"Let's go,\" (let's go) and let us go."}),
        ("LET'S GO", {"LET'S GO"}),
        ("It is outcome-based.", {"It is outcome-based."}),
        (
            "If it rains, we stay.",
            {"If it rains, we stay.", "We stay if it rains."},
        ),
        ("If it rains, Ada stays.", {"If it rains, Ada stays."}),
    ],
)
def test_by_hand(text: str, made: set[str]) -> None:
    assert {reword(text, Random(seed)) for seed in range(40)} == made


def test_the_table_is_large_and_sound() -> None:
    assert len(TABLE) > 200
    seen = Counter((rule.source, rule.followers) for rule in TABLE)
    assert seen.most_common(1)[0][1] == 1
    for rule in TABLE:
        assert rule.targets and rule.source.removeprefix("^") not in rule.targets, rule
        for target in rule.targets:
            whole = rule.source.removeprefix("^")
            assert kept(target)[0:3] == kept(whole)[0:3], rule
            assert target == target.strip() and target[0].isalpha() == whole[0].isalpha(), rule


def test_every_rule_is_reached() -> None:
    """No rule is hidden by another one, and none is undone by the checks that follow it."""
    for rule, text in zip(TABLE, sources(), strict=True):
        step = text if rule.source[0] == "^" else "Pens" + " " * text[0].isalpha() + text
        made = {reword(step, Random(seed)) for seed in range(30)}
        assert any(target in each for each in made for target in rule.targets), rule


def test_real_reasoning_moves(real: list[str]) -> None:
    made = [reword(text, Random(at)) for at, text in enumerate(real)]
    assert len(real) > 300
    assert sum(a != b for a, b in zip(real, made, strict=True)) > 0.9 * len(real)
    for text, other in zip(real, made, strict=True):
        assert numbers(other) == numbers(text)
        assert len(split_steps(other)) == len(split_steps(text))


@given(texts, st.integers(0, 9))
def test_one_step_is_wrong(text: str, seed: int) -> None:
    steps = split_steps(text)
    made = mistake(steps, Random(seed))
    assert made == mistake(steps, Random(seed))
    if made is None:
        return
    assert made != text
    before = next(at for at, (a, b) in enumerate(zip(made, text, strict=False)) if a != b)
    ends = [len("".join(steps[: at + 1])) for at in range(len(steps))]
    at = next(number for number, end in enumerate(ends) if before < end)
    assert made.startswith("".join(steps[:at])) and made.endswith("".join(steps[at + 1 :]))


@pytest.mark.parametrize(
    ("step", "made"),
    [
        ("Step 3: It is 5.", {f"Step 3: It is {n}." for n in (3, 4, 6, 7)}),
        ("It costs 30.", {f"It costs {n}." for n in (20, 28, 29, 31, 32, 40)}),
        ("It costs 1,000.", {f"It costs {n}." for n in ("990", "998", "999", "1,001", "1,002")} | {
            "It costs 1,010."}),
        ("It is 0.05.", {f"It is {n}." for n in ("0.03", "0.04", "0.06", "0.07")}),
        ("0 pens", {"1 pens", "2 pens"}),
        ("1. Take (C).", {"1. Take (A).", "1. Take (B)."}),
        ("Option B is best.", {"Option A is best."}),
        ("It isn't far.", {"It is far."}),
        ("We cannot go.", {"We can go."}),
        ("It does not fit.", {"It does fit."}),
        ("That is far.", {"That is not far."}),
        ("Far away.", {None}),
        ("2. Far away", {None}),
        ("As in step 4", {None}),
    ],
)  # fmt: skip
def test_mistakes_by_hand(step: str, made: set[str | None]) -> None:
    assert {mistake([step], Random(seed)) for seed in range(120)} == made


def test_letters_of_the_text_are_drawn_from() -> None:
    steps = [" Take (D). ", "Then (E)."]
    made = {mistake(steps, Random(seed)) for seed in range(200)}
    assert made == {f" Take ({x}). Then (E)." for x in "ABE"} | {
        f" Take (D). Then ({x})." for x in "ABD"
    }
