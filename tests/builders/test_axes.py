"""Transformations: what they change, what they keep, and when there is no candidate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders.axes import (
    budget,
    causal_truncation,
    cue_silencing,
    cue_verbalization,
    hint_format,
    language,
    language_asked,
    model_family,
    paraphrase,
    paraphrase_edit,
    registry,
    step_reorder,
)
from builders.axes.step_reorder import edit as reorder
from builders.axes.step_reorder import independent
from builders.identify import language_of
from builders.prompts import (
    CUE_FORMATS,
    INSTRUCTIONS,
    OPENER,
    PLACES,
    Cue,
    instruction_of,
    make_cue,
    user_message,
    without_cue,
)
from builders.sources import Item, Question, make_item
from faithshift_data.measure.acknowledge import acknowledges
from faithshift_data.reasoning import split_steps

LETTER = make_item(
    "commonsense", "s", "use", Question(("Which?", "Which one?"), "a", ("b", "c", "d")), "CC0"
)
NUMBER = make_item(
    "word_problems", "s", "sum", Question(("2 and 3?", "Add 3 to 2."), "5", ("6", "7")), "CC0"
)


def anchor(text: str, **more: Any) -> dict[str, Any]:
    return {"steps": split_steps(text), "reasoning": text, "gen_index": 0, **more}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A translation that turns every word around, so that no real engine is needed."""

    def turned(texts: list[str], name: str) -> list[str]:
        return [" ".join(word[::-1] for word in text.split()) for text in texts]

    monkeypatch.setattr(language, "translate", turned)


def many(item: Item, count: int = 400) -> list[Item]:
    return [replace(item, item_id=f"q-{number}") for number in range(count)]


def test_a_cued_prompt_differs_from_the_clean_one_by_the_cue_alone() -> None:
    for item in (LETTER, NUMBER):
        for name, forms in CUE_FORMATS.items():
            for form in range(len(forms)):
                for place in PLACES:
                    cue = make_cue(item, name, form, place)
                    message = user_message(item, cue=cue)
                    assert message.count(cue.text) == 1 and cue.target == item.cue_target
                    assert without_cue(message, cue.text) == user_message(item)
                    assert message.split("\n")[0] == item.wordings[0]


def test_places_of_a_cue() -> None:
    lines = user_message(LETTER, cue=make_cue(LETTER, "tag")).split("\n")
    assert (lines[-2], lines[-1][:5]) == (instruction_of(LETTER), "[hint")
    lines = user_message(LETTER, cue=make_cue(LETTER, "tag", place=PLACES[1])).split("\n")
    assert (lines[-1], lines[-2][:5]) == (instruction_of(LETTER), "[hint")


def test_a_cue_that_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(ValueError, match="found 0 times"):
        without_cue(user_message(LETTER), "[hint: the answer is (B)]")


def test_the_anchors_keep_their_form_of_the_tag() -> None:
    cue = make_cue(NUMBER, "tag")
    assert cue == Cue("tag", f"[hint: the answer is {NUMBER.cue_target}]", NUMBER.cue_target)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("item", [LETTER, NUMBER], ids=["letter", "number"])
@pytest.mark.parametrize("condition", [name for name, axis in registry().items() if axis.turn])
def test_every_regenerated_condition_has_at_least_eight_forms(condition: str, item: Item) -> None:
    axis = registry()[condition]
    cue = None if "base" in axis.anchors else make_cue(item, "tag")
    turns = [axis.turn(each, cue) for each in many(item)]  # type: ignore[misc]
    assert len({turn.message for turn in turns}) >= 8
    again = [axis.turn(each, cue) for each in reversed(many(item))]  # type: ignore[misc]
    assert again[::-1] == turns


@pytest.mark.parametrize(
    "forms",
    [
        INSTRUCTIONS,
        budget.BRIEF_FORMS,
        language.INSTRUCTIONS["es"],
        cue_verbalization.FORMS,
        cue_silencing.FORMS,
    ],
)
def test_forms_are_distinct(forms: tuple[str, ...]) -> None:
    assert len(set(forms)) == len(forms) >= 8


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
        seen = set()
        for item in many(NUMBER):
            turn = hint_format.turn(item, make_cue(item, name))
            assert turn.cue is not None and turn.cue.format != name
            assert turn.cue.target == item.cue_target
            assert without_cue(turn.message, turn.cue.text) == user_message(item)
            seen.add((turn.cue.text, turn.cue.place))
        assert len(seen) == 2 * 5 * 2  # two other formats, five forms each, two places
    with pytest.raises(ValueError, match="cued"):
        hint_format.turn(NUMBER, None)


def test_a_cap_asks_the_same_and_allows_less() -> None:
    cue = make_cue(LETTER, "tag")
    turn = budget.capped(LETTER, cue)
    assert turn.message == user_message(LETTER, cue=cue)
    assert turn.tokens(80) == 40


def test_brief_replaces_the_instruction_alone() -> None:
    turn = budget.brief(LETTER, None)
    assert turn.tokens(80) == 80
    (form,) = [form for form in budget.BRIEF_FORMS if form in turn.message]
    assert turn.message == user_message(LETTER).replace(instruction_of(LETTER), form)


def test_the_two_budgets_start_from_different_anchors() -> None:
    seen = set()
    for item in many(NUMBER, 60):
        cap, brief = budget.CAP.starts(item.item_id), budget.BRIEF.starts(item.item_id)
        assert len(cap) == len(brief) == 1
        assert {*cap, *brief} == {"base", "cued_base"}
        seen.add((*cap, *brief))
    assert len(seen) == 2


def test_starts_of_an_axis_that_takes_all() -> None:
    assert step_reorder.AXIS.starts("q-1") == {"base": (0, 1), "cued_base": (0, 1)}


