"""Delimiters of reasoning, and steps that cover the text exactly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faithshift_data import InputError, split_reasoning, split_steps
from faithshift_data.reasoning import (
    DELIMITERS,
    HARMONY_BLOCK,
    STYLES,
    block_span,
    open_block,
)

CHATML = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
HARMONY = (
    "<|channel|>analysis<|message|>Add them.<|end|><|start|>assistant"
    "<|channel|>final<|message|>It is 4.<|return|>"
)


@pytest.mark.parametrize(
    ("output", "tail", "reasoning", "answer", "status"),
    [
        ("<think>a b</think>c", "", "a b", "c", "closed"),
        ("a b</think>c", "<|assistant|><think>\n", "a b", "c", "closed"),
        ("a b</think>c", "", "a b", "c", "closed"),
        ("a b, and on", "<think>", "a b, and on", None, "truncated"),
        ("<think>a b", "", "a b", None, "truncated"),
        ("<think>\n\n</think>c", "", "", "c", "closed"),
        ("</think>c", "<think>", "", "c", "closed"),
        ("just c", "", None, "just c", "absent"),
        ("", "", None, "", "absent"),
        ("<think>a</think>b</think>c", "", "a", "b</think>c", "closed"),
        ("just c", "What does <think>x</think> mean?", None, "just c", "absent"),
        ("I write <think> tags</think>c", "<think>", "I write <think> tags", "c", "closed"),
        ("[THINK]a[/THINK]c", "", "a", "c", "closed"),
        (HARMONY, "", "Add them.", "It is 4.", "closed"),
        (HARMONY[: HARMONY.index("<|end|>")], "", "Add them.", None, "truncated"),
        ("Add them.<|end|>", "<|channel|>analysis<|message|>", "Add them.", None, "closed"),
        ("<|channel|>final<|message|>4<|return|>", "", None, "4", "absent"),
        ("analysisAdd them.assistantfinalIt is 4.", "", "Add them.", "It is 4.", "closed"),
        ("analysis of the case", "", None, "analysis of the case", "absent"),
        # The template opened the block (P24), or the user only wrote of one (P28).
        ("a b</think>c", CHATML + "<think>\n", "a b", "c", "closed"),
        ("b</think>c", CHATML + "<think>a ", "b", "c", "closed"),
        ("It is a tag.", "What is <think>?" + CHATML, None, "It is a tag.", "absent"),
        ("It is a tag.", "[INST] Say <think> [/INST]", None, "It is a tag.", "absent"),
        ("c", CHATML + "<think>\n\n</think>\n\n", None, "c", "absent"),
        ("<think>a</think>c", "Never write </think>." + CHATML, "a", "c", "closed"),
        # Cut off (P25), even where special tokens follow.
        ("a b<|eot_id|>", CHATML + "<think>", "a b", None, "truncated"),
        ("", CHATML + "<think>", "", None, "truncated"),
        # Closed, and then nothing.
        ("a</think>", CHATML + "<think>", "a", "", "closed"),
        # Special tokens at the ends belong to neither part.
        ("<think>a</think>c<|im_end|>\n", "", "a", "c", "closed"),
        ("<s><think>a</think>c</s>", "", "a", "c", "closed"),
        ("<|begin_of_text|>just c<|eot_id|>", "", None, "just c", "absent"),
        # The first delimiter in the output tells the style.
        ("<reasoning>a</reasoning>c </think>", "", "a", "c </think>", "closed"),
        ("Well: <think>a</think>c", "", "a", "c", "closed"),
        # Harmony: glued by a decoder that skips special tokens, prefilled, with a tool call.
        ("analysisa assistantcommentaryb assistantfinalc", "", "a", "c", "closed"),
        ("analysisa assistantanalysisb assistantfinalc", "", "a\nb", "c", "closed"),
        (
            "b<|end|><|start|>assistant<|channel|>final<|message|>c<|return|>",
            "<|start|>assistant<|channel|>analysis<|message|>a ",
            "b",
            "c",
            "closed",
        ),
        ("c<|return|>", "<|start|>assistant<|channel|>final<|message|>", None, "c", "absent"),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=f "
            "<|constrain|>json<|message|>{}<|call|>",
            "",
            "a",
            None,
            "closed",
        ),
        (
            "<|channel|>analysis<|message|>if a < b, then <|end|><|start|>assistant"
            "<|channel|>final<|message|>c",
            "",
            "if a < b, then",
            "c",
            "closed",
        ),
        (
            "analysis by the assistant, final draft",
            "",
            None,
            "analysis by the assistant, final draft",
            "absent",
        ),
    ],
)
def test_split_reasoning(
    output: str, tail: str, reasoning: str | None, answer: str | None, status: str
) -> None:
    found = split_reasoning(output, prompt_tail=tail)
    assert (found.reasoning, found.answer_text, found.status) == (reasoning, answer, status)


@pytest.mark.parametrize("style", DELIMITERS)
def test_every_registered_pair_is_recognised_and_can_be_forced(style: str) -> None:
    opener, closer = DELIMITERS[style]
    for name in ("auto", style):
        found = split_reasoning(f"{opener}why{closer}what", style=name)
        assert (found.reasoning, found.answer_text) == ("why", "what")
    assert split_reasoning(f"{opener}why{closer}what", style="none").reasoning is None


def test_glued_harmony_without_an_answer_must_be_named() -> None:
    found = split_reasoning("analysisWe add", style="harmony")
    assert (found.reasoning, found.answer_text, found.status) == ("We add", None, "truncated")
    assert split_reasoning("analysisWe add").reasoning is None


def test_a_harmony_prompt_says_what_glued_output_is() -> None:
    tail = "<|start|>user<|message|>2 + 2?<|end|><|start|>assistant"
    cut = split_reasoning("analysisWe add", prompt_tail=tail)
    assert (cut.reasoning, cut.status) == ("We add", "truncated")
    whole = "analysisWe add.assistantfinal4"
    assert block_span("analysisWe add", prompt_tail=tail) == (0, None)
    assert block_span(whole, prompt_tail=tail) == block_span(whole) == (0, whole.index("4"))
    assert block_span("analysisWe add") is None and block_span("4", prompt_tail=tail) is None
    assert block_span("4 assistantanalysis Hm") == (2, None)
    # A reply that takes no channel of reasoning has none.
    assert split_reasoning("final: 4", prompt_tail=tail).reasoning is None
    opened = f"{tail}<|channel|>analysis<|message|>"
    assert open_block(opened + "Hm.") == HARMONY_BLOCK and open_block(tail) is None
    assert open_block(opened + "Hm." + HARMONY_BLOCK[1]) is None


def rendered(style: str, reasoning: str, answer: str) -> str:
    if style == "harmony":
        channels = {"analysis": f"{reasoning}<|end|>", "final": f"{answer}<|return|>"}
        return "<|start|>assistant".join(
            f"<|channel|>{name}<|message|>{text}" for name, text in channels.items()
        )
    if style == "none":
        return answer
    opener, closer = DELIMITERS[style]
    return f"{opener}\n{reasoning}\n{closer}\n\n{answer}"


PLAIN = st.text(st.characters(exclude_characters="<>|[]◁▷", exclude_categories=["Cs"])).map(
    str.strip
)
TAGS = [tag for pair in DELIMITERS.values() for tag in pair]
TAGS += ["<|channel|>", "analysis", "final", "<|message|>", "<|end|>", "assistant", "</s>", "\n"]
TAGGED = st.lists(st.sampled_from(TAGS) | st.text(max_size=4), max_size=12).map("".join)


@settings(deadline=None)
@given(st.sampled_from(STYLES[1:]), PLAIN, PLAIN, st.sampled_from(["", "<|im_end|>", "</s>\n"]))
def test_what_a_style_renders_is_split_into_the_same_parts(
    style: str, reasoning: str, answer: str, end: str
) -> None:
    output = rendered(style, reasoning, answer) + end
    found = split_reasoning(output, style=style)
    assert found.answer_text == answer
    assert found.reasoning == (None if style == "none" else reasoning)
    if style not in ("none", "harmony"):
        opener = DELIMITERS[style][0]
        assert split_reasoning(output) == found
        assert split_reasoning(output.removeprefix(opener), prompt_tail=CHATML + opener) == found


@settings(deadline=None)
@given(TAGGED | st.text(), TAGGED | st.text(), st.sampled_from(STYLES))
def test_any_output_is_split(output: str, tail: str, style: str) -> None:
    found = split_reasoning(output, prompt_tail=tail, style=style)
    assert (found.reasoning is None) == (found.status == "absent")
    assert found.status != "truncated" or found.answer_text is None
    for part in (found.reasoning, found.answer_text):
        assert part is None or part == part.strip()


def test_unknown_style() -> None:
    with pytest.raises(InputError, match="field style"):
        split_reasoning("x", style="xml")


@pytest.mark.parametrize(
    "steps",
    [
        ["Dr. Who has 3.5 apples. ", "He eats two, e.g. today. ", "So 1.5 stay."],
        ["First add.\n", "Then multiply.\n\n", "Done!"],
        ["1. Add 2 and 3. ", "2. Double it.\n", "3. Stop."],
        ["Steps:\n", "- one\n", "- two\n"],
        ["Is it 5? ", "Yes! ", "So the answer is 5. ", "Then stop."],
        ["The total is 3. 5 remain."],
        ['He said "no." ', "We go on."],
        ["Compare A vs. B and stop. ", "It is B."],
        ["第一步。", "第二步。"],
        ["  Lead in. ", "Next."],
        ["(a) one two. ", "(b) three."],
        ["no end here"],
        [],
    ],
)
def test_steps(steps: list[str]) -> None:
    assert split_steps("".join(steps)) == steps


@settings(deadline=None)
@given(st.text(alphabet="aB1.?!\n ()-*。\t", max_size=80) | st.text())
def test_steps_cover_the_text_and_none_is_blank(text: str) -> None:
    steps = split_steps(text)
    assert "".join(steps) == text
    assert all(step.strip() for step in steps) or len(steps) == 1


@pytest.mark.parametrize(
    "piece", [".", " ", "\n", " \n", "a. ", "1. ", ". ", "!)", "...\n", "\t.\n"]
)
def test_long_repetitions_end(piece: str) -> None:
    text = "x" + piece * (50_000 // len(piece))
    assert "".join(split_steps(text)) == text
    assert split_reasoning(text, prompt_tail=text).status == "absent"
