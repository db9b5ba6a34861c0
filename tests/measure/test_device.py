"""A model reads where it is told to; without a GPU its place is shown on the device `meta`."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Sampling
from faithshift_data.measure.engines.transformers import TransformersEngine
from faithshift_data.measure.extract import observe
from faithshift_data.measure.local_model import need_device
from faithshift_data.measure.shared_prefix import Prompts, continue_from, read
from tests.tiny_model import write_tiny_model

STEPS = ["One and one. ", "That is two."]
ABOUT = {"question": "1 + 1?", "candidates": ("2", "3"), "rollout": True}


def test_a_device_that_is_not_here_is_refused_in_one_line(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    for device in ("cpu", "cuda", "cuda:0"):
        need_device(device)
    for device in ("cuda:1", "tpu", "cuda:x", ""):
        with pytest.raises(InputError, match="^field device: ") as caught:
            need_device(device)
        assert "\n" not in str(caught.value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(InputError, match="^field device: no such device here"):
        TransformersEngine("nowhere", device="cuda")


def test_what_is_read_is_on_the_device(tmp_path) -> None:
    engine = TransformersEngine(write_tiny_model(tmp_path), attention="eager")
    engine.model.to("meta")
    engine.device = "meta"
    reading = Prompts(engine).reading("1 + 1? ")
    row = reading.row()
    found = [row.mask, row.position, row.logits, read(engine, "1 + 1?").cache.layers[0].keys]
    assert {str(each.device) for each in found} == {"meta"}
    # Every layer is reduced there; only the numbers of a pass leave it.
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        observe(engine, "1 + 1? ", STEPS, **ABOUT)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_reads_as_the_processor_does(tmp_path) -> None:
    folder = write_tiny_model(tmp_path)
    said, seen = [], []
    for device in ("cpu", "cuda"):
        engine = TransformersEngine(folder, attention="eager", device=device)
        seen.append(made := observe(engine, "1 + 1? ", STEPS, **ABOUT))
        texts = ["1 + 1? One and", "1 + 1? Two"]
        said.append(
            [
                continue_from(engine, made.reading, texts, Sampling(4)),
                engine.complete(texts, [1, 2], Sampling(4, 0.7)),
            ]
        )
    assert said[0] == said[1]
    for name in ("velocity", "drift", "norm", "lens", "final_lens", "profile", "state"):
        one, other = (getattr(each.trajectory, name) for each in seen)
        np.testing.assert_allclose(one, other, atol=1e-3, rtol=1e-3)
