"""The answer extractor against golden strings, and its properties."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faithshift_data import InputError, extract_answer

GOLDEN = [
    json.loads(line)
    for line in (Path(__file__).parent / "answers_golden.jsonl").read_text("utf-8").splitlines()
]
KINDS = st.sampled_from(["letter", "number", "text"])
OPTIONS = st.sampled_from([None, ["ten", "five", "two", "nine"], ["Yes", "No"], ["1,000", "7"]])
# Pieces that mean something to the extractor, so that random text reaches its corners.
PIECES = st.sampled_from(
    ["Answer:", "The answer is ", "respuesta es ", "I say ", "none of the ", "cannot be determined"]
    + [
        "\\boxed{",
        "}",
        "\\frac{",
        "{",
        "^\\circ",
        "\\",
        "**",
        "_",
        "`",
        "\n",
        "####",
        ">",
        "#",
        "$",
    ]
    + [
        "<|eot_id|>",
        "</s>",
        "</think>",
        "Q:",
        "A:",
        "(A)",
        "(b)",
        "C",
        "D.",
        "x",
        "no",
        "Yes",
        "12",
    ]
    + [
        "1,000",
        ".5",
        "-",
        "=",
        "%",
        "/0",
        "or ",
        "and ",
        "not ",
        "'",
        '"',
        ";",
        ". ",
        ": ",
        "[",
        "]",
    ]
    + [" ", "\u00a0", "\u2212", "\u00bd", "\uff22"]
)
SNIPPETS = st.lists(PIECES | st.text(max_size=4), max_size=14).map("".join)


def test_the_table_is_large_and_names_its_cases() -> None:
    assert len({(row["kind"], str(row["options"]), row["text"]) for row in GOLDEN}) == len(GOLDEN)
    assert len(GOLDEN) >= 120 and {row["kind"] for row in GOLDEN} == {"letter", "number", "text"}
    for pitfall in ("P1:", "P2:", "P3:", "P4:", "P5:", "P6:", "P7:", "P8:", "P9:", "P10:", "P11:"):
        assert sum(row["case"].startswith(pitfall) for row in GOLDEN) >= 3, pitfall


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["case"][:30])
def test_golden(row: dict) -> None:
    found = extract_answer(row["text"], kind=row["kind"], options=row["options"])
    assert (found.value, found.status) == (row["value"], row["status"]), found.reason
    assert found.reason


@pytest.mark.parametrize(
    "row", [row for row in GOLDEN if row["status"] == "explicit"], ids=lambda row: row["case"][:30]
)
def test_an_answer_states_itself_within_any_markup(row: dict) -> None:
    value, kind, options = row["value"], row["kind"], row["options"]
    wraps = ["{}", " {}\n\n", "\u00a0{}\u202f", "**{}**", "__{}__", "`{}`", "> {}", "{}<|eot_id|>"]
    wraps += ["The answer is {}.", "**Answer:** {}", "<answer>{}</answer>", "Respuesta: **{}**"]
    for wrap in wraps:
        assert extract_answer(wrap.format(value), kind=kind, options=options).value == value, wrap


@pytest.mark.parametrize("letter", "ABCDEFGHIJ")
def test_every_letter_can_be_the_answer(letter: str) -> None:
    options = [f"option text {n}" for n in range(10)]
    for text in (
        f"{letter} because I computed it",
        f"So the answer is ({letter}).",
        f"La respuesta es ({letter}).",
        letter.lower(),
    ):
        assert extract_answer(text, kind="letter", options=options).value == letter


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "empty text"),
        (" \n", "empty text"),
        ("\\boxed{4", "no closed text"),
        ("I cannot determine this.", "declines to answer"),
        ("The parts add up to much. " * 9 + "So we take the", "cut off before an answer"),
        ("We shall see.", "no answer stated"),
    ],
)
def test_none_says_why(text: str | None, reason: str) -> None:
    found = extract_answer(text, kind="letter", options=["x", "y"])
    assert (found.value, found.status, found.reason) == (None, "none", reason)


ANNOUNCED = ("Answer:", "The answer is", "Final answer:", "Respuesta:", "La respuesta es", "Answer")
ANNOUNCED += ("A:", "Solution:", "I would say", "Let me think:", "So my final answer is", "答案：")


@pytest.mark.parametrize("text", [*ANNOUNCED, "\\boxed{}", "Answer: ...", "####"])
@pytest.mark.parametrize("wrap", ["{}", "**{}**", "> {}\n", "I do wonder.\n\n{}", "{}<|eot_id|>"])
def test_an_announcement_is_no_answer(text: str, wrap: str) -> None:
    found = extract_answer(wrap.format(text), kind="text")
    assert (found.value, found.status) == (None, "none") and found.reason


@pytest.mark.parametrize(
    "text", ["The answer is not Rome.", "The answer isn't Rome", "La respuesta no es Roma."]
)
def test_what_an_answer_is_not_is_no_answer(text: str) -> None:
    assert extract_answer(text, kind="text").status == "none"


@pytest.mark.parametrize("text", ["#", "C#", "It is 5:30", "Not Rome", "No es una pipa"])
def test_what_looks_like_an_announcement_is_an_answer(text: str) -> None:
    assert extract_answer(text, kind="text").value == text
    assert extract_answer(f"{text}. Answer: {text}", kind="text").value == text


def test_unknown_kind() -> None:
    with pytest.raises(InputError, match="field kind: unknown .expected letter, number, text, got"):
        extract_answer("x", kind="word")


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(-(10**9), 10**9))
def test_repeated_boxes_equal_one(times: int, number: int) -> None:
    text = f"\\boxed{{{number:,}}} " * times
    assert extract_answer(text, kind="number").value == str(number)


@settings(max_examples=500, deadline=None)
@given(SNIPPETS | st.text(), KINDS, OPTIONS)
def test_any_text_gives_one_answer_or_a_reason(text: str, kind: str, options: list | None) -> None:
    found = extract_answer(text, kind=kind, options=options)
    assert found.reason
    assert (found.value is None) == (found.status != "explicit")
    if found.value is not None and kind == "letter":
        assert found.value in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(options) if options else 26]
    if found.value is not None and kind == "text" and options:
        assert found.value in options


@settings(max_examples=300, deadline=None)
@given(SNIPPETS, st.sampled_from(["letter", "number"]), OPTIONS)
def test_a_letter_or_number_is_its_own_answer(text: str, kind: str, options: list | None) -> None:
    value = extract_answer("The answer is " + text, kind=kind, options=options).value
    if value is not None:
        assert extract_answer(value, kind=kind, options=options).value == value


@settings(deadline=None)
@given(st.text(max_size=40))
def test_a_stated_answer_wins_over_any_text_before_it(before: str) -> None:
    text = before + "\nThe answer is (C)."
    assert extract_answer(text, kind="letter", options=list("wxyz")).value == "C"


@pytest.mark.parametrize(
    "piece",
    ["answer is ", "Answer:\n", "\\boxed{", "\\text{", "{", "(A) or ", "9", "1,", "-", ".", " "]
    + [
        "\n",
        "A:\n",
        "'",
        "the ",
        "x=",
        "**",
        "_",
        "No ",
        "<|",
        "</s>",
        "\\frac",
        "I say ",
        "\t.\n",
    ],
)
@pytest.mark.parametrize("kind", ["letter", "number", "text"])
def test_long_repetitions_end(piece: str, kind: str) -> None:
    text = "The answer is " + piece * (50_000 // len(piece))
    assert extract_answer(text, kind=kind, options=["No", "9", "five"]).reason


def test_a_number_too_long_to_compare_is_still_read() -> None:
    digits = "7" * 5000
    assert extract_answer(digits, kind="number").value == digits
    assert extract_answer(digits, kind="number", options=["7"]).status == "out_of_set"
