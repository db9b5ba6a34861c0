"""Measure one trace with a local model: the text it reads, its descriptors, its forced answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from faithshift_data.errors import InputError
from faithshift_data.measure.interventions import (
    AS_SHOWN,
    FEATURE_PROBES,
    FEATURE_SUBSET,
    LABEL_PROBES,
    Probe,
)
from faithshift_data.measure.local_model import LocalModel
from faithshift_data.reasoning import open_block

if TYPE_CHECKING:
    from faithshift_data.measure.forced import Forced
    from faithshift_data.measure.text_model import TextModel

# Raise it with every change to what is measured of a trace: older work is redone.
CODE_VERSION = 2
PROBES = {"full": FEATURE_PROBES, "subset": FEATURE_SUBSET}
# Tokens of an answer line and its answer.
ROOM = 64

Row = dict[str, Any]
# Values and descriptors of a measured trace.
Done = tuple[Row, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Settings:
    """What a measurement follows from, besides traces and model.

    Attributes:
        probes: ``full`` or ``subset``, the interventions of role ``feature``.
        label_probes: also those of role ``label``, from which labels can be made.
        answer_line: the text that asks for the answer, without a bracket; None: the usual one,
            after the closing delimiter where the prompt leaves a reasoning block open.
        chat: a prompt is a user message, and is read in the model's chat template.
        limit: measure so many traces, the first by trace_id; None: all.
        rollout: also store the descriptor ``rollout``.
    """

    probes: str = "full"
    label_probes: bool = False
    answer_line: str | None = None
    chat: bool = False
    limit: int | None = None
    rollout: bool = False

    def __post_init__(self) -> None:
        """Refuse an unknown set of probes, and a limit under 1."""
        if self.probes not in PROBES:
            raise InputError("unknown", field="--probes", expected=[*PROBES], got=self.probes)
        if self.limit is not None and self.limit < 1:
            expected = "a whole number, 1 or more"
            raise InputError("bad value", field="--limit", expected=expected, got=self.limit)

    @property
    def planned(self) -> tuple[Probe, ...]:
        """The probes whose rows are kept."""
        return (*(LABEL_PROBES if self.label_probes else ()), *PROBES[self.probes])


def measure_trace(row: Mapping[str, Any], model: LocalModel, settings: Settings) -> Done | None:
    """Descriptors and forced answers of one trace.

    Args:
        row: of the traces table, with reasoning and answer.
        model: what reads it.
        settings: how.

    Returns:
        ``interventions``, and ``restated``: whether the model, asked after the reasoning as
        shown, gives the trace's answer (None: it gives none); and the descriptors ``psi``,
        ``state``, ``scalars`` and, if asked for, ``rollout``. None if the trace is longer than the
        model's context.

    Raises:
        ValueError: the reasoning has no token, a descriptor does not fit float16, or the model is
            built in an unknown way.
    """
    from faithshift_data.measure.extract import observe
    from faithshift_data.measure.forced import force

    engine = model.engine
    about, cue = about_of(row, model, settings), cue_of(row)
    prompt = about["prompt"]
    if not model.fits(prompt + row["reasoning"], ROOM):
        return None
    seen = observe(
        engine,
        prompt,
        row["steps"],
        question=row["question"] if row["question"] in prompt else "",
        cue=cue if cue in prompt else "",
        candidates=(row["answer"],),
        rollout=settings.rollout,
    )
    made = seen.descriptors(row["answer"])
    return values_of(force(engine, seen.reading, **about)), made.arrays


def about_of(
    row: Mapping[str, Any], model: LocalModel | TextModel, settings: Settings
) -> dict[str, Any]:
    """What ``forced.Asked`` is told of a trace, but for the reading."""
    prompt = _prompt(row["prompt"], row, model, settings)
    uncued = without_cue(row["prompt"], cue_of(row))
    return {
        "trace_id": row["trace_id"],
        "prompt": prompt,
        "reasoning": row["reasoning"],
        "answer_kind": row["answer_kind"],
        "options": row["options"],
        "probes": (AS_SHOWN, *settings.planned),
        "clean_prompt": None if uncued is None else _prompt(uncued, row, model, settings),
        "attached": row["answer"],
        "line": settings.answer_line or closing_line(prompt),
    }


def values_of(forced: Forced) -> Row:
    """The rows of a trace, and whether the answer was restated after the reasoning as shown."""
    shown, *others = forced.rows
    restated = None if shown["changed"] is None else not shown["changed"]
    return {"interventions": others, "restated": restated}


def cue_of(row: Mapping[str, Any]) -> str:
    """The text of a trace's cue; "" where there is none."""
    return (row["cue"] or {}).get("text") or ""


def without_cue(prompt: str, cue: str) -> str | None:
    """The prompt without its last occurrence of the cue, and of a line break beside it.

    None where there is no cue, or the prompt does not hold it.
    """
    for part in (f"\n{cue}", f"{cue}\n", cue) if cue else ():
        before, held, after = prompt.rpartition(part)
        if held:
            return before + after
    return None


def closing_line(prompt: str) -> str | None:
    """An answer line that first closes the reasoning block which a prompt leaves open, or None."""
    block = open_block(prompt)
    return None if block is None else f"\n{block[1]}\n\nThe answer is"


def read_of(row: Mapping[str, Any]) -> Row:
    """The columns that a measurement reads."""
    names = ("trace_id", "question", "options", "answer_kind", "cue", "prompt", "steps", "answer")
    return {name: row[name] for name in names}


def how_of(model: LocalModel | TextModel, settings: Settings) -> dict[str, Any]:
    """All else that a measurement follows from; with ``limit`` it stands in the manifest."""
    return {
        **model.row,
        **model.arithmetic,
        "probes": [asdict(probe) for probe in settings.planned],
        "answer_line": settings.answer_line,
        "chat_template": settings.chat,
        "code_version": CODE_VERSION,
        "versions": model.versions,
        **({"rollout": True} if settings.rollout else {}),
    }


def _prompt(
    text: str, row: Mapping[str, Any], model: LocalModel | TextModel, settings: Settings
) -> str:
    if settings.chat:
        return model.chat(text)
    return f"{text}\n" if row["prompt"] == row["question"] else text
