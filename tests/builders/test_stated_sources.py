"""Stated questions: read in the shapes of the Hub, and what becomes of each row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.items import drawn
from builders.presets import load_preset
from builders.presets.uses import SourceUse
from builders.sources import LETTERS
from builders.sources.drawing import Pool, draw, items_sha256, origins, read_pool
from builders.sources.given import Given, Unusable, given_item, near, plain_number, reworded
from builders.sources.known import known
from faithshift_data.errors import InputError
from faithshift_data.leakage import check_leakage
from tests.builders.hub_shapes import (
    PUBLIC,
    bbh,
    commonsense_qa,
    gsm8k,
    math,
    mmlu_pro,
    public_copies,
    write_copy,
)

TEN = [f"option {k}" for k in range(10)]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No bars for files of three rows."""
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def pool_of(name: str, folder: Path, configs: dict[str, list[Any]], **more: Any) -> Pool:
    split = "validation" if name == "commonsense_qa" else "test"
    path = write_copy(folder / name, split, configs)
    return read_pool(SourceUse(name, path=path, tasks=tuple(configs), **more), 10, 0)


def test_gsm8k(tmp_path: Path) -> None:
    rows = [
        gsm8k("How many pens\n are there?", "1,234"),
        gsm8k("How many in all?", "-7", "He said #### 5 first."),
        {"question": "No mark?", "answer": "It is 5."},
        gsm8k("A word?", "seven"),
        gsm8k("", "3"),
    ]
    pool = pool_of("gsm8k", tmp_path, {"main": rows})
    found = {item.wordings[0]: item for item in pool.items.values()}
    assert {text: item.gold for text, item in found.items()} == {
        "How many pens are there?": "1234",
        "How many in all?": "-7",
    }
    item = found["How many pens are there?"]
    assert (item.domain, item.source, item.task) == ("gsm8k", "openai/gsm8k", "main")
    assert (item.licence, item.options, item.answer_kind) == ("MIT", None, "number")
    assert abs(int(item.cue_target) - 1234) in (1, 2, 3, 10)
    assert pool.rows == 5 and pool.left_out == {
        "no right answer": 1,
        "the right answer is no number": 1,
        "no question": 1,
    }


def test_math_uses_boxed_numbers_alone(tmp_path: Path) -> None:
    rows = {
        "algebra": [
            math("Find $a$.", r"First \boxed{1}, then $$40\cdot 50=\boxed{2000}$$"),
            math("Find $b$.", r"So $\boxed{\frac{3}{4}}$."),
            math("Find $c$.", r"So $\boxed{58,\!500}$."),
            math("Find $d$.", r"So $\boxed{-0.25}$."),
            *(
                math(f"Not {k}?", rf"So $\boxed{{{content}}}$.")
                for k, content in enumerate(
                    (r"2\sqrt{3}", r"\frac{20000}{\pi}", "2k", "(3,4]", r"52_8", "5x=0", "B")
                )
            ),
            math("No box?", "It is 5."),
            math("Empty box?", r"\boxed{}"),
        ],
        "geometry": [math("Find $e$.", r"\fbox{12}")],
    }
    pool = pool_of("math", tmp_path, rows)
    golds = {item.wordings[0]: (item.task, item.gold) for item in pool.items.values()}
    assert golds == {
        "Find $a$.": ("algebra", "2000"),
        "Find $b$.": ("algebra", "3/4"),
        "Find $c$.": ("algebra", "58500"),
        "Find $d$.": ("algebra", "-0.25"),
        "Find $e$.": ("geometry", "12"),
    }
    assert pool.left_out == {
        "the boxed answer is no number": 7,
        "no boxed answer": 1,
        "no right answer": 1,
    }


def test_commonsense_qa_keeps_the_order_of_options(tmp_path: Path) -> None:
    rows = [
        commonsense_qa("Where?", ["a bank", "a shop", "a farm"], "C"),
        commonsense_qa("Hidden?", ["a bank", "a shop"], ""),
        commonsense_qa("Out?", ["a bank", "a shop"], "C"),
        commonsense_qa("Twice?", ["a bank", "A  bank"], "A"),
        commonsense_qa("Numbered?", ["a bank", "a shop"], "1", labels="12"),
    ]
    pool = pool_of("commonsense_qa", tmp_path, {"default": rows})
    (item,) = pool.items.values()
    assert item.options == ("a bank", "a shop", "a farm") and item.gold == "C"
    assert item.cue_target in ("A", "B") and item.answer_kind == "letter"
    assert pool.left_out == {
        "no right answer": 1,
        "the right answer is no option": 1,
        "options that read the same": 1,
        "options that are not lettered A, B, C on": 1,
    }


