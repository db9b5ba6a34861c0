"""Continuations from a shared prefix equal those from the whole text."""

from __future__ import annotations

import pytest
import torch

from faithshift_data.measure.engines import Sampling
from faithshift_data.measure.shared_prefix import (
    Prompts,
    continue_from,
    read,
    tokens_read,
)
from tests.measure.passes import passes

BASE = "The box holds 5 pens. Then 9 badges are there. So 14 things stand on the table."
LINE = "\nThe answer is"
TEXTS = [
    BASE + LINE,
    BASE[:22] + LINE,
    BASE[:46] + LINE,
    LINE,
    BASE[:10] + " things pens stand badges the on 14 So there are Then box holds table The." + LINE,
    "Another text altogether, and one that is longer than the short ones" + LINE,
    BASE,
]


@pytest.mark.parametrize("sampling", [Sampling(1), Sampling(7), Sampling(9, stop=("e", "\n"))])
def test_equal_to_completing_each_text_alone(any_engine, sampling: Sampling) -> None:
    shared = continue_from(any_engine, read(any_engine, BASE), TEXTS, sampling)
    alone = [any_engine.complete([text], [0], sampling)[0] for text in TEXTS]
    assert shared == alone


def test_texts_that_all_share_nothing(any_engine) -> None:
    texts = ["What? B", "Who? C", "Yes"]
    shared = continue_from(any_engine, read(any_engine, BASE), texts, Sampling(7))
    assert shared == [any_engine.complete([text], [0], Sampling(7))[0] for text in texts]


def test_the_reading_can_be_used_again(engine) -> None:
    reading = read(engine, BASE)
    first = continue_from(engine, reading, TEXTS, Sampling(5))
    assert continue_from(engine, reading, TEXTS[::-1], Sampling(5)) == first[::-1]


def test_a_merge_across_the_boundary_shortens_what_is_shared(engine) -> None:
    # "a" + "n" is one token: the text's token at the border is not the base's.
    assert len(engine.ids("xan")) < len(engine.ids("xa")) + len(engine.ids("n"))
    reading = read(engine, "xa")
    assert continue_from(engine, reading, ["xan"], Sampling(6)) == engine.complete(
        ["xan"], [0], Sampling(6)
    )


def test_tokens_read_by_hand(engine) -> None:
    # One token a byte, but for " t", "th" and "an". Every text keeps at least its last token to
    # read; the two short ones cost 2 x 2 with padding, the long one its 30 bytes.
    assert len(engine.ids("xyz")) == 3
    reading = read(engine, "xyzw")
    texts = ["xyzw", "xyoo", "q" * 30]
    assert tokens_read(engine, reading, texts) == (2 * 2 + 30, 4 + 4 + 30)


def test_greedy_only(engine) -> None:
    with pytest.raises(ValueError, match="greedy"):
        continue_from(engine, read(engine, BASE), [BASE], Sampling(2, temperature=1.0))


def test_a_reading_that_starts_from_another_is_the_same(any_engine) -> None:
    whole = read(any_engine, BASE)
    for text in (BASE[:30], BASE[:30] + " Not this, and it is longer than the base" * 3, "Else"):
        before = [layer.keys.clone() for layer in whole.cache.layers]
        started = read(any_engine, text, whole)
        plain = read(any_engine, text)
        assert started.ids == plain.ids == any_engine.ids(text)
        for one, other in zip(started.cache.layers, plain.cache.layers, strict=True):
            torch.testing.assert_close(one.keys, other.keys, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(one.values, other.values, rtol=1e-4, atol=1e-5)
        assert all(map(torch.equal, before, (layer.keys for layer in whole.cache.layers)))


def test_what_prompts_share_is_read_once(engine) -> None:
    prompts = Prompts(engine)
    with passes(engine) as seen:
        for text in ("xyzw", "xyzwoo", "xyzw", "xyzwoo", "q"):
            assert prompts.reading(text).ids == engine.ids(text)
    assert seen == [(1, 4), (1, 2), (1, 1)]


def test_prompts_that_were_not_used_for_long_are_forgotten(engine, monkeypatch) -> None:
    prompts = Prompts(engine)
    size = prompts.reading("00").nbytes
    monkeypatch.setattr("faithshift_data.measure.shared_prefix.MOST_BYTES", 3 * size)
    for text in ("01", "02", "00", "03"):
        prompts.reading(text)
    with passes(engine) as seen:
        for text in ("02", "00", "03"):
            prompts.reading(text)
        assert not seen
        prompts.reading("01")
    assert seen == [(1, 1)]


@pytest.mark.parametrize("sampling", [Sampling(7), Sampling(7, 1.0, 0.9, stop=("e", "a"))])
def test_prompts_that_are_known_are_not_read_again(any_engine, sampling: Sampling) -> None:
    texts = [BASE, BASE[:30], BASE[:30] + " Else.", "What?", BASE]
    seeds = range(len(texts))
    known = Prompts(any_engine)
    expected = any_engine.complete(texts, seeds, sampling)
    for _ in range(2):
        with passes(any_engine) as seen:
            assert any_engine.complete(texts, seeds, sampling, known=known) == expected
    assert all(width == 1 for _, width in seen), "the second time nothing but new tokens"
