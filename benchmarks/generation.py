"""Reasoning written in batches, against one prompt after another.

SmolLM2-135M-Instruct on one thread, sampled with a seed a row: the base prompts of ``mini``,
evenly over their ids, 40 tokens each. Seconds are processor time. A row draws the same uniforms
alone and in a batch, so only rounding parts the two texts, and equal ones are counted: nearly all
in float32, where a fault would show; few in bfloat16, in which builds write and speed is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time
from typing import Any

N_PROMPTS, MAX_TOKENS = 32, 40
LEAST = 2.0


def run() -> dict[str, Any]:
    """Time both ways."""
    import torch

    from builders.weights import smollm2
    from faithshift_data.measure.engines.transformers import TransformersEngine

    torch.set_num_threads(1)
    path, prompts = smollm2().path, chosen(N_PROMPTS)
    fast, exact = (
        timed(TransformersEngine(path, dtype=dtype), prompts) for dtype in ("bfloat16", "float32")
    )
    return {**fast, "float32": exact}


def missed(found: dict[str, Any]) -> list[str]:
    """Targets that were missed."""
    wanted = {
        f"{LEAST:g} times one by one": found["ratio"] >= LEAST,
        "nine of ten texts the same in float32": 10 * found["float32"]["same_texts"]
        >= 9 * found["float32"]["texts"],
    }
    return [name for name, met in wanted.items() if not met]


def chosen(count: int) -> list[str]:
    """Base prompts of ``mini``, in the order of their traces' ids."""
    import faithshift_data as fd

    rows = sorted(fd.open("mini").table("traces").to_pylist(), key=lambda row: row["trace_id"])
    prompts = list(dict.fromkeys(row["prompt"] for row in rows if row["condition"] == "base"))
    return prompts[:: max(1, len(prompts) // count)][:count]


def timed(engine: Any, prompts: Sequence[str]) -> dict[str, Any]:
    """Write every prompt's continuation both ways."""
    from faithshift_data.measure.engines import Sampling

    sampling = Sampling(MAX_TOKENS, temperature=0.7, top_p=0.95)
    seeds = list(range(len(prompts)))
    engine.complete(prompts[:1], seeds[:1], Sampling(1))
    began = process_time()
    batched = engine.complete(prompts, seeds, sampling)
    middle = process_time()
    alone = [
        engine.complete([prompt], [seed], sampling)[0]
        for prompt, seed in zip(prompts, seeds, strict=True)
    ]
    seconds = {"batched": middle - began, "one_by_one": process_time() - middle}
    tokens = {
        "batched": sum(done.n_tokens for done in batched),
        "one_by_one": sum(done.n_tokens for done in alone),
    }
    speed = {way: tokens[way] / seconds[way] for way in seconds}
    return {
        "ratio": speed["batched"] / speed["one_by_one"],
        "tokens_a_second": speed,
        "seconds": seconds,
        "same_texts": sum(a.text == b.text for a, b in zip(batched, alone, strict=True)),
        "texts": len(prompts),
    }
