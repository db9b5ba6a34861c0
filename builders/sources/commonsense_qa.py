"""CommonsenseQA: five options; the validation split, since the test split has no answers."""

from __future__ import annotations

from builders.sources import LETTERS
from builders.sources.given import Given, Unusable
from builders.sources.hub import HubSource, Row


def read(row: Row, config: str) -> Given:
    """The question with its options in their order."""
    labels, texts = row["choices"]["label"], row["choices"]["text"]
    if list(labels) != list(LETTERS[: len(labels)]) or len(labels) != len(texts):
        raise Unusable("options that are not lettered A, B, C on")
    return Given("questions", row["question"] or "", row["answerKey"] or "", tuple(texts))


SOURCE = HubSource(
    name="commonsense_qa",
    repo="tau/commonsense_qa",
    revision="94630fe30dad47192a8546eb75f094926d47e155",
    configs=("default",),
    split="validation",
    licence="MIT",
    columns=("question", "choices", "answerKey"),
    read=read,
)