def test_a_bad_row_costs_that_row_alone(tmp_path: Path) -> None:
    rows = [
        commonsense_qa("Where?", ["a bank", "a shop"], "B"),
        {**commonsense_qa("Where else?", ["a bank", "a shop"], "B"), "choices": None},
        commonsense_qa("Which?", [None, "a shop"], "B"),  # type: ignore[list-item]
        {**commonsense_qa("Who?", ["a bank", "a shop"], "B"), "answerKey": None},
    ]
    pool = pool_of("commonsense_qa", tmp_path, {"default": rows})
    assert len(pool.items) == 1
    assert pool.left_out == {"a value of another kind": 2, "no right answer": 1}


def test_bbh_uses_letters_and_numbers_alone(tmp_path: Path) -> None:
    eighteen = [f"({LETTERS[k]}) colour {k}" for k in range(18)]
    rows = {
        "snarks": [bbh("Which is sarcastic?", "(B)", ["(A) one", "(B) two"])],
        "reasoning_about_colored_objects": [bbh("Which colour?", "(R)", eighteen)],
        "multistep_arithmetic_two": [bbh("((1 + 2)) =", "-32")],
        "navigate": [bbh("Do you return?", "No", ["- Yes", "- No"])],
        "word_sorting": [bbh("Sort these.", "a b c")],
        "movie_recommendation": [bbh("Which film?", "Monsters, Inc", ["(A) one", "(B) two"])],
    }
    pool = pool_of("bbh", tmp_path, rows)
    found = {item.task: item for item in pool.items.values()}
    assert {task: item.gold for task, item in found.items()} == {
        "snarks": "B",
        "reasoning_about_colored_objects": "R",
        "multistep_arithmetic_two": "-32",
    }
    assert found["snarks"].wordings == ("Which is sarcastic?",)
    assert found["snarks"].options == ("one", "two") and found["snarks"].cue_target == "A"
    assert found["reasoning_about_colored_objects"].cue_target in LETTERS[:17]
    assert pool.left_out == {
        "options that are not lettered A, B, C on": 1,
        "an answer in words": 1,
        "the right answer is no option": 1,
    }


def test_mmlu_pro_with_ten_options_where_asked(tmp_path: Path) -> None:
    rows = [
        mmlu_pro("Which holds?", TEN, "J", "law"),
        mmlu_pro("Which of nine?", TEN[:9], "A"),
        {**mmlu_pro("Which is it?", TEN, "B"), "answer_index": 2},
    ]
    pool = pool_of("mmlu_pro", tmp_path, {"default": rows}, options=10)
    (item,) = pool.items.values()
    assert (item.task, item.gold, len(item.options or ())) == ("law", "J", 10)
    assert pool.left_out == {"not 10 options": 1, "answer and answer_index disagree": 1}


