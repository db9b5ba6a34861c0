"""Completion: rows do not depend on their neighbours."""

from __future__ import annotations

import pytest

from faithshift_data.measure.engines import Sampling

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


def test_render_ends_where_the_model_begins(engine) -> None:
    assert engine.render("Hi") == "<|user|>Hi\n<|assistant|>"


@pytest.mark.parametrize("text", ["the ant", " than", "\n", "é ü"])
def test_ids_give_the_text_back(engine, text: str) -> None:
    assert engine.tokenizer.decode(engine.ids(text)) == text
