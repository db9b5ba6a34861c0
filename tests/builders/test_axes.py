"""Transformations: what they change, what they keep, and when there is no candidate."""

from __future__ import annotations

from typing import Any

import pytest

from builders.acknowledge import acknowledges
from builders.axes import causal_truncation, cue_verbalization, hint_format, paraphrase, registry
from builders.axes.step_reorder import edit as reorder
from builders.axes.step_reorder import independent
from builders.prompts import (
    CUE_FORMATS,
    INSTRUCTIONS,
    answer_line,
    answer_text,
    make_cue,
    user_message,
)
from builders.sources import Item, Question, make_item
from faithshift_data.reasoning import split_steps

LETTER = make_item(
    "commonsense", "s", "use", Question(("Which?", "Which one?"), "a", ("b", "c", "d")), "CC0"
)
NUMBER = make_item(
    "word_problems", "s", "sum", Question(("2 and 3?", "Add 3 to 2."), "5", ("6", "7")), "CC0"
)


def anchor(text: str, **more: Any) -> dict[str, Any]:
    return {"steps": split_steps(text), "reasoning": text, "gen_index": 0, **more}


def test_a_cued_prompt_differs_from_the_clean_one_by_the_cue_alone() -> None:
    for item in (LETTER, NUMBER):
        for name in CUE_FORMATS:
            cue = make_cue(item, name)
            assert cue.text in user_message(item, cue=cue)
            assert user_message(item, cue=cue).replace("\n" + cue.text, "") == user_message(item)
            assert cue.target == item.cue_target


def test_answer_lines() -> None:
    assert answer_text("letter", "B") == answer_line("letter") + "B)" == "\nThe answer is (B)"
    assert answer_text("number", " 5") == "\nThe answer is 5"


def test_paraphrase_takes_another_wording_and_instruction() -> None:
    for number in range(30):
        item = make_item(
            "d", "s", "t", Question((f"{number} or 9?", f"9, or {number}?"), "1", ("2",)), "CC0"
        )
        old, new = user_message(item), paraphrase.turn(item, None).message
        assert item.wordings[1] in new and item.wordings[0] not in new
        used = [form for form in INSTRUCTIONS if form in old or form in new]
        assert len(used) == 2
    assert len(INSTRUCTIONS) >= 8


def test_paraphrase_keeps_the_cue() -> None:
    cue = make_cue(NUMBER, "tag")
    turn = paraphrase.turn(NUMBER, cue)
    assert turn.cue == cue and cue.text in turn.message


def test_hint_format_changes_the_format_and_not_the_target() -> None:
    for name in CUE_FORMATS:
        turn = hint_format.turn(NUMBER, make_cue(NUMBER, name))
        assert turn.cue is not None and turn.cue.format != name
        assert turn.cue.target == NUMBER.cue_target
    with pytest.raises(ValueError, match="cued"):
        hint_format.turn(NUMBER, None)


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ("The box holds 5 pens. ", "Esra gives away 9 badges. ", True),
        ("The box holds 5 pens. ", "She adds 5 badges. ", False),  # a shared number
        ("The box holds 5 pens. ", "So there are 9 badges. ", False),
        ("The box holds 5 pens. ", "That makes 9 badges. ", False),
        ("1. The box is full. ", "Esra gives away 9 badges. ", False),
        ("The box holds 5 pens. ", "Right. ", False),  # too short to be a step of its own
    ],
)
def test_independent_steps(first: str, second: str, answer: bool) -> None:
    assert independent(first, second) is answer


def test_reorder_swaps_and_keeps_every_character() -> None:
    text = " The box holds 5 pens.\nEsra gives away 9 badges. So we have 14 things."
    new = reorder(NUMBER, anchor(text))
    assert new == " Esra gives away 9 badges.\nThe box holds 5 pens. So we have 14 things."
    assert sorted(new) == sorted(text)


def test_reorder_without_a_candidate() -> None:
    assert reorder(NUMBER, anchor(" We have 5. So 5 and 9 are 14.")) is None


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (" One is here. Two is there.", " One is here."),
        (" One is here. Two is there. Three is up.", " One is here."),
        (" One is a. Two is b. Three is c. Four is d.", " One is a. Two is b."),
        (" Only one step.", None),
    ],
)
def test_truncation_keeps_half_the_steps(text: str, kept: str | None) -> None:
    assert causal_truncation.edit(NUMBER, anchor(text)) == kept


def test_every_verbalization_counts_as_stated() -> None:
    assert len(cue_verbalization.FORMS) >= 8
    for form in cue_verbalization.FORMS:
        for source in cue_verbalization.SOURCE_NAMES.values():
            assert acknowledges(form.format(source=source, target="(B)")) == "yes", form


def test_verbalization_comes_first_and_keeps_the_rest() -> None:
    cue = make_cue(LETTER, "professor").row()
    new = cue_verbalization.edit(LETTER, anchor(" We look. It fits.", cue=cue))
    assert new is not None and new.endswith(" We look. It fits.")
    assert f"({LETTER.cue_target})" in new and "professor" in new.lower()


def test_registry_names_its_files() -> None:
    assert list(registry()) == [
        "paraphrase",
        "step_reorder",
        "hint_format",
        "cue_injection",
        "cue_verbalization",
        "causal_truncation",
    ]
    for axis in registry().values():
        assert axis.turn is None or axis.edit is None
        assert bool(axis.anchors) == bool(axis.turn or axis.edit)


def test_item_properties() -> None:
    assert isinstance(LETTER, Item) and LETTER.answer_kind == "letter"
    assert NUMBER.answer_kind == "number" and NUMBER.options is None
