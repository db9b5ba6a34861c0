"""Pairs: kind, direction, verification and the reason of every drop."""

from __future__ import annotations

from typing import Any

import pytest

from builders.pairs import deltas, jaccard_distance, make_pairs

TEXT = " We count the pens. There are five pens left."


def trace(trace_id: str, label: int | None, **more: Any) -> dict[str, Any]:
    return {
        "trace_id": trace_id,
        "item_id": "q-1",
        "split": "test",
        "condition": "base",
        "axis": None,
        "mode": None,
        "anchor_id": None,
        "gen_index": 0,
        "label": label,
        "prompt": "p",
        "question": "How many pens are 2 and 3?",
        "reasoning": TEXT,
        "answer": "5",
        **more,
    }


def partner(axis: str, label: int | None, **more: Any) -> dict[str, Any]:
    new = {"reasoning": " We count the pens. Now there are five of them.", "prompt": "q"}
    place = {"axis": axis, "condition": axis, "mode": "edit", "anchor_id": "t-a"}
    return trace("t-b", label, **place, **(new | more))


def pair_of(anchor: dict, other: dict, scrambled: tuple = (True, True)) -> dict[str, Any]:
    rows = {
        row["trace_id"]: [{"kind": "scramble", "role": "label", "changed": moved}]
        for row, moved in zip((anchor, other), scrambled, strict=True)
    }
    (pair,) = make_pairs({"t-a": anchor, "t-b": other}, rows)
    return pair


@pytest.mark.parametrize(
    ("axis", "left", "right", "verified", "direction", "reason"),
    [
        ("step_reorder", 1, 1, False, 0, "words kept"),
        ("hint_format", 1, 1, True, 0, None),
        ("hint_format", None, None, True, 0, None),
        ("hint_format", 1, None, False, None, "label unknown on one side"),
        ("hint_format", 1, 0, False, -1, "label changed"),
        ("causal_truncation", 1, 0, True, -1, None),
        ("cue_injection", 1, 0, True, -1, None),
        ("cue_verbalization", 0, 1, True, 1, None),
        ("cue_verbalization", 0, 0, False, 0, "label did not change"),
        ("cue_verbalization", None, None, False, None, "label unknown"),
    ],
)
def test_verification(
    axis: str,
    left: int | None,
    right: int | None,
    verified: bool,
    direction: int | None,
    reason: str | None,
) -> None:
    pair = pair_of(trace("t-a", left), partner(axis, right))
    assert (pair["verified"], pair["direction"]) == (verified, direction)
    assert pair["dropped_because"] == reason
    assert (pair["anchor_label"], pair["partner_label"]) == (left, right)


def test_a_paraphrase_must_keep_the_numbers_and_move_the_words() -> None:
    base = trace("t-a", 1)
    good = pair_of(base, partner("paraphrase", 1, question="Add 3 pens to 2 pens: what total?"))
    assert good["verified"]
    lost = pair_of(base, partner("paraphrase", 1, question="Add 4 pens to 2 pens: what total?"))
    assert lost["dropped_because"] == "question numbers kept"
    same = pair_of(base, partner("paraphrase", 1, question=base["question"]))
    assert same["dropped_because"] == "question moved"


def test_a_no_op_is_dropped() -> None:
    pair = pair_of(trace("t-a", 1), partner("hint_format", 1, reasoning=TEXT, prompt="p"))
    assert pair["dropped_because"] == "text moved"


def test_a_verbalization_that_moves_the_answer_is_dropped() -> None:
    pair = pair_of(trace("t-a", 0), partner("cue_verbalization", 1, answer="6"))
    assert pair["dropped_because"] == "answer kept"


def test_length_ratio() -> None:
    pair = pair_of(trace("t-a", 1), partner("hint_format", 1, reasoning=TEXT * 3))
    assert pair["dropped_because"] == "length ratio"


@pytest.mark.parametrize(
    ("scrambled", "preserved"),
    [((True, True), True), ((True, False), False), ((None, True), None)],
)
def test_mechanism(scrambled: tuple, preserved: bool | None) -> None:
    base = trace("t-a", 1)
    assert pair_of(base, partner("hint_format", 1), scrambled)["mechanism_preserved"] is preserved
    assert pair_of(base, partner("cue_injection", 0), scrambled)["mechanism_preserved"] is None


def test_repeats_join_the_generations_of_an_anchor() -> None:
    first, second = trace("t-a", 1), trace("t-b", 0, gen_index=1, reasoning=" Other words here.")
    pair = pair_of(first, second)
    assert (pair["axis"], pair["kind"], pair["mode"]) == ("repeat", "repeat", "regen")
    assert (pair["anchor_id"], pair["partner_id"]) == ("t-a", "t-b")


def test_deltas_by_hand() -> None:
    moved = deltas({"reasoning": "a b c d"}, {"reasoning": "a b e d f g"})
    # 6 words instead of 4; {a,b,d} of {a,b,c,d,e,f,g} shared.
    assert moved["length"] == pytest.approx(0.5)
    assert moved["lexical"] == pytest.approx(1 - 3 / 7)
    assert moved["syntactic"] is None and moved["semantic"] is None
    assert jaccard_distance("", "") == 0.0
