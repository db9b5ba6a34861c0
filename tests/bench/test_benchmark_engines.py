"""Benchmarks of extraction and generation on a tiny model: both ways give the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks import extraction, generation
from faithshift_data.measure.engines.transformers import TransformersEngine
from tests.tiny_model import write_tiny_model

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> TransformersEngine:
    folder = write_tiny_model(tmp_path_factory.mktemp("tiny"))
    return TransformersEngine(folder, attention="eager")


def test_hooks_and_loop_give_the_same_numbers(engine) -> None:
    steps = extraction.text(engine, 300)
    assert 200 < len(engine.ids(extraction.PROMPT + "".join(steps))) <= 300
    ours, theirs = extraction.hooks(engine, steps), extraction.loop(engine, steps)
    assert extraction.difference(ours, theirs) < 1e-4
    assert extraction.difference(ours, {**theirs, "profile": theirs["profile"] * 1.01}) > 1e-3
    assert extraction.difference(ours, {**theirs, "velocity": theirs["velocity"] * 1.01}) > 1e-3


def test_batched_and_alone_write_the_same(engine) -> None:
    found = generation.timed(engine, ["Why?", "How many pens?", "Say which of the two."])
    assert found["same_texts"] == found["texts"] == 3 and found["ratio"] > 0


# In a process of its own: a large one has 50 MB to spare, and would take no more.
PEAK = """
from benchmarks.memory import reset_peak, resident_mb

before = resident_mb()
block = bytearray(b"x") * (50 * 2**20)
del block
reset_peak()
assert resident_mb(peak=True) < before + 25
block = bytearray(b"x") * (50 * 2**20)
assert resident_mb(peak=True) > before + 40
"""


def test_the_peak_starts_again() -> None:
    subprocess.run([sys.executable, "-c", PEAK], cwd=ROOT, check=True)


def test_missed_targets_are_named() -> None:
    good = {"ratio": 1, "memory_ratio": 0.2, "plain_pass_ratio": 1.1, "largest_difference": 0.0}
    assert extraction.missed(good) == []
    assert extraction.missed(good | {"ratio": 0.99}) == ["at least the loop's speed"]
    assert extraction.missed(good | {"memory_ratio": 0.21}) == ["a fifth of its memory"]
    assert extraction.missed(good | {"plain_pass_ratio": 1.11}) == ["a tenth over a plain pass"]
    assert extraction.missed(good | {"largest_difference": 0.01}) == ["equal numbers"]
    good = {"ratio": 2, "same_texts": 0, "texts": 30, "float32": {"same_texts": 27, "texts": 30}}
    assert generation.missed(good) == []
    assert generation.missed(good | {"ratio": 1.9}) == ["2 times one by one"]
    bad = good | {"float32": {"same_texts": 26, "texts": 30}}
    assert generation.missed(bad) == ["nine of ten texts the same in float32"]
