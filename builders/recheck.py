"""Force answers anew in float32 and count how often a dataset's rows come out the same.

Low-precision arithmetic decides near-tied answers by rounding. The share that differs is a
floor under every label and every ``changed`` flag of the dataset.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import faithshift_data as fd
from builders.axes import language_in
from builders.measuring import line_after
from builders.weights import Weights
from faithshift_data.measure.engines.transformers import TransformersEngine
from faithshift_data.measure.forced import SAMPLING, answer_line, read_answer
from faithshift_data.measure.shared_prefix import continue_from, read
from faithshift_data.schema import Role, changed
from faithshift_data.withheld import need_labels


@dataclass
class Agreement:
    """Integer counts: traces and label-role probes asked again, and those that agree."""

    answers: int = 0
    same_answers: int = 0
    probes: int = 0
    same_changed: int = 0


def recheck(data: str, weights: Weights, *, traces: int, seed: int = 0) -> Agreement:
    """Ask a random sample of traces again, in float32.

    Args:
        data: name or path of a dataset whose traces this model wrote.
        weights: the model.
        traces: size of the sample; traces with an attached answer, and those that another model
            wrote, are not asked.
        seed: of the sample.

    Raises:
        ValueError: no trace to ask again.
    """
    dataset = fd.open(data)
    need_labels(dataset)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in dataset.table("interventions").to_pylist():
        if row["role"] == Role.LABEL:
            rows[row["trace_id"]].append(row)
    asked = [
        trace
        for trace in dataset.table("traces").to_pylist()
        if trace["model_revision"] == weights.revision
        and all(row["kind"] != "as_shown" for row in rows[trace["trace_id"]])
    ]
    if traces < 1 or not asked:
        expected = "traces of this model, and a sample of at least 1"
        raise ValueError(f"{data}: expected {expected}, got {len(asked)} and {traces}")
    engine = TransformersEngine(weights.path, dtype="float32")
    found = Agreement()
    for trace in random.Random(seed).sample(asked, min(traces, len(asked))):
        probes = rows[trace["trace_id"]]
        shown, *forced = _ask(engine, trace, [row["injected"] for row in probes])
        found.answers += 1
        found.same_answers += shown == trace["answer"]
        for row, answer in zip(probes, forced, strict=True):
            found.probes += 1
            found.same_changed += changed(shown, answer) == row["changed"]
    return found


def _ask(
    engine: TransformersEngine, trace: dict[str, Any], injected: list[str]
) -> list[str | None]:
    kind, prompt = trace["answer_kind"], trace["prompt"]
    language = language_in(trace)
    line = answer_line(kind, language, line_after(prompt, language))
    texts = [prompt + text + line for text in (trace["reasoning"], *injected)]
    reading = read(engine, prompt + trace["reasoning"])
    said = continue_from(engine, reading, texts, SAMPLING[kind])
    return [read_answer(done, kind, trace["options"]).value for done in said]