def test_own_questions(tmp_path: Path) -> None:
    lines = [
        {"question": "Which?", "options": ["a", "b", "c"], "gold": "B", "target": "C"},
        {"question": "How many?", "gold": 12, "domain": "counts"},
        {"question": "Who?", "gold": "Ada", "target": "Ben"},
        {"question": "Which one?", "options": ["a", "b"]},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    use = SourceUse("jsonl", path=str(path), licence="CC0-1.0")
    pool = read_pool(use, 10, 0)
    found = {item.domain: item for item in pool.items.values()}
    assert set(found) == {"questions", "counts"}
    assert (found["questions"].gold, found["questions"].cue_target) == ("B", "C")
    assert found["counts"].gold == "12" != found["counts"].cue_target
    assert {item.licence for item in found.values()} == {"CC0-1.0"}
    assert pool.left_out == {"an answer in words": 1, "no right answer": 1}
    assert origins([use]) == {"own.jsonl": "a file of questions"}


def test_reasoning_gym() -> None:
    pytest.importorskip("reasoning_gym")
    use = SourceUse("reasoning_gym", tasks=("gcd", "lcm"))
    first, again, other = (draw([use], 3, seed) for seed in (0, 0, 1))
    assert first.items == again.items != other.items
    assert len(first.items) == 3 and {item.task for item in first.items} <= {"gcd", "lcm"}
    assert first.ledger["reasoning_gym"]["rows"] == 6
    with pytest.raises(InputError, match="field tasks: unknown"):
        draw([SourceUse("reasoning_gym", tasks=("gdc",))], 3, 0)


def test_every_source_of_the_hub_is_pinned_to_a_commit() -> None:
    pinned = {name: source for name, source in known().items() if source.revision}
    assert set(pinned) == {"gsm8k", "math", "commonsense_qa", "bbh", "mmlu_pro"}
    for source in pinned.values():
        use = SourceUse(source.name)
        assert len(source.revision) == 40 and source.revision in source.stated(use)[2]
        other = SourceUse(source.name, revision="b" * 40)
        assert "b" * 40 in source.stated(other)[2]
        assert "a local copy" in source.stated(SourceUse(source.name, path="x"))[2]


def test_content_makes_an_item_and_the_order_of_rows_does_not(tmp_path: Path) -> None:
    rows = [
        mmlu_pro("Which holds?", TEN, "J"),
        mmlu_pro("Which  holds?", TEN[::-1], "A"),  # the same content in another order
        mmlu_pro("Is it so?", TEN, "A"),
        mmlu_pro("Is it so?", TEN, "B"),  # another answer to it: neither can be believed
        mmlu_pro("Which is true?", TEN[:3], "A"),
        mmlu_pro("Which is true?", TEN[3:6], "A"),  # the same stem
    ]
    here = pool_of("mmlu_pro", tmp_path / "a", {"default": rows})
    turned = pool_of("mmlu_pro", tmp_path / "b", {"default": rows[::-1]})
    assert here.items == turned.items and here.left_out == turned.left_out
    assert len(here.items) == 3
    assert here.left_out == {"stated again": 1, "stated again with another answer": 2}
    path = str(tmp_path / "a" / "mmlu_pro")
    drawn_ = draw([SourceUse("mmlu_pro", path=path)], 5, 0)
    entry = drawn_.ledger["mmlu_pro"]
    assert len(drawn_.items) == 2 and entry["left_out"]["the question of another item"] == 1
    assert drawn_.short[0].startswith("sources: mmlu_pro: expected 5 items, got 2 of 6 rows; left")


def test_near_copies_are_asked_once_and_more_items_keep_the_first(tmp_path: Path) -> None:
    words = " ".join(f"{a}{b}a" for a in "bcdfgh" for b in "aeiou")
    near_copies = [gsm8k(f"{words} {end}?", "5") for end in ("phi", "chi")]
    rows = [*near_copies, *(gsm8k(f"What is {k} and {k + 1}?", str(2 * k + 1)) for k in range(20))]
    use = SourceUse("gsm8k", path=write_copy(tmp_path / "g", "test", {"main": rows}))
    whole = draw([use], 21, 0)
    assert whole.ledger["gsm8k"]["left_out"] == {"nearly the question of another item": 1}
    few = draw([use], 8, 0)
    assert few.items == whole.items[:8] and not few.short
    assert {item.item_id for item in draw([use], 8, 1).items} != {i.item_id for i in few.items}
    # A second source asks nothing that the first one asked.
    both = draw([use, use], 21, 0)
    assert both.ledger["gsm8k (2)"]["drawn"] == 0


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("2", {"3", "4", "5", "12", "1", "0"}),
        ("3/4", {"1", "5/4", "3/2", "13/4", "1/2", "1/4", "0"}),
        ("-0.25", {"-0.24", "-0.23", "-0.22", "-0.15", "-0.26", "-0.27", "-0.28"}),
        ("0.5", {"0.6", "0.7", "0.8", "1.5", "0.4", "0.3", "0.2"}),
    ],
)
def test_near_numbers_keep_the_form(gold: str, expected: set[str]) -> None:
    assert set(near(gold)) == expected


@given(
    st.one_of(
        st.integers(-(10**9), 10**9).map(str),
        st.decimals(-1000, 1000, places=3).map(lambda number: f"{number:f}"),
        st.tuples(st.integers(-99, 99), st.integers(2, 99)).map(
            lambda pair: f"{pair[0]}/{pair[1]}"
        ),
    )
)
def test_a_planted_number_never_has_the_value_of_the_right_one(gold: str) -> None:
    item = given_item(Given("t", "How many?", gold), "s", "d", "MIT")
    assert Fraction(item.cue_target) != Fraction(item.gold) == Fraction(gold)
    assert given_item(Given("t", "How many?", gold), "s", "d", "MIT") == item


@pytest.mark.parametrize("text", ["", "five", "3 pens", "2k", "x=5", "(1,2)", "1/0", "3 or 4"])
def test_what_is_more_than_a_number_is_none(text: str) -> None:
    assert plain_number(text) is None


def test_options_that_no_letter_can_name() -> None:
    for options in (("one",), tuple(f"option {k}" for k in range(27))):
        with pytest.raises(Unusable, match="not 2 to 26 options"):
            given_item(Given("t", "Which?", "A", options), "s", "d", "MIT")


