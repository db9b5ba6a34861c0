"""Models whose layers see only so far back, or sum up what they saw: answers stay the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from faithshift_data.measure.attention import unread
from faithshift_data.measure.engines import Sampling
from faithshift_data.measure.engines.transformers import TransformersEngine
from faithshift_data.measure.extract import observe
from faithshift_data.measure.shared_prefix import Prompts, continue_all, read
from tests.measure.passes import passes
from tests.measure.test_decoding import plainly
from tests.tiny_model import write_tiny_model

WINDOW = 8
# Shorter than the window, as long, and several times as long.
PROMPTS = [
    "A",
    "12345678",
    "Then the answer is the other one, and that",
    "What is this?",
    "Why so?",
]


@pytest.fixture(scope="module", params=["mistral", "gemma3_text", "gemma4_text"])
def sliding(request, tmp_path_factory) -> TransformersEngine:
    folder = tmp_path_factory.mktemp("sliding")
    write_tiny_model(folder, architecture=request.param, window=WINDOW)
    return TransformersEngine(folder, batch_size=3, attention="eager")


def test_the_window_matters(sliding) -> None:
    """What stands further back than all windows together reach is not seen in a Mistral."""
    kinds = {getattr(layer, "is_sliding", False) for layer in read(sliding, "A").cache.layers}
    assert kinds == ({True} if sliding.model.config.model_type == "mistral" else {True, False})


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_rows_of_all_lengths_go_on_together(sliding, temperature: float) -> None:
    sampling = Sampling(2 * WINDOW, temperature, 0.9)
    plain = [plainly(sliding, p, seed, sampling) for seed, p in enumerate(PROMPTS)]
    expected = [sliding.completion(ids, sampling) for ids in plain]
    assert sliding.complete(PROMPTS, range(5), sampling) == expected
    known = Prompts(sliding)
    assert sliding.complete(PROMPTS, range(5), sampling, known) == expected
    assert sliding.complete(PROMPTS, range(5), sampling, known) == expected, "and once more"


@torch.inference_mode()
def test_attention_that_chooses_what_it_sees_still_chooses(tmp_path_factory) -> None:
    folder = write_tiny_model(tmp_path_factory.mktemp("sparse"), architecture="deepseek_v32")
    model = TransformersEngine(folder, attention="eager").model
    ids = torch.randint(1, 200, (1, 30), generator=torch.manual_seed(0))
    plain = model(ids).logits
    with unread(model):
        assert torch.allclose(model(ids).logits, plain, atol=1e-3)
    for module in model.modules():
        if hasattr(module, "index_topk"):
            module.index_topk = 30
    assert not torch.allclose(model(ids).logits, plain, atol=0.1), "all are seen"


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory) -> TransformersEngine:
    folder = write_tiny_model(tmp_path_factory.mktemp("hybrid"), architecture="lfm2")
    return TransformersEngine(folder, batch_size=2)


def test_rows_whose_states_cannot_be_stacked_go_on_batch_after_batch(hybrid) -> None:
    prompts = ["xyzw", "qrst", "Why?", "1234", "8 + 3"]
    sampling = Sampling(6, 1.0, 0.9)
    plain = [plainly(hybrid, p, seed, sampling) for seed, p in enumerate(prompts)]
    with passes(hybrid) as seen:
        found = hybrid.complete(prompts, range(5), sampling)
    assert found == [hybrid.completion(ids, sampling) for ids in plain]
    assert [n for n, width in seen if width > 1] == [2, 2, 1], "whole batches are read"


def test_such_states_cannot_be_cropped(hybrid) -> None:
    with pytest.raises(ValueError, match="a model with a .* cannot be read in parts"):
        continue_all(hybrid, [(read(hybrid, "What is"), ["What was"])], Sampling(2))


def test_texts_go_on_from_a_reading_beyond_the_window(sliding) -> None:
    line = "\nThe answer is"
    bases = ["The box holds 5 pens, and 3 more.", "So 14"]
    texts = [[bases[0] + line, bases[0][:20] + line, bases[0][:5], line], [bases[1] + line]]
    readings = [read(sliding, base) for base in bases]
    sampling = Sampling(2 * WINDOW)
    found = continue_all(sliding, list(zip(readings, texts, strict=True)), sampling)
    alone = [[sliding.complete([t], [0], sampling)[0] for t in some] for some in texts]
    assert found == alone
    again = continue_all(sliding, list(zip(readings, texts, strict=True)), sampling)
    assert again == alone, "a reading stays as it is"


def test_a_pass_from_a_reading_describes_what_one_from_the_beginning_does(sliding) -> None:
    prompt, steps = "How many pens are in the box? ", ["It holds 5. ", "Then 3 more, so 8."]
    whole = observe(sliding, prompt, steps, candidates=("8", "5"))
    start = Prompts(sliding).reading(prompt)
    after = observe(sliding, prompt, steps, candidates=("8", "5"), start=start)
    for name, values in vars(whole.trajectory).items():
        assert np.allclose(values, getattr(after.trajectory, name), atol=2e-3), name
    line = "\nThe answer is"
    asked = [prompt + "".join(steps) + line, prompt + steps[0] + line, prompt + line]
    for seen in (whole, after):
        (found,) = continue_all(sliding, [(seen.reading, asked)], Sampling(4))
        assert found == [sliding.complete([text], [0], Sampling(4))[0] for text in asked]
