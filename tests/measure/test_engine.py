"""Completion: rows do not depend on their neighbours; sampling follows the stated rule."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from faithshift_data.measure.engines import Sampling
from faithshift_data.measure.engines.transformers import SeededSampling

PROMPTS = ["What is this?", "A", "Then the answer is the other one, and that", "ant than", "Why"]
DRAW = Sampling(12, temperature=1.0, top_p=0.95)


def test_a_row_depends_on_its_seed_and_not_on_its_batch(engine) -> None:
    together = engine.complete(PROMPTS, [1, 2, 3, 4, 5], DRAW)
    alone = [engine.complete([p], [s], DRAW)[0] for p, s in zip(PROMPTS, range(1, 6), strict=True)]
    backwards = engine.complete(PROMPTS[::-1], [5, 4, 3, 2, 1], DRAW)[::-1]
    assert together == alone == backwards
    assert engine.complete(PROMPTS, [6, 7, 8, 9, 10], DRAW) != together


def test_greedy_ignores_the_seed(engine) -> None:
    greedy = Sampling(8)
    assert engine.complete(PROMPTS, [1] * 5, greedy) == engine.complete(PROMPTS, [2] * 5, greedy)


def test_stop_string_cuts_before_itself(engine) -> None:
    whole = engine.complete(["ant"], [3], DRAW)[0]
    stop = whole.text[2:4]
    cut = engine.complete(["ant"], [3], Sampling(12, 1.0, 0.95, stop=(stop,)))[0]
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.finish == "stop"


def test_length_is_a_finish_of_its_own(engine) -> None:
    done = engine.complete(["ant"], [3], Sampling(2, 1.0, 0.95))[0]
    assert (done.finish, done.n_tokens) == ("length", 2)


def test_render_holds_the_opener_last(engine) -> None:
    assert engine.render("Hi", opener="Well,") == "<|user|>Hi\n<|assistant|>Well,"


def test_inverse_cdf_by_hand() -> None:
    # Probabilities .5, .3, .15, .05 and a nucleus of .9: the first three, together .95. The
    # cumulated .5, .8, .95 are compared with u * .95.
    logits = torch.log(torch.tensor([[0.3, 0.05, 0.5, 0.15]]))
    sampler = SeededSampling([0], Sampling(3, temperature=1.0, top_p=0.9), prompt_length=1)
    expected = {0.0: 2, 0.52: 2, 0.53: 0, 0.84: 0, 0.85: 3, 0.9999: 3}
    for uniform, token in expected.items():
        sampler.uniform = torch.tensor([[uniform, 0.0, 0.0]])
        drawn = sampler(torch.zeros((1, 1), dtype=torch.long), logits)
        assert int(drawn.argmax()) == token
        assert torch.isinf(drawn).sum() == 3


def test_sampling_frequencies_match_the_probabilities() -> None:
    probabilities = np.array([0.1, 0.2, 0.3, 0.4])
    n = 4000
    logits = torch.log(torch.tensor(probabilities)).expand(n, 4)
    sampler = SeededSampling(list(range(n)), Sampling(1, 1.0, 1.0), prompt_length=1)
    drawn = sampler(torch.zeros((n, 1), dtype=torch.long), logits).argmax(dim=-1).numpy()
    shares = np.bincount(drawn, minlength=4) / n
    spread = np.sqrt(probabilities * (1 - probabilities) / n)
    assert (np.abs(shares - probabilities) < 4 * spread).all()


def test_temperature_sharpens() -> None:
    logits = torch.log(torch.tensor([[0.4, 0.6]])).expand(500, 2)
    warm = SeededSampling(list(range(500)), Sampling(1, 1.0, 1.0), 1)
    cold = SeededSampling(list(range(500)), Sampling(1, 0.2, 1.0), 1)
    ids = torch.zeros((500, 1), dtype=torch.long)
    # At temperature .2 the second token has .6^5 / (.4^5 + .6^5) = .884.
    assert (cold(ids, logits).argmax(-1) == 1).float().mean() > 0.84
    assert (warm(ids, logits).argmax(-1) == 1).float().mean() < 0.68


@pytest.mark.parametrize("text", ["the ant", " than", "\n", "é ü"])
def test_ids_give_the_text_back(engine, text: str) -> None:
    assert engine.tokenizer.decode(engine.ids(text)) == text
