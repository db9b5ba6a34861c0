"""One trace measured: a single reading gives its descriptors, and its answers under every probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from builders.model import Model
from builders.prompts import without_cue
from builders.rows import Row
from builders.sources import LETTERS, Item
from faithshift_data.measure.extract import observe
from faithshift_data.measure.forced import force
from faithshift_data.measure.interventions import Probe
from faithshift_data.measure.shared_prefix import read

DIGITS = (*"0123456789", "-")


@dataclass(frozen=True)
class Measured:
    """What a reading yields: the answer, rows of interventions, descriptors where asked for."""

    answer: str | None
    status: str
    rows: list[Row]
    descriptors: dict[str, np.ndarray] | None


def measure(
    model: Model,
    item: Item,
    row: Row,
    probes: Sequence[Probe],
    *,
    language: str = "en",
    describing: bool = True,
) -> Measured:
    """Read a trace, force its answer and those of the probes, and describe its trajectory.

    Args:
        model: who reads.
        item: the trace's item.
        row: the trace; where it carries an answer already, that one stays.
        probes: the interventions.
        language: of the answer line.
        describing: False where only labels are wanted, as in screening.
    """
    engine, prompt, cue = model.reader, row["prompt"], row["cue"]
    observed = None
    if describing:
        observed = observe(
            engine,
            prompt,
            row["steps"],
            question=row["question"],
            cue=cue["text"] if cue else "",
            candidates=LETTERS[: len(item.options)] if item.options else DIGITS,
        )
    forced = force(
        engine,
        observed.reading if observed else read(engine, prompt + row["reasoning"]),
        trace_id=row["trace_id"],
        prompt=prompt,
        reasoning=row["reasoning"],
        answer_kind=item.answer_kind,
        options=list(item.options) if item.options else None,
        probes=probes,
        clean_prompt=without_cue(prompt, cue["text"]) if cue else None,
        attached=row.get("answer"),
        language=language,
    )
    described = None
    if observed and forced.answer is not None:
        described = observed.descriptors(forced.answer).arrays
    return Measured(forced.answer, str(forced.status), forced.rows, described)
