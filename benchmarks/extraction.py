"""Trajectories from hooks, against a loop that asks for all hidden states and attentions.

SmolLM2-135M-Instruct in float32, eager attention, one trace a pass, one thread; texts of three
lengths. The loop keeps what ``output_hidden_states`` and ``output_attentions`` return and then
computes the same numbers a layer and token from it. A plain pass computes nothing. All three
leave the key/value cache. Seconds are processor time, the least of several turns taken in
rotation. Memory is what a process of its own holds at most, less what it held before the pass
(Linux only); its allocator gives back what is freed, else old buffers would count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from time import process_time
from typing import Any

import numpy as np

from benchmarks.memory import reset_peak, resident_mb

LENGTHS = (128, 256, 512)
TURNS = 5
WAYS = ("hooks", "loop", "plain")
PROMPT = "A box holds 5 pens. Then 9 more come. How many pens are there?\n[hint: 41]\n"
QUESTION, CUE = "A box holds 5 pens. Then 9 more come. How many pens are there?", "[hint: 41]"
STEP = " Step {k}: the box holds {k} more pens, and some are given to a friend."
CANDIDATES = tuple("0123456789-")
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
CHILD = """
import json, sys
from benchmarks.extraction import extra_mb
print(json.dumps(extra_mb(sys.argv[1], int(sys.argv[2]))))
"""


def run() -> dict[str, Any]:
    """Time the three ways in one process, and weigh each in a process of its own."""
    engine = load()
    found: dict[str, Any] = {}
    for length in LENGTHS:
        steps = text(engine, length)
        kept = {way: globals()[way](engine, steps) for way in WAYS}
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(TURNS):
            for way in WAYS:
                started = process_time()
                globals()[way](engine, steps)
                seconds[way].append(process_time() - started)
        best = {way: min(each) for way, each in seconds.items()}
        memory = {way: child(way, length) for way in WAYS}
        found[str(length)] = {
            "speed_of_loop": best["loop"] / best["hooks"],
            "memory_of_loop": memory["hooks"] / memory["loop"],
            "time_of_plain_pass": best["hooks"] / best["plain"],
            "seconds": best,
            "extra_mb": memory,
            "largest_difference": difference(kept["hooks"], kept["loop"]),
        }
    return {
        "ratio": min(each["speed_of_loop"] for each in found.values()),
        "memory_ratio": max(each["memory_of_loop"] for each in found.values()),
        "plain_pass_ratio": max(each["time_of_plain_pass"] for each in found.values()),
        "largest_difference": max(each["largest_difference"] for each in found.values()),
        "by_tokens": found,
    }


def missed(found: dict[str, Any]) -> list[str]:
    """Targets that were missed."""
    wanted = {
        "at least the loop's speed": found["ratio"] >= 1,
        "a fifth of its memory": found["memory_ratio"] <= 0.2,
        "a tenth over a plain pass": found["plain_pass_ratio"] <= 1.1,
        "equal numbers": found["largest_difference"] < 1e-3,
    }
    return [name for name, met in wanted.items() if not met]


def load() -> Any:
    """The engine, on one thread."""
    import torch

    from builders.weights import smollm2
    from faithshift_data.measure.engines.transformers import TransformersEngine

    torch.set_num_threads(1)
    return TransformersEngine(smollm2().path, attention="eager")


def text(engine: Any, length: int) -> list[str]:
    """Steps that make about ``length`` tokens with the prompt, never more."""
    steps: list[str] = []
    while len(engine.ids(PROMPT + "".join(steps))) < length:
        steps.append(STEP.format(k=len(steps)))
    return steps[:-1]


def hooks(engine: Any, steps: list[str]) -> dict[str, Any]:
    """This project's pass."""
    from faithshift_data.measure.extract import observe

    seen = observe(engine, PROMPT, steps, question=QUESTION, cue=CUE, candidates=CANDIDATES)
    return {**vars(seen.trajectory), "cache": seen.reading.cache}


def loop(engine: Any, steps: list[str]) -> dict[str, Any]:
    """Everything at once, then the numbers; the last state is the one after the final norm."""
    import torch

    from faithshift_data.measure.extract import first_token
    from faithshift_data.measure.recorder import WINDOW
    from faithshift_data.measure.spans import find_spans

    spans = find_spans(engine.tokenizer, PROMPT, steps, question=QUESTION, cue=CUE)
    with torch.inference_mode():
        output = engine.model.base_model(
            torch.tensor([spans.ids]),
            use_cache=True,
            output_hidden_states=True,
            output_attentions=True,
        )
        states = torch.stack(output.hidden_states)[:, 0, spans.first :]
        tokens = [first_token(engine, each) for each in CANDIDATES]
        rows = engine.model.get_output_embeddings().weight[tokens]
        query = torch.arange(spans.first, len(spans.ids))[:, None]
        key = torch.arange(len(spans.ids))[None, :]
        near = (key > query - WINDOW) & (key <= query)
        blocks = torch.from_numpy(spans.blocks).T[:, None] * ~near
        blocks = torch.cat([blocks, (near & (key > 0))[None].float()])
        profiles = []
        for weights in output.attentions:
            mass = torch.einsum("qk,bqk->qb", weights[0].mean(0)[spans.first :], blocks)
            profiles.append(mass / mass.sum(1, keepdim=True))
        norm = states.norm(dim=-1)
        unit = rows / rows.norm(dim=-1, keepdim=True)
        return {
            "velocity": (states[1:] - states[:-1]).norm(dim=-1).numpy(),
            "drift": (states[:, 1:] - states[:, :-1]).norm(dim=-1).numpy(),
            "norm": norm.numpy(),
            "lens": ((states @ unit.T) / norm[..., None]).numpy(),
            "profile": torch.stack(profiles).numpy(),
            "state": states[-1].mean(0).numpy(),
            "cache": output.cache,
        }


def plain(engine: Any, steps: list[str]) -> dict[str, Any]:
    """A pass and its cache."""
    from faithshift_data.measure.shared_prefix import read

    return {"cache": read(engine, PROMPT + "".join(steps)).cache}


def difference(left: dict[str, Any], right: dict[str, Any]) -> float:
    """The largest difference, as a share of a family's mean; the last layer's state is left out."""
    worst = 0.0
    for name in ("velocity", "drift", "norm", "lens", "profile", "state"):
        ours, theirs = left[name], right[name]
        if name in ("velocity", "drift", "norm", "lens"):
            ours, theirs = ours[:-1, : theirs.shape[1]], theirs[:-1]
        worst = max(worst, float(np.abs(ours - theirs).max() / np.abs(theirs).mean()))
    return worst


def child(way: str, length: int) -> float:
    """``extra_mb`` in a process of its own."""
    argv = [sys.executable, "-c", CHILD, way, str(length)]
    environment = {**os.environ, **ALLOCATOR}
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return float(json.loads(done.stdout.splitlines()[-1]))


def extra_mb(way: str, length: int) -> float:
    """MB held at most during one pass, over what was held before; an earlier one loads all code."""
    engine = load()
    steps = text(engine, length)
    globals()[way](engine, steps)
    reset_peak()
    before = resident_mb()
    globals()[way](engine, steps)
    return resident_mb(peak=True) - before
