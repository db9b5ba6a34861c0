"""Spans cover prompt and reasoning, whatever the tokenizer merges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_data.measure.spans import BLOCKS, MAX_STEPS, Spans, find_spans

PROMPT = "<|user|>How many?\nThink.\n[hint: 4]\n<|assistant|>Let us see."
STEPS = [" The box holds 5 pens.", " Then 9 more come.", "\nSo 14 stand there."]


def pieces(engine, spans: Spans) -> list[str]:
    return [engine.tokenizer.decode(spans.ids[a:b]) for a, b in spans.steps]


def test_steps_cover_the_reasoning_and_nothing_else(engine) -> None:
    spans = find_spans(engine.tokenizer, PROMPT, STEPS)
    assert spans.ids == engine.ids(PROMPT + "".join(STEPS))
    assert pieces(engine, spans) == STEPS and spans.straddling == 0
    assert spans.first == len(engine.ids(PROMPT)) > 1


def test_blocks_are_the_tokens_that_overlap_them(engine) -> None:
    spans = find_spans(engine.tokenizer, PROMPT, STEPS, question="How many?", cue="[hint: 4]")

    def block(name: str) -> str:
        inside = spans.blocks[:, BLOCKS.index(name)] > 0
        ids = [token for token, within in zip(spans.ids, inside, strict=True) if within]
        return engine.tokenizer.decode(ids)

    assert block("question") == "How many?" and block("cue") == "[hint: 4]"
    assert block("instruction") == "|user|>\nThink.\n\n<|assistant|>Let us see."
    assert block("reasoning") == "".join(STEPS)


def test_a_cue_inside_the_question_is_a_cue_and_its_last_occurrence_counts(engine) -> None:
    prompt = "B is it? Is it B? B or C."
    spans = find_spans(engine.tokenizer, prompt, STEPS, question="Is it B?", cue="B")
    assert list(spans.blocks[:, 1].nonzero()[0]) == [prompt.rindex("B")]
    inside = find_spans(engine.tokenizer, prompt, STEPS, question="B or", cue="B").blocks
    assert inside[:, 0].sum() == 3 and inside[:, 1].sum() == 1


def test_a_merge_across_a_border_is_counted_where_it_begins(engine) -> None:
    # "an" is one token: its "n" is lost to the step that begins with it.
    spans = find_spans(engine.tokenizer, "xa", ["nx ", "a", "n!"])
    assert [engine.tokenizer.decode([token]) for token in spans.ids] == [
        "x",
        "an",
        "x",
        " ",
        "an",
        "!",
    ]
    assert pieces(engine, spans) == ["x ", "an", "!"] and spans.straddling == 2


def test_many_steps_are_merged_evenly(engine) -> None:
    steps = [f" {k} is up." for k in range(40)]
    spans = find_spans(engine.tokenizer, PROMPT, steps)
    sizes = [piece.count("is up") for piece in pieces(engine, spans)]
    assert sizes == [3] * 8 + [2] * 8 and len(sizes) == MAX_STEPS


def test_faults(engine) -> None:
    with pytest.raises(ValueError, match="no token"):
        find_spans(engine.tokenizer, PROMPT, ["", ""])
    with pytest.raises(ValueError, match="no token"):
        find_spans(engine.tokenizer, "", ["x"])
    with pytest.raises(ValueError, match="does not hold the question"):
        find_spans(engine.tokenizer, PROMPT, STEPS, question="How much?")


@given(prompt=st.text(max_size=12), steps=st.lists(st.text(max_size=6), min_size=1, max_size=40))
def test_every_token_has_one_place(engine, prompt: str, steps: list[str]) -> None:
    try:
        spans = find_spans(engine.tokenizer, prompt, steps, cue=prompt[3:5])
    except ValueError:
        assert len(engine.ids(prompt + "".join(steps))) <= max(len(engine.ids(prompt)), 1)
        return
    assert all(a < b for a, b in spans.steps) and len(spans.steps) <= MAX_STEPS
    assert all(a[1] == b[0] for a, b in zip(spans.steps, spans.steps[1:], strict=False))
    assert spans.first >= 1 and spans.steps[-1][1] == len(spans.ids) == len(spans.blocks)
    assert (spans.blocks[1:].sum(axis=1) == 1).all() and not spans.blocks[0].any()
    assert (spans.blocks[spans.first :, -1] == 1).all() and not spans.blocks[
        : spans.first, -1
    ].any()
