"""Forced answers: a trace's own, and one for every text put in the place of its reasoning.

The model reads prompt, reasoning and an answer line, and says how the line goes on. All texts of
a trace continue from one reading, so that a probe costs what it does not share with the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faithshift_data.answers import ExtractedAnswer, extract_answer
from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Completion, Sampling
from faithshift_data.measure.interventions import Probe, changed
from faithshift_data.schema import AnswerKind, AnswerStatus

if TYPE_CHECKING:
    from faithshift_data.measure.engines.transformers import TransformersEngine
    from faithshift_data.measure.shared_prefix import Reading

LINES = {"en": "\nThe answer is", "es": "\nLa respuesta es"}
ANSWER_COLON = "\nAnswer:"
SAMPLING = {
    AnswerKind.LETTER: Sampling(1),
    AnswerKind.NUMBER: Sampling(7, stop=("\n", ". ", ", ")),
    AnswerKind.TEXT: Sampling(16, stop=("\n", ". ")),
}


def answer_line(kind: str, language: str = "en", line: str | None = None) -> str:
    """The text that asks for the answer once the reasoning is over.

    Args:
        kind: of the answer; a letter's line ends with an open bracket.
        language: of the line, a key of ``LINES``.
        line: an own line without bracket instead, such as ``ANSWER_COLON``.

    Raises:
        InputError: a language without a line.
    """
    if line is None and language not in LINES:
        raise InputError("no answer line", field="language", expected=list(LINES), got=language)
    stem = LINES[language] if line is None else line
    return stem + " (" if kind == AnswerKind.LETTER else stem


def answer_text(kind: str, completion: str) -> str:
    """The forced answer as an English sentence, whatever line asked; its bracket is closed."""
    text = answer_line(kind) + completion
    return text + ")" if kind == AnswerKind.LETTER else text


def read_answer(said: Completion, kind: str, options: Sequence[str] | None) -> ExtractedAnswer:
    """The answer in what a model said to an answer line."""
    return extract_answer(answer_text(kind, said.text), kind=kind, options=options)


@dataclass(frozen=True)
class Forced:
    """The answer of a trace and its intervention rows.

    Attributes:
        answer: forced from the reasoning as shown, or the one attached; None if none was said.
        status: an ``AnswerStatus``; ``explicit`` for an attached answer.
        response: what the model said to the reasoning as shown; None for an attached answer.
        rows: one a probe that applies, with the columns of ``schema.INTERVENTIONS``.
        tokens_computed: tokens of the reading and of all that was read after it, with padding.
        tokens_requested: tokens of all texts, what asking each alone would have read.
    """

    answer: str | None
    status: str
    response: str | None
    rows: list[dict[str, Any]]
    tokens_computed: int
    tokens_requested: int


def force(
    engine: TransformersEngine,
    reading: Reading,
    *,
    trace_id: str,
    prompt: str,
    reasoning: str,
    answer_kind: str,
    options: Sequence[str] | None,
    probes: Sequence[Probe],
    clean_prompt: str | None = None,
    attached: str | None = None,
    language: str = "en",
    line: str | None = None,
) -> Forced:
    """Force the answer from the shown reasoning and from every probe's text.

    Args:
        engine: the engine that made the reading.
        reading: a pass over ``prompt + reasoning``.
        trace_id: seeds what the probes draw.
        prompt: the text before the reasoning.
        reasoning: the trace's own.
        answer_kind: ``letter``, ``number`` or ``text``.
        options: the option texts; an answer outside them is ``out_of_set``.
        probes: what to put in the place of the reasoning; one that does not apply to the trace
            makes no row.
        clean_prompt: the prompt without the cue; ``cue_removed`` applies only where it is given.
        attached: an answer the trace carries; ``changed`` then compares with it.
        language: of the answer line.
        line: an own answer line, without bracket.

    Raises:
        InputError: a language without an answer line, or an unknown kind of answer.
        ValueError: an unknown kind of probe.
    """
    from faithshift_data.measure.shared_prefix import continue_from, tokens_read

    if answer_kind not in SAMPLING:
        expected = ", ".join(SAMPLING)
        raise InputError("unknown", field="answer_kind", expected=expected, got=answer_kind)
    asks = answer_line(answer_kind, language, line)
    planned = list(_plan(probes, trace_id, reasoning, prompt, clean_prompt))
    shown = [] if attached is not None else [prompt + reasoning]
    texts = [text + asks for text in (*shown, *(plan.before + plan.text for plan in planned))]
    said = continue_from(engine, reading, texts, SAMPLING[AnswerKind(answer_kind)]) if texts else []
    found = [read_answer(done, answer_kind, options) for done in said]
    own = found[0] if shown else ExtractedAnswer(attached, AnswerStatus.EXPLICIT, "attached")
    probed = slice(len(shown), None)
    rows = [
        _row(engine, trace_id, own.value, *parts)
        for parts in zip(planned, texts[probed], said[probed], found[probed], strict=True)
    ]
    computed, requested = tokens_read(engine, reading, texts)
    return Forced(
        own.value,
        str(own.status),
        said[0].text if shown else None,
        rows,
        len(reading.ids) + computed,
        requested,
    )


@dataclass(frozen=True)
class _Planned:
    """A probe that applies, the prompt it stands after, and its text."""

    probe: Probe
    before: str
    text: str


def _plan(
    probes: Sequence[Probe], trace_id: str, reasoning: str, prompt: str, clean_prompt: str | None
) -> Iterator[_Planned]:
    for probe in probes:
        before = clean_prompt if probe.kind == "cue_removed" else prompt
        text = probe.inject(trace_id, reasoning)
        if before is not None and text is not None:
            yield _Planned(probe, before, text)


def _row(
    engine: TransformersEngine,
    trace_id: str,
    original: str | None,
    plan: _Planned,
    sent: str,
    said: Completion,
    answer: ExtractedAnswer,
) -> dict[str, Any]:
    """A row of the table; what was not really read has no ``changed``."""
    read_back = engine.tokenizer.decode(engine.ids(sent))
    verified = read_back.startswith(plan.before + plan.text)
    return {
        "intervention_id": plan.probe.row_id(trace_id),
        "trace_id": trace_id,
        "kind": plan.probe.kind,
        "fraction": plan.probe.fraction,
        "seed": plan.probe.seed,
        "role": str(plan.probe.role),
        "injected": plan.text,
        "response": said.text,
        "answer": answer.value,
        "answer_status": str(answer.status),
        "changed": changed(original, answer.value) if verified else None,
        "injection_verified": verified,
    }
