"""The answer extractor against a golden table, and its properties."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faithshift_data import InputError, extract_answer

GOLDEN = tomllib.loads((Path(__file__).parent / "answers.toml").read_text("utf-8"))
OPTIONS = {"letter": ["ten", "five", "two", "nine"], "text": ["Paris", "Rome", "New Rome"]}
CASES = [
    (kind, text, want)
    for kind, by_answer in GOLDEN.items()
    for want, texts in by_answer.items()
    for text in texts
]


def test_the_table_is_large_enough() -> None:
    assert len(CASES) >= 100


@pytest.mark.parametrize(("kind", "text", "want"), CASES)
def test_golden(kind: str, text: str, want: str) -> None:
    found = extract_answer(text, kind=kind, options=OPTIONS.get(kind))
    assert (found.value or f"<{found.status}>") == want, found.reason
    assert (found.value is None) == (found.status != "explicit")
    assert found.reason


@pytest.mark.parametrize("letter", "ABCDEFGHIJ")
def test_every_letter_can_be_the_answer(letter: str) -> None:
    options = [f"option text {n}" for n in range(10)]
    for text in (
        f"{letter} because I computed it",
        f"So the answer is ({letter}).",
        letter.lower(),
    ):
        assert extract_answer(text, kind="letter", options=options).value == letter


def test_option_text_stands_for_its_letter() -> None:
    options = ["40", "42", "1,000"]
    assert extract_answer("The answer is 42.", kind="letter", options=options).value == "B"
    assert extract_answer("The answer is 1000.", kind="letter", options=options).value == "C"
    assert extract_answer("The answer is 41.", kind="letter", options=options).value is None


def test_a_number_must_be_an_option_where_there_are_options() -> None:
    options = ["8", "9.50"]
    assert extract_answer("The answer is 9.5", kind="number", options=options).value == "9.5"
    assert extract_answer("The answer is 7", kind="number", options=options).status == "out_of_set"


def test_text_without_options_is_taken_as_written() -> None:
    assert extract_answer("The answer is the Red Car.", kind="text").value == "Red Car"
    assert extract_answer("One line.\nAnother line.", kind="text").status == "none"


def test_none_and_unknown_kind() -> None:
    assert extract_answer(None, kind="letter").reason == "empty text"
    with pytest.raises(InputError, match="field kind"):
        extract_answer("x", kind="word")


@given(st.integers(1, 5), st.integers(-(10**9), 10**9))
def test_repeated_boxes_equal_one(times: int, number: int) -> None:
    text = f"\\boxed{{{number:,}}} " * times
    assert extract_answer(text, kind="number").value == str(number)


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="ABCDaxI0123456789().,:*\\{}$=-/ \n\u202f", max_size=60),
    st.sampled_from(["letter", "number", "text"]),
)
def test_any_text_gives_an_answer_or_a_reason(text: str, kind: str) -> None:
    found = extract_answer("The answer is " + text, kind=kind, options=["3", "AB", "7", "x"])
    assert found.reason
    if kind == "letter" and found.value is not None:
        assert found.value in "ABCD"


@given(st.text(max_size=40))
def test_a_stated_answer_wins_over_any_text_before_it(before: str) -> None:
    text = before + "\nThe answer is (C)."
    assert extract_answer(text, kind="letter", options=list("wxyz")).value == "C"