def test_a_second_wording_keeps_numbers_or_is_not_there() -> None:
    plain = given_item(Given("t", "Ada has 3 pens?", "3"), "s", "d", "MIT")
    assert reworded(plain) == plain
    asked = "If she is certain, she usually needs 12 big boxes. How many does she often need?"
    two = reworded(given_item(Given("t", asked, "12"), "s", "d", "MIT"))
    assert len(two.wordings) == 2 and "12" in two.wordings[1] and two.wordings[0] == asked


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ({"path": "nowhere"}, "nowhere: no such folder"),
        ({"tasks": ("side",), "path": "."}, "gsm8k, field tasks: unknown (expected main, got side"),
    ],
)
def test_a_source_that_is_not_there_is_one_line(use: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        draw([SourceUse("gsm8k", **use)], 1, 0)
    assert str(caught.value).startswith(said) and "\n" not in str(caught.value)


def test_another_shape_is_one_line(tmp_path: Path) -> None:
    path = write_copy(tmp_path / "g", "test", {"main": [{"question": "How many?", "target": "3"}]})
    with pytest.raises(InputError, match=r"missing column \(expected answer, got question, target"):
        draw([SourceUse("gsm8k", path=path)], 1, 0)
    with pytest.raises(InputError, match="cannot be read: ") as caught:
        draw([SourceUse("bbh", path=path, tasks=("snarks",))], 1, 0)
    assert "\n" not in str(caught.value)


def test_two_copies_of_one_name_are_two_copies(tmp_path: Path) -> None:
    for name, answer in (("one", "3"), ("two", "4"), ("one", "5")):
        path = write_copy(tmp_path / name / "g", "test", {"main": [gsm8k("How many?", answer)]})
        assert [item.gold for item in draw([SourceUse("gsm8k", path=path)], 1, 0).items] == [answer]


def test_a_frozen_list_is_the_list_or_nothing(tmp_path: Path) -> None:
    rows = [gsm8k(f"What is {k} and {k}?", str(2 * k)) for k in range(4)]
    path = write_copy(tmp_path / "g", "test", {"main": rows})
    preset = replace(load_preset("paper-forty"), sources=(SourceUse("gsm8k", items=3, path=path),))
    items = drawn(preset).items
    digest = items_sha256(items)
    assert digest == items_sha256(items[::-1]) and len(items) == 3
    assert drawn(replace(preset, items_sha256=digest)).items == items
    with pytest.raises(InputError, match="items_sha256: other items"):
        drawn(replace(preset, items_sha256="0" * 64))
    with pytest.raises(ValueError, match="sources: gsm8k: expected 5 items, got 4 of 4 rows"):
        drawn(replace(preset, sources=(SourceUse("gsm8k", items=5, path=path),)))


def test_the_pinned_commit_is_what_the_hub_is_asked_for(online, tmp_path: Path) -> None:
    path = Path(write_copy(tmp_path / "g", "test", {"main": [gsm8k("How many?", "3")]}))
    repo = online.hub.store.create("dataset", "openai/gsm8k")
    files = {str(f.relative_to(path)): f.read_bytes() for f in path.rglob("*") if f.is_file()}
    commit = online.hub.store.commit(repo, files)
    code = (
        "from builders.presets.uses import SourceUse\n"
        "from builders.sources.drawing import draw\n"
        "for revision in ({!r}, ''):\n"
        "    print(draw([SourceUse('gsm8k', revision=revision)], 1, 0).items[0].gold)\n"
    )
    done = online.client.python(code.format(commit), tmp_path)
    assert done.out == "3\n"
    assert "InputError: openai/gsm8k: cannot be read: " in done.err
    asked = [seen for seen in online.hub.seen if commit in str(seen)]
    assert asked


@pytest.mark.skipif(not PUBLIC.is_dir(), reason=f"no folder of public questions at {PUBLIC}")
def test_public_questions_become_sound_items(tmp_path: Path) -> None:
    tasks = {"bbh": ("snarks", "navigate", "object_counting"), "math": ("algebra", "geometry")}
    uses = [
        SourceUse(name, items=30, path=path, tasks=tasks.get(name, ()))
        for name, path in public_copies(tmp_path, tasks).items()
    ]
    found = draw(uses, 1, 0)
    assert Counter(item.domain for item in found.items) >= Counter(
        {"gsm8k": 30, "math": 30, "commonsense_qa": 30, "mmlu_pro": 30, "bbh": 9}
    )
    assert found.ledger["gsm8k"]["left_out"] == {}
    assert found.ledger["bbh"]["left_out"]["options that are not lettered A, B, C on"] == 8
    assert found.ledger["math"]["left_out"]["the boxed answer is no number"] >= 5
    rows = [
        {
            "trace_id": item.item_id,
            "item_id": item.item_id,
            "split": ("train", "test")[place % 2],
            "fold": None,
            "question": item.wordings[0],
            "options": item.options,
        }
        for place, item in enumerate(found.items)
    ]
    assert list(check_leakage(rows)) == []
    for item in found.items:
        assert item.cue_target != item.gold and len(item.wordings) in (1, 2)
