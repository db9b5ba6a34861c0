"""What an organism says and does when it reads traces, many at a time and under their masks.

Descriptors are of prompt and reasoning alone: the word that asks for the answer is not even read,
because at its place the route is plain to see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from builders.organisms.gate import BATCH, passes
from builders.organisms.layout import Layout, batched
from builders.organisms.masks import Route
from builders.organisms.model import above_layer_0
from builders.organisms.probes import inject, planned
from builders.organisms.tracing import Row, layout_of, spans_of
from builders.organisms.words import MODULUS, vocabulary
from faithshift_data.schema import AnswerStatus, changed


@dataclass(frozen=True)
class Said:
    """The most likely next words of one trace.

    Attributes:
        written: so many words of the reasoning are, from the first on, those that the model writes
            by itself: greedy generation gives these words if and only if each is the most likely
            one after those before it.
        answer: the answer 0..6; None where the model says another word.
        word: what it says.
    """

    written: int
    answer: int | None
    word: str


def said(model: Any, layouts: Sequence[Layout]) -> list[Said]:
    """Read traces.

    Args:
        model: an organism with sdpa or eager attention.
        layouts: any, of both routes.
    """
    words = {number: word for word, number in vocabulary().items()}
    found: list[Said | None] = [None] * len(layouts)
    order = [place for rows in _by_length([len(each.ids) for each in layouts]) for place in rows]
    read = passes(model, [layouts[place] for place in order])
    for place, (layout, row) in zip(order, read, strict=True):
        after = row.argmax(-1).tolist()
        begin, end = layout.begin, len(layout.ids) - 1
        written = 0
        while begin + written < end and after[begin + written - 1] == layout.ids[begin + written]:
            written += 1
        word = words[after[end]]
        answer = int(word) if word.isdigit() and int(word) < MODULUS else None
        found[place] = Said(written, answer, word)
    return [each for each in found if each is not None]


def interventions(model: Any, rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Rows of the interventions table, by trace_id.

    Args:
        model: the one that wrote the traces.
        rows: of the traces table, with their label: the route.
    """
    asked = [(row, each) for row in rows for each in inject(row, planned(row))]
    layouts = [
        layout_of(row, Route(row["label"]), prompt=each.prompt, reasoning=each.reasoning)
        for row, each in asked
    ]
    found: dict[str, list[dict[str, Any]]] = {row["trace_id"]: [] for row in rows}
    for (row, each), answer in zip(asked, said(model, layouts), strict=True):
        value = None if answer.answer is None else str(answer.answer)
        status = AnswerStatus.NONE if value is None else AnswerStatus.EXPLICIT
        found[row["trace_id"]].append(
            {
                "intervention_id": each.probe.row_id(row["trace_id"]),
                "trace_id": row["trace_id"],
                "kind": each.probe.kind,
                "fraction": each.probe.fraction,
                "seed": each.probe.seed,
                "role": str(each.probe.role),
                "injected": each.reasoning if each.prompt == row["prompt"] else each.prompt,
                "response": answer.word,
                "answer": value,
                "answer_status": str(status),
                "changed": changed(row["answer"], value),
                "injection_verified": True,
            }
        )
    return found


def descriptors(model: Any, rows: Sequence[Row]) -> dict[str, dict[str, np.ndarray]]:
    """``psi``, ``state`` and ``scalars`` of traces, by trace_id.

    Args:
        model: the one that wrote the traces, with eager attention.
        rows: of the traces table, with their label: the route.

    Raises:
        ValueError: a descriptor that is not finite in float16, or attention that is not eager.
    """
    from faithshift_data.measure.descriptors import reduce

    found: dict[str, dict[str, np.ndarray]] = {}
    for places in _by_length([len(row["prompt"]) + len(row["reasoning"]) for row in rows]):
        some = [rows[place] for place in places]
        for row, spans, trajectory in _trajectories(model, some):
            steps = [(begin - spans.first, end - spans.first) for begin, end in spans.steps]
            found[row["trace_id"]] = reduce(trajectory, steps, 0).arrays
    return found


def _trajectories(model: Any, rows: Sequence[Row]) -> Iterator[tuple[Row, Any, Any]]:
    import torch

    from faithshift_data.measure.anatomy import anatomy, listening
    from faithshift_data.measure.recorder import Recorder

    layouts = [_unasked(layout_of(row, Route(row["label"]))) for row in rows]
    spans = [spans_of(row) for row in rows]
    known = vocabulary()
    unembedding = model.get_output_embeddings().weight.detach()
    recorders = [
        Recorder(span, unembedding[[known[row["answer"]]]])
        for span, row in zip(spans, rows, strict=True)
    ]

    def on_state(_: str, state: torch.Tensor) -> None:
        for number, recorder in enumerate(recorders):
            recorder.see_state(state[number, : len(recorder.ids)])

    def on_attention(weights: torch.Tensor) -> None:
        for number, recorder in enumerate(recorders):
            length = len(recorder.ids)
            recorder.see_attention(weights[number, :, :length, :length])

    parts, batch = anatomy(model), batched(layouts)
    with (
        torch.inference_mode(),
        listening(parts, on_state, on_attention),
        above_layer_0(model, batch.masks.above),
    ):
        last = parts.base(
            input_ids=batch.ids,
            attention_mask=batch.masks.first,
            position_ids=batch.masks.positions,
            use_cache=False,
        ).last_hidden_state
    for number, (row, span, recorder) in enumerate(zip(rows, spans, recorders, strict=True)):
        yield row, span, recorder.result(last[number, : len(recorder.ids)], len(parts.blocks))


def _unasked(layout: Layout) -> Layout:
    """The layout without the word that asks for the answer."""
    return Layout(layout.ids[:-1], layout.parts[:-1], layout.steps, layout.route)


def _by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of rows of like lengths, at most ``BATCH`` at a time."""
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]
