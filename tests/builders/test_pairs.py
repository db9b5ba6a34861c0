"""Pairs: kind, direction, verification and the reason of every drop."""

from __future__ import annotations

from typing import Any

import pytest

from builders.axes import registry
from builders.axes.language import INSTRUCTIONS
from builders.pair_checks import CHECKS, SIMILAR
from builders.pairs import make_pairs

TEXT = " We count the pens. There are five pens left in the box."
OTHER = " We count all of the pens. Now there are five of them."
FIRST, SECOND = "We count the pens on the table.", "There are five boxes left."
SPANISH = " Contamos los bolígrafos de la caja. Quedan cinco bolígrafos en la mesa."


def trace(trace_id: str, label: int | None, **more: Any) -> dict[str, Any]:
    return {
        "trace_id": trace_id,
        "item_id": "q-1",
        "split": "test",
        "model_revision": "r1",
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
    mode = str(next(made for made in registry().values() if made.name == axis).mode)
    new = {"reasoning": OTHER, "prompt": "p" if mode == "edit" else "q"}
    place = {"axis": axis, "condition": axis, "mode": mode, "anchor_id": "t-a"}
    return trace("t-b", label, **(place | new | more))


def pair_of(
    anchor: dict,
    other: dict,
    scrambled: tuple = (True, True),
    semantic: dict[str, float] | None = None,
) -> dict[str, Any]:
    rows = {
        row["trace_id"]: [{"kind": "scramble", "role": "label", "changed": moved}]
        for row, moved in zip((anchor, other), scrambled, strict=True)
    }
    (pair,) = make_pairs({"t-a": anchor, "t-b": other}, rows, semantic)
    return pair


@pytest.mark.parametrize(
    ("axis", "left", "right", "verified", "direction", "reason"),
    [
        ("hint_format", 1, 1, True, 0, None),
        ("hint_format", None, None, True, 0, None),
        ("hint_format", 1, None, False, None, "label unknown on one side"),
        ("hint_format", 1, 0, False, -1, "label changed"),
        ("model_family", 1, 1, True, 0, None),
        ("paraphrase_edit", 1, 1, True, 0, None),
        ("cue_injection", 1, 0, True, -1, None),
        ("cue_injection", 1, 1, False, 0, "label did not change"),
        ("cue_verbalization", 0, 1, True, 1, None),
        ("cue_verbalization", 0, 0, False, 0, "label did not change"),
        ("cue_verbalization", None, None, False, None, "label unknown"),
        ("cue_silencing", 1, 0, True, -1, None),
        ("cue_silencing", 1, None, False, None, "label unknown"),
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
    assert pair["kind"] == str(registry()[axis].kind)


@pytest.mark.parametrize(
    ("left", "right", "kind", "direction", "reason"),
    [
        (1, 1, "preserving", 0, None),
        (0, 0, "preserving", 0, None),
        (1, 0, "altering", -1, None),
        (0, 1, "altering", 1, None),
        (1, None, "preserving", None, "label unknown"),
        (None, None, "preserving", 0, "label unknown"),
    ],
)
def test_the_labels_alone_decide_the_kind_of_a_budget_pair(
    left: int | None, right: int | None, kind: str, direction: int | None, reason: str | None
) -> None:
    short = partner("budget", right, condition="budget_cap", reasoning=" We count. There are five.")
    pair = pair_of(trace("t-a", left), short)
    assert (pair["kind"], pair["direction"], pair["dropped_because"]) == (kind, direction, reason)


def test_a_budget_that_shortens_nothing_is_dropped() -> None:
    longer = partner("budget", 1, reasoning=TEXT + " That is all of them.")
    assert pair_of(trace("t-a", 1), longer)["dropped_because"] == "shorter"


def test_every_axis_has_its_checks_and_every_check_is_listed() -> None:
    assert set(CHECKS) == {axis.name for axis in registry().values()} | {"repeat"}
    for axis in CHECKS:
        if axis != "repeat":
            known = {"t-b": 0.0}
            pair = pair_of(trace("t-a", 1), partner(axis, 1), semantic=known)
            wanted = [name for name in CHECKS[axis] if name != "similarity"]
            assert [check["name"] for check in pair["checks"]] == wanted


def test_a_paraphrase_must_keep_the_numbers_and_move_the_words() -> None:
    base = trace("t-a", 1)
    good = pair_of(base, partner("paraphrase", 1, question="Add 3 pens to 2 pens: what total?"))
    assert good["verified"]
    lost = pair_of(base, partner("paraphrase", 1, question="Add 4 pens to 2 pens: what total?"))
    assert lost["dropped_because"] == "question numbers kept"
    same = pair_of(base, partner("paraphrase", 1, question=base["question"]))
    assert same["dropped_because"] == "question moved"


def test_an_edit_in_other_words_keeps_the_numbers_of_the_reasoning() -> None:
    base = trace("t-a", 1, reasoning=" Take 2 pens and 3 pens. So there are 5.")
    lost = partner("paraphrase_edit", 1, reasoning=" Take 2 pens and 4 pens. Thus there are 5.")
    assert pair_of(base, lost)["dropped_because"] == "reasoning numbers kept"


def test_a_reordering_keeps_its_words() -> None:
    base = trace("t-a", 1, reasoning=f" {FIRST} {SECOND}")
    good = pair_of(base, partner("step_reorder", 1, reasoning=f" {SECOND} {FIRST}"))
    assert good["verified"]
    lost = pair_of(base, partner("step_reorder", 1, reasoning=f" {SECOND} Then {FIRST}"))
    assert lost["dropped_because"] == "words kept"


@pytest.mark.parametrize("axis", ["paraphrase_edit", "step_reorder"])
def test_an_edit_that_preserves_must_mean_the_same(axis: str) -> None:
    base = trace("t-a", 1, reasoning=f" {FIRST} {SECOND}")
    other = partner(axis, 1, reasoning=f" {SECOND} {FIRST}")
    plain = pair_of(base, other)
    assert plain["deltas"]["semantic"] is None
    assert "similarity" not in {check["name"] for check in plain["checks"]}
    for distance, reason in ((SIMILAR, None), (SIMILAR + 0.01, "similarity")):
        pair = pair_of(base, other, semantic={plain["pair_id"]: distance})
        assert (pair["deltas"]["semantic"], pair["dropped_because"]) == (distance, reason)


def test_a_rewritten_trace_reports_its_distance_and_need_not_be_near() -> None:
    plain = pair_of(trace("t-a", 1), partner("hint_format", 1))
    pair = pair_of(trace("t-a", 1), partner("hint_format", 1), semantic={plain["pair_id"]: 0.9})
    assert pair["verified"] and pair["deltas"]["semantic"] == 0.9


def test_the_reasoning_is_in_the_language_asked_for() -> None:
    asked = {"question": "Cuántos bolígrafos son 2 y 3?"}
    spanish = partner("language", 1, reasoning=SPANISH, **asked)
    pair = pair_of(trace("t-a", 1), spanish)
    assert pair["verified"] and pair["deltas"]["syntactic"] is None
    english = pair_of(trace("t-a", 1), partner("language", 1, **asked))
    assert english["dropped_because"] == "language"
    strayed = pair_of(trace("t-a", 1), partner("hint_format", 1, reasoning=SPANISH))
    assert strayed["dropped_because"] == "language"


def test_a_no_op_is_dropped() -> None:
    pair = pair_of(trace("t-a", 1), partner("hint_format", 1, reasoning=TEXT, prompt="p"))
    assert pair["dropped_because"] == "text moved"
    words = " ".join(["word"] * 40)
    base, hardly = trace("t-a", 1, reasoning=words), words + " more"
    pair = pair_of(base, partner("paraphrase_edit", 1, reasoning=hardly))
    assert pair["dropped_because"] == "text moved"


@pytest.mark.parametrize("axis", ["cue_verbalization", "cue_silencing"])
def test_an_edit_of_the_cue_that_moves_the_answer_is_dropped(axis: str) -> None:
    left = 0 if axis == "cue_verbalization" else 1
    pair = pair_of(trace("t-a", left), partner(axis, 1 - left, answer="6"))
    assert pair["dropped_because"] == "answer kept"


def test_an_answer_that_was_not_parsed() -> None:
    pair = pair_of(trace("t-a", 1), partner("hint_format", 1, answer=None))
    assert pair["dropped_because"] == "answer parsed"


def test_length() -> None:
    pair = pair_of(trace("t-a", 1), partner("hint_format", 1, reasoning=TEXT * 3))
    assert pair["dropped_because"] == "length ratio"
    pair = pair_of(trace("t-a", 1), partner("cue_silencing", 0, reasoning=TEXT + OTHER))
    assert pair["dropped_because"] == "length kept"


@pytest.mark.parametrize(
    ("scrambled", "preserved"),
    [((True, True), True), ((True, False), False), ((None, True), None)],
)
def test_mechanism(scrambled: tuple, preserved: bool | None) -> None:
    base = trace("t-a", 1)
    assert pair_of(base, partner("hint_format", 1), scrambled)["mechanism_preserved"] is preserved
    assert pair_of(base, partner("cue_injection", 0), scrambled)["mechanism_preserved"] is None


def test_repeats_join_the_generations_of_an_anchor() -> None:
    first, second = trace("t-a", 1), trace("t-b", 0, gen_index=1, reasoning=OTHER)
    pair = pair_of(first, second)
    assert (pair["axis"], pair["kind"], pair["mode"]) == ("repeat", "repeat", "regen")
    assert (pair["anchor_id"], pair["partner_id"]) == ("t-a", "t-b")
    assert pair["dropped_because"] == "label changed"


def test_pairs_do_not_depend_on_the_order_of_rows() -> None:
    rows = {"t-a": trace("t-a", 1), "t-b": partner("hint_format", 1)}
    given = {key: [] for key in rows}
    turned = dict(reversed(rows.items()))
    assert make_pairs(rows, given) == make_pairs(turned, given)


def test_models_that_all_write_make_one_family_pair_of_their_clean_anchors() -> None:
    rows = {
        name: trace(name, 1, model_revision=revision, gen_index=index)
        for name, revision, index in (
            ("t-1", "r2", 0),
            ("t-2", "r2", 1),
            ("t-3", "r1", 0),
            ("t-4", "r3", 0),
        )
    }
    cued = trace("t-5", 1, condition="cued_base", model_revision="r1")
    made = make_pairs(rows | {"t-5": cued}, {key: [] for key in (*rows, "t-5")})
    assert [(pair["axis"], pair["anchor_id"], pair["partner_id"]) for pair in made] == [
        ("repeat", "t-1", "t-2"),
        ("model_family", "t-3", "t-1"),
        ("model_family", "t-3", "t-4"),
        ("model_family", "t-1", "t-4"),
    ]
    assert {pair["mode"] for pair in made} == {"regen"}
    assert made[1]["kind"] == "preserving" and made[1]["direction"] == 0


def test_turkish_is_told_by_the_instruction_in_the_prompt() -> None:
    form = INSTRUCTIONS["tr"][3]
    turkish = " Kutudaki kalemleri sayıyoruz. Masada beş kalem daha kaldığını görüyoruz."
    asked = {"question": "2 ve 3 kaç kalem eder?", "prompt": f"{form}<end>"}
    pair = pair_of(trace("t-a", 1), partner("language", 1, reasoning=turkish, **asked))
    assert pair["verified"]
    spanish = pair_of(trace("t-a", 1), partner("language", 1, reasoning=SPANISH, **asked))
    assert spanish["dropped_because"] == "language"