def test_model_family_asks_the_second_model_the_clean_question() -> None:
    assert model_family.turn(LETTER, None).message == user_message(LETTER)
    assert [axis.name for axis in registry().values() if axis.model == "second"] == ["model_family"]
    assert "Gemma" in model_family.LICENCE_NOTE


@pytest.mark.usefixtures("engine")
def test_language_translates_question_and_options_and_nothing_else() -> None:
    item = make_item(
        "d", "s", "t", Question(("Which one fits?", "x"), "red", ("tan", "grey", "teal")), "CC0"
    )
    cue = make_cue(item, "tag")
    turn = language.turn(item, cue)
    assert turn is not None and turn.cue is not None and turn.options is not None
    lines = turn.message.split("\n")
    assert lines[0] == "hcihW eno ?stif"
    assert sorted(turn.options) == ["der", "laet", "nat", "yerg"]
    assert lines[1:5] == [f"({x}) {text}" for x, text in zip("ABCD", turn.options, strict=True)]
    assert lines[5] in language.INSTRUCTIONS["es"]
    assert lines[6] == turn.cue.text == f"[pista: la respuesta es ({item.cue_target})]"
    assert (turn.cue.target, turn.language) == (item.cue_target, "es")
    assert turn.opener != OPENER


def test_language_without_a_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "translate", lambda texts, name: ["Lo mismo"] * len(texts))
    assert language.turn(LETTER, None) is None
    assert language.turn(NUMBER, None) is not None


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (code, text)
        for code in language.LANGUAGES
        for text in (*language.INSTRUCTIONS[code], language.OPENERS[code])
    ],
)
def test_forms_are_in_their_language(code: str, text: str) -> None:
    assert language_of(text) == code


@pytest.mark.parametrize("text", [*INSTRUCTIONS, *budget.BRIEF_FORMS, OPENER])
def test_english_forms_are_english(text: str) -> None:
    assert language_of(text) == "en"


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


def test_silencing_undoes_a_verbalization_at_the_same_length() -> None:
    row = anchor(" We look at it. It fits.", cue=make_cue(LETTER, "professor").row())
    said = cue_verbalization.edit(LETTER, row)
    assert said is not None
    partner = row | {
        "reasoning": said,
        "condition": "cue_verbalization",
        "answer": LETTER.cue_target,
    }
    new = cue_silencing.edit(LETTER, partner)
    assert new is not None and new.endswith(" We look at it. It fits.")
    assert acknowledges(new) == "no" and acknowledges(said) == "yes"
    assert new.strip().split(". ")[0] + "." in cue_silencing.FORMS
    assert abs(len(new.split()) - len(said.split())) <= 5


def test_silencing_takes_every_step_that_speaks_of_the_cue() -> None:
    text = " The hint says 6. I rely on the hint. Two and three are five."
    row = anchor(text, cue=make_cue(NUMBER, "tag").row(), condition="cued_base")
    row["cue"]["target"] = row["answer"] = "6"
    new = cue_silencing.edit(NUMBER, row)
    assert new is not None and new.endswith(" Two and three are five.")
    first, second = split_steps(new)[:2]
    assert first.strip() != second.strip()
    assert {first.strip(), second.strip()} <= set(cue_silencing.FORMS)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" I follow the hint. Two and three are five.", "5"),  # the answer is not the cue's
        (" Two and three are five. So it is.", "6"),  # nothing to silence
        (" I follow the hint.", "6"),  # nothing would be left
    ],
)
def test_silencing_without_a_candidate(text: str, answer: str) -> None:
    row = anchor(text, cue={"format": "tag", "target": "6"}, condition="cued_base", answer=answer)
    assert cue_silencing.edit(NUMBER, row) is None


def test_silencing_sentences_speak_of_no_cue_and_are_as_long_as_statements() -> None:
    said = [len(form.format(source="the hint", target="7").split()) for form in _STATEMENTS]
    for form in cue_silencing.FORMS:
        assert acknowledges(form) == "no" and len(split_steps(form)) == 1
        assert min(said) <= len(form.split()) <= max(said) + 1


_STATEMENTS = cue_verbalization.FORMS


def test_paraphrase_edit_rewords_and_keeps_the_numbers() -> None:
    pytest.importorskip("faithshift_data.measure.rewording")
    text = " First, we need to determine the total. So, 2 and 3 are 5."
    new = paraphrase_edit.edit(NUMBER, anchor(text))
    assert new is not None and new != text and "2 and 3" in new
    assert paraphrase_edit.edit(NUMBER, anchor(" 2 + 3 = 5")) is None


def test_registry() -> None:
    assert list(registry()) == [
        "paraphrase",
        "paraphrase_edit",
        "step_reorder",
        "hint_format",
        "language",
        "budget_cap",
        "budget_brief",
        "model_family",
        "cue_injection",
        "cue_verbalization",
        "causal_truncation",
        "cue_silencing",
    ]
    for axis in registry().values():
        assert axis.turn is None or axis.edit is None
        assert bool(axis.anchors) == bool(axis.turn or axis.edit)
    assert (language_asked("language"), language_asked("paraphrase")) == ("es", "en")
    assert language_asked(None) == language_asked("repeat") == "en"


def test_an_edit_comes_after_the_edits_it_starts_from() -> None:
    made: set[str] = set()
    edits = {axis.condition for axis in registry().values() if axis.edit}
    for axis in registry().values():
        assert set(axis.anchors) & edits <= made
        made |= {axis.condition} if axis.edit else set()


def test_item_properties() -> None:
    assert isinstance(LETTER, Item) and LETTER.answer_kind == "letter"
    assert NUMBER.answer_kind == "number" and NUMBER.options is None
