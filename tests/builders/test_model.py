"""Which engine writes for a preset, and how the answer is asked for behind a reasoning block."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import engine as module
from builders.measuring import line_after
from builders.model import Model
from builders.presets import load_preset
from builders.weights import Weights

WEIGHTS = Weights(Path("here"), "org/tiny", "r", "f", "MIT", "here")


@pytest.mark.parametrize(
    ("engine", "options", "asked"),
    [
        ("transformers", {}, ("transformers", Path("here"), {"dtype": "bfloat16"})),
        ("vllm", {}, ("vllm", Path("here"), {"dtype": "bfloat16"})),
        (
            "vllm",
            {"context": 2048, "dtype": "float32"},
            ("vllm", Path("here"), {"context": 2048, "dtype": "float32"}),
        ),
        (
            "openai",
            {"base_url": "http://127.0.0.1:1/v1"},
            ("openai", "org/tiny", {"base_url": "http://127.0.0.1:1/v1", "tokenizer": "here"}),
        ),
        ("openai", {"model": "served"}, ("openai", "served", {"tokenizer": "here"})),
    ],
)
def test_the_preset_names_the_engine_that_writes(
    engine: str, options: dict[str, Any], asked: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, ...]] = []
    monkeypatch.setattr(module, "make_engine", lambda *parts, **named: seen.append((*parts, named)))
    preset = replace(load_preset("paper"), engine=engine, engine_options=options)
    assert Model(WEIGHTS, preset).writer is None
    assert seen == [asked]


@pytest.mark.parametrize(
    ("prompt", "language", "line"),
    [
        ("<|im_start|>assistant\n<think>\nLet's think.", "en", "\n</think>\n\nThe answer is"),
        ("<|im_start|>assistant\n<think>\nAdım adım.", "tr", "\n</think>\n\nCevap:"),
        ("<|im_start|>assistant\nLet's think.", "en", None),
        ("<|im_start|>user\nWhat is <think>?<|im_end|>\n<|im_start|>assistant\n", "en", None),
    ],
)
def test_an_open_block_is_closed_before_the_answer(
    prompt: str, language: str, line: str | None
) -> None:
    assert line_after(prompt, language) == line
