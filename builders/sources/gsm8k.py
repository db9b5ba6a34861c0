"""GSM8K: word problems of grade-school arithmetic; the answer stands behind ``####``."""

from __future__ import annotations

from builders.sources.given import Given, after
from builders.sources.hub import HubSource, Row


def read(row: Row, config: str) -> Given:
    """The question, and the number behind the last mark of its solution."""
    return Given(config, str(row["question"] or ""), after(str(row["answer"] or ""), "####"))


SOURCE = HubSource(
    name="gsm8k",
    repo="openai/gsm8k",
    revision="740312add88f781978c0658806c59bc2815b9866",
    configs=("main",),
    split="test",
    licence="MIT",
    columns=("question", "answer"),
    read=read,
)
