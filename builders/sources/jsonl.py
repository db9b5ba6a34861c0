"""Own questions from a file of JSON lines, as ``faithshift measure --generate`` reads it.

A line is an object with ``question`` and ``gold`` (a letter where there are ``options``, else a
number), and optionally ``options`` (2 to 26 different texts), ``target`` (the wrong answer to
plant) and ``domain``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders.sources.given import Given, Unusable
from faithshift_data.measure.questions import read_questions
from faithshift_data.schema import AnswerKind

if TYPE_CHECKING:
    from builders.presets.uses import SourceUse


@dataclass(frozen=True)
class JsonlSource:
    """A file of questions."""

    name: str = "jsonl"
    revision: str = ""

    def questions(self, use: SourceUse, wanted: int, seed: int) -> Iterator[Given | Unusable]:
        """Every line.

        Raises:
            InputError: the file cannot be read, or a line is no question.
        """
        for row in read_questions(use.path):
            if row["answer_kind"] == AnswerKind.TEXT:
                yield Unusable("an answer in words")
                continue
            options = row.get("options")
            domain = row.get("domain", "questions")
            yield Given(
                task=domain,
                question=row["question"],
                gold=row.get("gold", ""),
                options=tuple(options) if options else None,
                target=row["target"],
                domain=domain,
            )

    def stated(self, use: SourceUse) -> tuple[str, str, str]:
        """The file's name and the licence that the preset states."""
        return Path(use.path).name, use.licence or "unstated", "a file of questions"


SOURCE = JsonlSource()
