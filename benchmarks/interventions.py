"""Interventions from one reading of a trace, against completing each text alone.

SmolLM2-135M-Instruct in float32 on one thread; traces of ``mini``, evenly over their ids. Early
answering forces the answer from 0, 20, 40, 60, 80 and 100% of the words of the reasoning. Tokens
computed hold the reading and padding; requested are those of the texts. ``full_set`` is the same
figure for all probes of role feature, of which shuffled and reworded reasoning share little but
the prompt. Seconds are processor time and hold the reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time
from typing import Any

N_TRACES = 16


def run() -> dict[str, Any]:
    """Count and time both ways."""
    import torch

    from builders.weights import smollm2
    from faithshift_data.measure.engines.transformers import TransformersEngine

    torch.set_num_threads(1)
    return measured(TransformersEngine(smollm2().path), chosen(N_TRACES))


def missed(found: dict[str, Any]) -> list[str]:
    """Targets that were missed."""
    wanted = {
        "at most half of the tokens": found["ratio"] <= 0.5,
        "faster than one by one": found["speed_of_one_by_one"] > 1,
        "same answers": found["same_answers"] == found["answers"],
    }
    return [name for name, met in wanted.items() if not met]


def chosen(count: int) -> list[dict[str, Any]]:
    """Traces of ``mini``; a cued one comes with the prompt without its cue."""
    import faithshift_data as fd
    from builders.prompts import without_cue

    rows = sorted(fd.open("mini").table("traces").to_pylist(), key=lambda row: row["trace_id"])
    keys = ("trace_id", "prompt", "reasoning", "answer_kind", "options")
    return [
        {key: row[key] for key in keys}
        | {"clean_prompt": without_cue(row["prompt"], row["cue"]["text"]) if row["cue"] else None}
        for row in rows[:: len(rows) // count][:count]
    ]


def measured(engine: Any, traces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Early answering of every trace both ways, and the tokens of the full set."""
    from faithshift_data.measure.forced import SAMPLING, answer_line, force
    from faithshift_data.measure.interventions import FEATURE_PROBES
    from faithshift_data.measure.shared_prefix import read

    early = [probe for probe in FEATURE_PROBES if probe.kind == "truncate"]
    computed, requested, seconds = [0, 0], [0, 0], [0.0, 0.0]
    answers = same = 0
    for trace in traces:
        start, line = trace["prompt"], answer_line(trace["answer_kind"])
        began = process_time()
        done = force(engine, read(engine, start + trace["reasoning"]), **trace, probes=early)
        seconds[0] += process_time() - began
        texts = [trace["reasoning"], *(row["injected"] for row in done.rows)]
        sampling = SAMPLING[trace["answer_kind"]]
        began = process_time()
        alone = [engine.complete([start + text + line], [0], sampling)[0].text for text in texts]
        seconds[1] += process_time() - began
        shared = [done.response, *(row["response"] for row in done.rows)]
        answers += len(alone)
        same += sum(a == b for a, b in zip(shared, alone, strict=True))
        full = force(
            engine, read(engine, start + trace["reasoning"]), **trace, probes=FEATURE_PROBES
        )
        for at, found in enumerate((done, full)):
            computed[at] += found.tokens_computed
            requested[at] += found.tokens_requested
    return {
        "ratio": computed[0] / requested[0],
        "full_set": computed[1] / requested[1],
        "tokens_computed": computed[0],
        "tokens_requested": requested[0],
        "speed_of_one_by_one": seconds[1] / seconds[0],
        "seconds": {"shared": seconds[0], "one_by_one": seconds[1]},
        "answers": answers,
        "same_answers": same,
        "traces": len(traces),
    }
