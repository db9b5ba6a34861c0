"""Forced answers: a trace's own, and one for every text put in the place of its reasoning.

The model reads prompt, reasoning and an answer line, and says how the line goes on. All texts of
a trace continue from one reading, so that a probe costs what it does not share with the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from faithshift_data.answers import ExtractedAnswer, extract_answer
from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Completion, Engine, Sampling
from faithshift_data.measure.interventions import Probe
from faithshift_data.schema import AnswerKind, AnswerStatus, changed

if TYPE_CHECKING:
    from faithshift_data.measure.engines.transformers import TransformersEngine
    from faithshift_data.measure.shared_prefix import Reading

LINES = {"en": "\nThe answer is", "es": "\nLa respuesta es", "tr": "\nCevap:"}
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
        tokens_computed: tokens of the reading and of all that is read after it, with padding, where
            the trace is forced alone.
        tokens_requested: tokens of all texts, what asking each alone would have read; both None
            without a reading.
    """

    answer: str | None
    status: str
    response: str | None
    rows: list[dict[str, Any]]
    tokens_computed: int | None
    tokens_requested: int | None


@dataclass(frozen=True)
class Asked:
    """A trace to force answers from.

    Attributes:
        reading: a pass over ``prompt + reasoning``; None for a black box.
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
    """

    reading: Reading | None
    trace_id: str
    prompt: str
    reasoning: str
    answer_kind: str
    options: Sequence[str] | None
    probes: Sequence[Probe]
    clean_prompt: str | None = None
    attached: str | None = None
    language: str = "en"
    line: str | None = None


def force(engine: TransformersEngine, reading: Reading, **about: Any) -> Forced:
    """Force the answer from the shown reasoning and from every probe's text.

    Args:
        engine: the engine that made the reading.
        reading: a pass over ``prompt + reasoning``.
        about: the other attributes of ``Asked``.

    Raises:
        InputError: a language without an answer line, or an unknown kind of answer.
        ValueError: an unknown kind of probe.
    """
    return force_all(engine, [Asked(reading, **about)])[0]


def force_all(engine: TransformersEngine, asked: Sequence[Asked]) -> list[Forced]:
    """``force`` for several traces, whose answers are decoded together where that is cheaper.

    Args:
        engine: the engine that made the readings.
        asked: the traces.

    Returns:
        One result a trace, in order, equal to forcing each alone (up to rounding).

    Raises:
        InputError, ValueError: as ``force``.
    """
    from faithshift_data.measure.shared_prefix import continue_all

    for each in asked:
        if each.answer_kind not in SAMPLING:
            expected, got = ", ".join(SAMPLING), each.answer_kind
            raise InputError("unknown", field="answer_kind", expected=expected, got=got)
    plans = [list(plan(each)) for each in asked]
    texts = [texts_of(each, planned) for each, planned in zip(asked, plans, strict=True)]
    said: dict[int, list[Completion]] = {}
    for kind, sampling in SAMPLING.items():
        places = [place for place, each in enumerate(asked) if each.answer_kind == kind]
        read = [(cast("Reading", asked[place].reading), texts[place]) for place in places]
        said |= zip(places, continue_all(engine, read, sampling), strict=True)
    return [
        conclude(engine, each, plans[place], texts[place], said[place])
        for place, each in enumerate(asked)
    ]


def conclude(
    engine: Engine,
    asked: Asked,
    planned: Sequence[Planned],
    texts: Sequence[str],
    said: Sequence[Completion],
) -> Forced:
    """What the model said to the texts, the one as shown first unless an answer is attached."""
    found = [read_answer(done, asked.answer_kind, asked.options) for done in said]
    attached = asked.attached is not None
    own = (
        ExtractedAnswer(asked.attached, AnswerStatus.EXPLICIT, "attached") if attached else found[0]
    )
    probed = slice(0 if attached else 1, None)
    rows = [
        _row(engine, asked.trace_id, own.value, *parts)
        for parts in zip(planned, texts[probed], said[probed], found[probed], strict=True)
    ]
    computed = requested = None
    if asked.reading is not None:
        from faithshift_data.measure.shared_prefix import tokens_read

        read, requested = tokens_read(cast("TransformersEngine", engine), asked.reading, texts)
        computed = len(asked.reading.ids) + read
    return Forced(
        own.value,
        str(own.status),
        None if attached else said[0].text,
        rows,
        computed,
        requested,
    )


@dataclass(frozen=True)
class Planned:
    """A probe that applies, the prompt it stands after, and its text."""

    probe: Probe
    before: str
    text: str


def plan(asked: Asked) -> Iterator[Planned]:
    """What is put in the place of a trace's reasoning, by the probes that apply."""
    for probe in asked.probes:
        before = asked.clean_prompt if probe.kind == "cue_removed" else asked.prompt
        text = probe.inject(asked.trace_id, asked.reasoning)
        if before is not None and text is not None:
            yield Planned(probe, before, text)


def texts_of(asked: Asked, planned: Sequence[Planned]) -> list[str]:
    """What the model goes on from: the trace as shown, if need be, and what is put in its place."""
    asks = answer_line(asked.answer_kind, asked.language, asked.line)
    shown = [] if asked.attached is not None else [asked.prompt + asked.reasoning]
    return [text + asks for text in (*shown, *(each.before + each.text for each in planned))]


def _row(
    engine: Engine,
    trace_id: str,
    original: str | None,
    plan: Planned,
    sent: str,
    said: Completion,
    answer: ExtractedAnswer,
) -> dict[str, Any]:
    """A row of the table; what was not really read has no ``changed``."""
    verified = engine.read_back(sent).startswith(plan.before + plan.text)
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
