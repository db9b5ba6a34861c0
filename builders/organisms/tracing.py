"""Rows of the traces table, and the way back from a row to what a model reads.

A row is words and spaces. All that a model is given follows from the row and from the route,
which its label names, so that whoever has data and weights can measure them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from builders.organisms.conditions import CONDITIONS, Text
from builders.organisms.items import Item
from builders.organisms.layout import Layout
from builders.organisms.masks import Part, Route
from builders.organisms.texts import hint_words, prompt_text, reasoning_text
from builders.organisms.words import encode, keyword
from faithshift_data.measure.spans import BLOCKS, Spans
from faithshift_data.schema import AnswerKind, AnswerStatus, LabelRule, stable_id

Row = dict[str, Any]
DOMAIN = SOURCE = "organisms"
LICENCE = "CC-BY-4.0"
ENGINE = {"engine": "builders.organisms", "engine_version": "1", "seed": 0}
SAMPLING = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 64}


@dataclass(frozen=True)
class Writer:
    """A model as rows name it: ``organisms/cohere-0``, its family, sha256 of its weights."""

    model_id: str
    family: str
    revision: str


def trace_id(item: Item, condition: str, route: Route, writer: Writer) -> str:
    """The id of a trace; it says nothing of its route to who does not know how it is made."""
    return stable_id("t", item.item_id, writer.revision, condition, int(route))


def trace_row(item: Item, text: Text, route: Route, writer: Writer, anchor_writer: Writer) -> Row:
    """A row of the traces table.

    Args:
        item: the problem.
        text: how it is said.
        route: of the answer: the label.
        writer: who writes it.
        anchor_writer: who wrote the anchor.
    """
    condition = CONDITIONS.get(text.condition)
    split, fold = item.place
    prompt = prompt_text(text.problem, text.wording)
    cue = " ".join(hint_words(text.wording))
    steps = [" ".join(words) + "\n" for words in reasoning_text(text.reasoning, text.wording)]
    steps[-1] = steps[-1].rstrip("\n")
    anchor = None
    if condition is not None:
        anchor = trace_id(
            item, condition.anchor, anchor_route(text.condition, route), anchor_writer
        )
    return {
        "trace_id": trace_id(item, text.condition, route, writer),
        "item_id": item.item_id,
        "split": split,
        "fold": fold,
        "domain": DOMAIN,
        "source": SOURCE,
        "model_id": writer.model_id,
        "model_revision": writer.revision,
        "model_family": writer.family,
        "condition": text.condition,
        "axis": condition.axis if condition else None,
        "mode": str(condition.mode) if condition else None,
        "anchor_id": anchor,
        "gen_index": 0,
        "question": " ".join(_question(prompt.words, prompt.hinted)),
        "options": None,
        "answer_kind": str(AnswerKind.NUMBER),
        "gold": str(text.problem.answer),
        "cue": _cue(cue, text) if cue else None,
        "prompt": " ".join(prompt.words) + "\n",
        "reasoning": "".join(steps),
        "steps": steps,
        "answer": str(text.answer),
        "answer_status": str(AnswerStatus.EXPLICIT),
        "truncated": False,
        "generation": {**ENGINE, **SAMPLING},
        "label": int(route),
        "label_rule": str(LabelRule.MECHANISM),
        "label_evidence": [],
        "licence": LICENCE,
    }


def anchor_route(condition: str, route: Route) -> Route:
    """The route of a trace's own anchor: the other one where the condition is to alter."""
    altering = CONDITIONS[condition].kind == "altering"
    return Route(1 - route) if altering else route


def layout_of(
    row: Row, route: Route, *, prompt: str | None = None, reasoning: str | None = None
) -> Layout:
    """What a model reads of a row, up to the word that asks for the answer.

    Args:
        row: of the traces table.
        route: of the answer.
        prompt: instead of the row's own; a hint in it has as many words as the row's, or is none.
        reasoning: instead of the row's own; then a single step.
    """
    words = (row["prompt"] if prompt is None else prompt).split()
    parts = [Part.PROMPT] * len(words)
    begin, end = _hint_span(words, row)
    parts[begin:end] = [Part.HINT] * (end - begin)
    shown = row["steps"] if reasoning is None else [reasoning]
    steps, ids = [], encode(words)
    for step in shown:
        said = encode(step.split())
        steps.append((len(ids), len(ids) + len(said)))
        ids += said
        parts += [Part.REASONING] * len(said)
    ids += encode([keyword("answer", language_of(row))])
    parts.append(Part.ANSWER)
    return Layout(tuple(ids), tuple(map(int, parts)), tuple(steps), route)


def spans_of(row: Row) -> Spans:
    """The tokens of prompt and reasoning; the answer's row is not among them."""
    layout = layout_of(row, Route.FAITHFUL)
    words = row["prompt"].split()
    blocks = np.zeros((len(layout.ids) - 1, len(BLOCKS)), np.float32)
    begin, end = find(words, row["question"].split())
    for place, part in enumerate(layout.parts[:-1]):
        if part == Part.REASONING:
            block = "reasoning"
        elif part == Part.HINT:
            block = "cue"
        else:
            block = "question" if begin <= place < end else "instruction"
        blocks[place, BLOCKS.index(block)] = 1
    blocks[0] = 0
    return Spans(list(layout.ids[:-1]), list(layout.steps), blocks, 0)


def language_of(row: Row) -> str:
    """The language of a row's prompt, by the word before its reasoning."""
    last = row["prompt"].split()[-1]
    return next(name for name in ("en", "tr") if keyword("think", name) == last)


def find(words: Sequence[str], part: Sequence[str]) -> tuple[int, int]:
    """Where a run of words stands in others; (0, 0) for none or an empty one."""
    for begin in range(len(words) - len(part) + 1 if part else 0):
        if list(words[begin : begin + len(part)]) == list(part):
            return begin, begin + len(part)
    return 0, 0


def _hint_span(words: Sequence[str], row: Row) -> tuple[int, int]:
    """The hint's words: those of the row's cue, whatever values stand there now."""
    cue = (row["cue"] or {}).get("text", "").split()
    if not cue or cue[0] not in words:
        return 0, 0
    begin = list(words).index(cue[0])
    return begin, begin + len(cue)


def _question(words: Sequence[str], hinted: Sequence[bool]) -> list[str]:
    """The prompt without its nonce, its hint and the word that asks to think."""
    return [word for word, hint in zip(words[2:-1], hinted[2:-1], strict=True) if not hint]


def _cue(cue: str, text: Text) -> dict[str, str]:
    hint = text.wording.hint
    assert hint is not None
    target = dict(hint.values)[text.problem.target]
    return {"kind": "answer", "format": hint.format, "text": cue, "target": str(target)}
