"""Trajectory descriptors and forced answers from one white-box pass over prompt and reasoning.

``observe`` reads a trace once. Hooks reduce hidden states and attention weights as they appear
(``recorder``), and the pass leaves the cache from which answers are forced. The prompt's tokens
are not described, and an answer is not in the text that is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from faithshift_data.measure.descriptors import CHANNELS, SCALARS, Descriptors, reduce
from faithshift_data.measure.engines.transformers import TransformersEngine
from faithshift_data.measure.recorder import Recorder, Trajectory, teacher_force
from faithshift_data.measure.shared_prefix import Reading
from faithshift_data.measure.spans import Spans, find_spans

__all__ = ["CHANNELS", "SCALARS", "Descriptors", "Observation", "describe", "observe"]


@dataclass(frozen=True)
class Observation:
    """One pass over a trace.

    Attributes:
        reading: tokens and cache, from which ``continue_from`` starts.
        spans: the trace's tokens, steps and blocks.
        trajectory: the numbers a layer and token.
        columns: first token of a candidate answer -> its column in the lens.
        engine: what made it.
        rollout: float32 (4,), shares of the attention rollout on the blocks; None: not asked for.
    """

    reading: Reading
    spans: Spans
    trajectory: Trajectory
    columns: dict[int, int]
    engine: TransformersEngine
    rollout: np.ndarray | None = None

    def descriptors(
        self, answer: str | None, *, scale: str = "sqrt_d", stability: str = "tv"
    ) -> Descriptors:
        """Reduce the trajectory, given the trace's answer.

        Args:
            answer: as plain text, such as ``B`` or ``-12``.
            scale: of velocity and drift: ``raw``, ``sqrt_d`` or ``rel``.
            stability: of attention: ``tv``, ``cosine`` or ``js``.

        Raises:
            ValueError: no answer, one that begins as no candidate does, or a value that does
                not fit float16.
        """
        if answer is None:
            raise ValueError("a trace without an answer has no descriptors")
        column = self.columns.get(first_token(self.engine, answer))
        if column is None:
            raise ValueError(f"answer {answer!r} begins as no candidate does")
        steps = [(a - self.spans.first, b - self.spans.first) for a, b in self.spans.steps]
        made = reduce(self.trajectory, steps, column, scale=scale, stability=stability)
        rolled = None if self.rollout is None else self.rollout.astype(np.float16)
        return replace(made, rollout=rolled)


def observe(
    engine: TransformersEngine,
    prompt: str,
    steps: Sequence[str],
    *,
    question: str = "",
    cue: str = "",
    candidates: Sequence[str] = (),
    start: Reading | None = None,
    rollout: bool = False,
) -> Observation:
    """Pass once over ``prompt + "".join(steps)``.

    Args:
        engine: with eager attention.
        prompt: the text before the reasoning.
        steps: exact cover of the reasoning.
        question: part of the prompt, a block of the attention profile; "" for none.
        cue: the same; where both claim a token, it belongs to the cue.
        candidates: texts an answer can begin with, such as letters or digits.
        start: a reading of the prompt or of its first part, which is then not read again.
        rollout: also roll out the attention; the prompt is then read in any case.

    Raises:
        ValueError: no token falls into the reasoning, the prompt does not hold question or cue,
            the model is built in an unknown way, or its attention is not eager.
    """
    spans = find_spans(engine.tokenizer, prompt, steps, question=question, cue=cue)
    tokens = dict.fromkeys(first_token(engine, text) for text in candidates)
    columns = {token: column for column, token in enumerate(tokens)}
    rows = engine.model.get_output_embeddings().weight[list(columns)].detach()
    recorder = Recorder(spans, rows, rollout=rollout)
    (trajectory,), cache = teacher_force(engine, [recorder], start=None if rollout else start)
    rolled = recorder.rollout.shares() if recorder.rollout else None
    return Observation(Reading(spans.ids, cache), spans, trajectory, columns, engine, rolled)


def describe(
    engine: TransformersEngine,
    prompt: str,
    steps: Sequence[str],
    answer: str,
    *,
    question: str = "",
    cue: str = "",
) -> Descriptors:
    """The descriptors of a trace whose answer is known; arguments and errors as ``observe``."""
    seen = observe(engine, prompt, steps, question=question, cue=cue, candidates=(answer,))
    return seen.descriptors(answer)


def first_token(engine: TransformersEngine, text: str) -> int:
    """The first token of a text that is not white space alone.

    Raises:
        ValueError: there is none.
    """
    for token in engine.ids(text):
        if engine.tokenizer.decode([token]).strip():
            return token
    raise ValueError(f"answer {text!r} has no token")
