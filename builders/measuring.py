"""Traces measured: one reading of each gives its descriptors and its answers under every probe.

What traces share is computed once: a prompt is read once for all that start from it, and the
answers of several traces are decoded together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from builders.model import Model
from builders.prompts import without_cue
from builders.rows import Row
from builders.sources import LETTERS, Item
from faithshift_data.measure.extract import Observation, observe
from faithshift_data.measure.forced import LINES, Asked, force_all
from faithshift_data.measure.interventions import Probe
from faithshift_data.measure.shared_prefix import read
from faithshift_data.reasoning import open_block

DIGITS = (*"0123456789", "-")


@dataclass(frozen=True)
class Measured:
    """What a reading yields: the answer, rows of interventions, descriptors where asked for."""

    answer: str | None
    status: str
    rows: list[Row]
    descriptors: dict[str, np.ndarray] | None


@dataclass(frozen=True)
class Question:
    """A trace and what is asked about it.

    Attributes:
        item: the trace's item.
        row: the trace; where it carries an answer already, that one stays.
        probes: the interventions.
        language: of the answer line.
        describing: False where only labels are wanted, as in screening.
    """

    item: Item
    row: Row
    probes: Sequence[Probe]
    language: str = "en"
    describing: bool = True


def measure(model: Model, questions: Sequence[Question]) -> list[Measured | Exception]:
    """Read traces, force their answers and those of the probes, and describe their trajectories.

    Args:
        model: who reads.
        questions: one a trace.

    Returns:
        One result a question, in order; of a trace that cannot be read or described the reason.
    """
    try:
        return [*_measure(model, questions)]
    except (ValueError, RuntimeError) as error:
        if len(questions) == 1:
            return [error]
    # Parted until what fails does so alone.
    middle = len(questions) // 2
    return [*measure(model, questions[:middle]), *measure(model, questions[middle:])]


def _measure(model: Model, questions: Sequence[Question]) -> list[Measured]:
    observed = [_observed(model, each) if each.describing else None for each in questions]
    forced = force_all(
        model.reader,
        [_asked(model, each, seen) for each, seen in zip(questions, observed, strict=True)],
    )
    return [
        Measured(
            answers.answer,
            str(answers.status),
            answers.rows,
            seen.descriptors(answers.answer).arrays
            if seen and answers.answer is not None
            else None,
        )
        for seen, answers in zip(observed, forced, strict=True)
    ]


def _observed(model: Model, question: Question) -> Observation:
    row, options = question.row, question.item.options
    return observe(
        model.reader,
        row["prompt"],
        row["steps"],
        question=row["question"],
        cue=row["cue"]["text"] if row["cue"] else "",
        candidates=LETTERS[: len(options)] if options else DIGITS,
        start=model.prompts.reading(row["prompt"]),
    )


def _asked(model: Model, question: Question, observed: Observation | None) -> Asked:
    item, row = question.item, question.row
    prompt, reasoning, cue = row["prompt"], row["reasoning"], row["cue"]
    if observed:
        reading = observed.reading
    else:
        reading = read(model.reader, prompt + reasoning, model.prompts.reading(prompt))
    return Asked(
        reading,
        trace_id=row["trace_id"],
        prompt=prompt,
        reasoning=reasoning,
        answer_kind=item.answer_kind,
        options=list(item.options) if item.options else None,
        probes=question.probes,
        clean_prompt=without_cue(prompt, cue["text"]) if cue else None,
        attached=row.get("answer"),
        line=line_after(prompt, question.language),
        language=question.language,
    )


def line_after(prompt: str, language: str) -> str | None:
    """The answer line that first closes the block that a prompt opened; None for the usual one."""
    block = open_block(prompt)
    return None if block is None else f"\n{block[1]}\n{LINES[language]}"
