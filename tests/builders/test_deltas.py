"""Distances between two reasonings, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import deltas as module
from builders.deltas import (
    deltas,
    edit_distance,
    jaccard_distance,
    semantic_distances,
    skeleton,
)


def test_deltas_by_hand() -> None:
    moved = deltas("pens b c d", "pens b e d f g")
    # 6 words instead of 4; {pens,b,d} of {pens,b,c,d,e,f,g} shared; w w w w against six w.
    assert moved["length"] == pytest.approx(0.5)
    assert moved["lexical"] == pytest.approx(1 - 3 / 7)
    assert moved["syntactic"] == pytest.approx(2 / 6)
    assert moved["semantic"] is None


def test_skeleton_keeps_function_words_and_punctuation() -> None:
    text = "So, the box holds 1,200.5 pens; it doesn't hold Ana's."
    assert skeleton(text) == [
        *["so", ",", "the", "w", "w", "n", "w", ";"],
        *["it", "doesn't", "w", "w", "."],
    ]


def test_other_content_words_do_not_move_the_skeleton() -> None:
    before, after = "The red box is on 5 tables.", "The old cup is on 7 shelves."
    assert edit_distance(skeleton(before), skeleton(after)) == 0
    # One of seven places and the stop: "is" -> "was".
    assert edit_distance(skeleton(before), skeleton(after.replace("is", "was"))) == 1 / 8


def test_nothing_is_no_distance() -> None:
    assert jaccard_distance("", "") == edit_distance([], []) == 0


def test_syntax_is_not_compared_across_languages() -> None:
    assert deltas("The box is red.", "La caja es roja.", one_language=False)["syntactic"] is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_distances_are_symmetric_and_bounded(left: str, right: str) -> None:
    for found in (
        jaccard_distance(left, right),
        edit_distance(skeleton(left), skeleton(right)),
    ):
        assert 0 <= found <= 1
    assert jaccard_distance(left, right) == jaccard_distance(right, left)
    assert edit_distance(left.split(), right.split()) == edit_distance(right.split(), left.split())
    assert edit_distance(left.split(), left.split()) == 0


TRACES = {
    "a": {"reasoning": "We add the two numbers and get five."},
    "b": {"reasoning": "Adding both numbers gives us five."},
    "c": {"reasoning": "The kettle is used to boil water."},
    "d": {"reasoning": "Sumamos los dos números."},
}
PAIRS = [
    {"pair_id": f"a{other}", "axis": axis, "anchor_id": "a", "partner_id": other}
    for other, axis in (
        ("a", "repeat"),
        ("b", "paraphrase"),
        ("c", "paraphrase"),
        ("d", "language"),
    )
]


def test_semantic_distance_orders_texts_by_meaning() -> None:
    pytest.importorskip("transformers")
    found = semantic_distances(PAIRS, TRACES)
    if not found:
        pytest.skip(f"needs the encoder in {module.ENCODER}")
    assert set(found) == {"aa", "ab", "ac"}  # none across languages
    assert found["aa"] == 0 and found["ab"] < 0.3 < 0.7 < found["ac"]
    assert semantic_distances(PAIRS[:2], TRACES)["ab"] == pytest.approx(found["ab"], abs=2e-4)


def test_without_an_encoder_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENCODER", "no_such_package")
    assert semantic_distances(PAIRS, TRACES) == {}
