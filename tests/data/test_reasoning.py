"""Delimiters of reasoning, and steps that cover the text exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_data import InputError, split_reasoning, split_steps
from faithshift_data.reasoning import DELIMITERS

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


@given(st.text(alphabet="aB1.?!\n ()-*。\t", max_size=80))
def test_steps_cover_the_text_and_none_is_blank(text: str) -> None:
    steps = split_steps(text)
    assert "".join(steps) == text
    assert all(step.strip() for step in steps) or len(steps) == 1
