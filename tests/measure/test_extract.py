"""Descriptors equal a loop over layers, tokens and steps that is written for clarity alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from faithshift_data.measure.extract import (
    CHANNELS,
    MAX_STEPS,
    WINDOW,
    describe,
    step_spans,
)
from faithshift_data.measure.shared_prefix import read

PROMPT = "<|user|>How many?\n<|assistant|>Let us see."
STEPS = [" The box holds 5 pens.", " Then 9 more come.", "\nSo 14 stand there."]


@pytest.fixture(scope="module")
def made(engine):
    reading = read(engine, PROMPT + "".join(STEPS), states=True)
    return reading, describe(engine, reading, PROMPT, STEPS, "14")


def naive(engine, reading, spans: list[tuple[int, int]]) -> np.ndarray:
    """Velocity, drift, lens and stability by their equations, one number at a time."""
    states = [state[0].detach().double().numpy() for state in reading.hidden_states[:-1]]
    layers, length, width = len(states), *states[0].shape
    token = engine.ids("14")[0]
    row = engine.model.get_output_embeddings().weight[token].detach().double().numpy()
    root = np.sqrt(width)
    velocity = np.array(
        [
            [np.linalg.norm(states[k + 1][t] - states[k][t]) / root for t in range(length)]
            for k in range(layers - 1)
        ]
    )
    drift = np.array(
        [
            [np.linalg.norm(s[t + 1] - s[t]) / root for t in range(length - 1)] + [0.0]
            for s in states
        ]
    )
    lens = np.array(
        [
            [s[t] @ row / np.linalg.norm(s[t]) / np.linalg.norm(row) for t in range(length)]
            for s in states
        ]
    )
    first = spans[0][0]
    stability = np.ones((len(reading.attentions), length))
    for k, attention in enumerate(reading.attentions):
        weights = attention[0].mean(0).detach().double().numpy()
        profiles = []
        for t in range(length):
            blocks = [0.0, 0.0, 0.0]
            for key in range(1, t + 1):
                near = key > t - WINDOW
                blocks[2 if near else (0 if key < first else 1)] += weights[t, key]
            total = sum(blocks)
            profiles.append([b / total if total else 0.0 for b in blocks])
        for t in range(length - 1):
            gap = sum(abs(a - b) for a, b in zip(profiles[t], profiles[t + 1], strict=True))
            stability[k, t] = 1 - gap / 2
    table = []
    for a, b in spans:
        cells = []
        for family in (velocity, drift, lens, stability):
            for band in np.array_split(family, 4):
                cells += [band[:, a:b].mean(), band[:, a:b].std()]
        table.append(cells)
    return np.array(table)


def test_equal_to_the_loop(engine, made) -> None:
    reading, found = made
    spans = step_spans(engine, PROMPT + "".join(STEPS), len(PROMPT), STEPS)
    assert found.psi.shape == (3, len(CHANNELS)) and found.psi.dtype == np.float16
    np.testing.assert_allclose(found.psi, naive(engine, reading, spans), rtol=2e-3, atol=2e-3)


def test_state_is_the_mean_of_the_final_states_of_the_reasoning(engine, made) -> None:
    reading, found = made
    start = len(engine.ids(PROMPT))
    expected = reading.hidden_states[-1][0][start:].mean(dim=0)
    np.testing.assert_allclose(found.state, expected.detach(), rtol=2e-3, atol=2e-3)


def test_spans_cover_the_reasoning_and_nothing_else(engine) -> None:
    text = PROMPT + "".join(STEPS)
    spans = step_spans(engine, text, len(PROMPT), STEPS)
    ids = engine.ids(text)
    assert [engine.tokenizer.decode(ids[a:b]) for a, b in spans] == STEPS


def test_many_steps_are_merged_evenly(engine) -> None:
    steps = [f" {k} is up." for k in range(40)]
    spans = step_spans(engine, PROMPT + "".join(steps), len(PROMPT), steps)
    assert len(spans) == MAX_STEPS
    assert all(left[1] == right[0] for left, right in zip(spans, spans[1:], strict=False))
    assert spans[-1][1] == len(engine.ids(PROMPT + "".join(steps)))


def test_the_prompt_is_not_described(engine, made) -> None:
    """A trace's channels do not hold prompt tokens: spans start after them."""
    spans = step_spans(engine, PROMPT + "".join(STEPS), len(PROMPT), STEPS)
    assert spans[0][0] == len(engine.ids(PROMPT)) > 1


def test_no_reasoning_is_refused(engine) -> None:
    reading = read(engine, PROMPT, states=True)
    with pytest.raises(ValueError, match="no token"):
        describe(engine, reading, PROMPT, [""], "14")
    with pytest.raises(ValueError, match="states=True"):
        describe(engine, read(engine, PROMPT), PROMPT, STEPS, "14")


def test_overflow_is_refused(engine, made) -> None:
    reading, _ = made
    big = tuple(state * torch.tensor(1e6) for state in reading.hidden_states)
    with pytest.raises(ValueError, match="float16"):
        describe(
            engine,
            type(reading)(reading.ids, reading.cache, big, reading.attentions),
            PROMPT,
            STEPS,
            "14",
        )
