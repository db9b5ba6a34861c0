"""MMLU-Pro: questions of fourteen subjects, most with ten options."""

from __future__ import annotations

from builders.sources import LETTERS
from builders.sources.given import Given, Unusable
from builders.sources.hub import HubSource, Row


def read(row: Row, config: str) -> Given:
    """The question with its options in their order; its subject is the task."""
    options, answer, place = tuple(row["options"] or ()), row["answer"] or "", row["answer_index"]
    if place is None or LETTERS[place : place + 1] != answer:
        raise Unusable("answer and answer_index disagree")
    return Given(str(row["category"]), row["question"] or "", answer, options)


SOURCE = HubSource(
    name="mmlu_pro",
    repo="TIGER-Lab/MMLU-Pro",
    revision="527feea0afed1de15a8c115abf7be4c912123315",
    configs=("default",),
    split="test",
    licence="MIT",
    columns=("question", "options", "answer", "answer_index", "category"),
    read=read,
)
