"""The decode loop: equal to a pass over the whole text for every token, and no row in vain."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import pad

from faithshift_data.measure.decoding import Rows, _join, forward, nucleus
from faithshift_data.measure.engines import Sampling
from faithshift_data.measure.engines.transformers import TransformersEngine
from faithshift_data.measure.shared_prefix import continue_all, read
from tests.measure.passes import passes

PROMPTS = ["What is this?", "A", "Then the answer is the other one, and that", "ant than"]


def plainly(engine: TransformersEngine, prompt: str, seed: int, sampling: Sampling) -> list[int]:
    """New tokens, each drawn from a pass of its own over all that stands before it."""
    ids, new = engine.ids(prompt), list[int]()
    uniform = np.random.default_rng(seed).random(sampling.max_tokens)
    while len(new) < sampling.max_tokens:
        with torch.no_grad():
            logits = engine.model(torch.tensor([ids + new])).logits[0, -1].double().numpy()
        if sampling.temperature == 0:
            new.append(int(logits.argmax()))
        else:
            p = np.exp((logits - logits.max()) / sampling.temperature)
            order = np.argsort(-p)
            p = p[order] / p.sum()
            p = p[: int((p.cumsum() < sampling.top_p).sum()) + 1]
            new.append(int(order[(p.cumsum() / p.sum() <= uniform[len(new)]).sum()]))
        text = engine.tokenizer.decode(new)
        if new[-1] in engine.ends or any(stop in text for stop in sampling.stop):
            break
    return new


def with_stop(
    engine: TransformersEngine, temperature: float, prompts: Sequence[str] = PROMPTS
) -> Sampling:
    """A stop string that ends rows at different places, or one of them not at all."""
    free = Sampling(7, temperature, 0.9)
    texts = [engine.tokenizer.decode(plainly(engine, p, k, free)) for k, p in enumerate(prompts)]
    for stop in sorted(set("".join(texts)) - {"\ufffd"}):
        places = {text.find(stop) % 7 for text in texts}
        if len(places) > 1 and min(places) < 3:
            return Sampling(7, temperature, 0.9, (stop,))
    raise AssertionError(f"no such string in {texts}")


@pytest.mark.parametrize("stopping", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_equal_to_a_pass_over_the_whole_text_a_token(
    any_engine, temperature: float, stopping: bool
) -> None:
    sampling = Sampling(7, temperature, 0.9)
    if stopping:
        sampling = with_stop(any_engine, temperature)
    found = any_engine.complete(PROMPTS, range(4), sampling)
    plain = [plainly(any_engine, p, seed, sampling) for seed, p in enumerate(PROMPTS)]
    assert found == [any_engine.completion(ids, sampling) for ids in plain]
    assert not stopping or len({len(ids) for ids in plain}) > 1, "rows end at different places"


def test_rows_that_go_on_are_not_taken_for_those_that_have_ended(engine) -> None:
    """Whichever ends first; a row that has ended is not passed again."""
    four = copy(engine)
    four.batch_size = 4
    # Of one length, so that they stand in a batch as they are given.
    prompts = ["xyzw", "qrst", "Why?", "1234"]
    sampling = with_stop(four, 1.0, prompts)
    plain = [plainly(four, p, seed, sampling) for seed, p in enumerate(prompts)]
    lengths = [len(ids) for ids in plain]
    steps = [sum(length > k for length in lengths) for k in range(1, max(lengths))]
    first = lengths.index(min(lengths))
    for turn in range(4):
        order = [(first + turn + k) % 4 for k in range(4)]
        with passes(four) as seen:
            found = four.complete([prompts[k] for k in order], order, sampling)
        assert found == [four.completion(plain[k], sampling) for k in order]
        # The first token follows from the pass over the prompts.
        assert seen == [(4, 4), *((n, 1) for n in steps)] and len(set(steps)) > 1


def test_rows_that_wait_take_the_place_of_those_that_have_ended(engine) -> None:
    """Fewer passes than batch after batch would take, each as long as its longest row."""
    four = copy(engine)
    four.batch_size = 4
    prompts = [*PROMPTS, "xyzw", "qrst", "Why?", "1234", "A longer one, so that it comes last"]
    order = sorted(range(9), key=lambda k: (len(four.ids(prompts[k])), k))
    sampling = with_stop(four, 1.0, prompts)
    plain = [plainly(four, prompt, seed, sampling) for seed, prompt in enumerate(prompts)]
    with passes(four) as seen:
        found = four.complete(prompts, range(9), sampling)
    assert found == [four.completion(ids, sampling) for ids in plain]
    rows = [n for n, width in seen if width == 1]
    assert max(rows) <= 4 and sum(rows) == sum(len(ids) - 1 for ids in plain)
    lengths = [len(plain[k]) - 1 for k in order]
    apart = sum(max(lengths[start : start + 4]) for start in range(0, 9, 4))
    assert len(rows) < apart


@torch.inference_mode()
def test_what_no_row_sees_any_more_is_cut_off(engine) -> None:
    """A long row has ended; those that join do not drag its length along."""
    long, short, other = ("x" * 40, "Why?", "12")

    def rows(text: str) -> Rows:
        return engine._read([engine.ids(text)])

    left = _join([rows(long), rows(short)]).only([1])
    assert left.mask.shape == (1, 40)
    joined = _join([left, rows(other)])
    assert joined.mask.tolist() == [[1, 1, 1, 1], [0, 0, 1, 1]]
    ids = torch.tensor([[7], [8]])
    found = forward(
        engine, joined.cache, ids, pad(joined.mask, (0, 1), value=1), joined.position + 1
    )
    for place, text in enumerate((short, other)):
        alone = engine.model(torch.tensor([[*engine.ids(text), int(ids[place])]])).logits[0, -1]
        assert torch.allclose(found.logits[place], alone, atol=1e-4)


def test_texts_of_several_readings_go_on_together(any_engine) -> None:
    line = "\nThe answer is"
    bases = ["The box holds 5 pens.", "Then 9 more badges are there.", "So 14"]
    texts = [
        [bases[0] + line, bases[0][:7] + line, line, "Another text" + line],
        [],
        [bases[2] + line, bases[2]],
    ]
    readings = [read(any_engine, base) for base in bases]
    sampling = Sampling(7, stop=with_stop(any_engine, 0.0).stop)
    with passes(any_engine) as seen:
        found = continue_all(any_engine, list(zip(readings, texts, strict=True)), sampling)
    alone = [[any_engine.complete([t], [0], sampling)[0] for t in some] for some in texts]
    assert found == alone
    assert max(n for n, width in seen if width == 1) <= 4, "a batch holds three rows or one reading"


def test_inverse_cdf_by_hand() -> None:
    # Probabilities .5, .3, .15, .05 and a nucleus of .9: the first three, together .95. The
    # cumulated .5, .8, .95 are compared with u * .95.
    logits = torch.log(torch.tensor([[0.3, 0.05, 0.5, 0.15]]))
    expected = {0.0: 2, 0.52: 2, 0.53: 0, 0.84: 0, 0.85: 3, 0.9999: 3}
    for uniform, token in expected.items():
        drawn = nucleus(logits, torch.tensor([uniform]), Sampling(3, temperature=1.0, top_p=0.9))
        assert drawn.tolist() == [token]


def test_sampling_frequencies_match_the_probabilities() -> None:
    probabilities = np.array([0.1, 0.2, 0.3, 0.4])
    n = 4000
    logits = torch.log(torch.tensor(probabilities)).expand(n, 4)
    drawn = nucleus(logits, torch.rand(n, generator=torch.manual_seed(0)), Sampling(1, 1.0))
    shares = np.bincount(drawn.numpy(), minlength=4) / n
    spread = np.sqrt(probabilities * (1 - probabilities) / n)
    assert (np.abs(shares - probabilities) < 4 * spread).all()


def test_temperature_sharpens() -> None:
    logits = torch.log(torch.tensor([[0.4, 0.6]])).expand(500, 2)
    uniform = torch.rand(500, generator=torch.manual_seed(0))
    # At temperature .2 the second token has .6^5 / (.4^5 + .6^5) = .884.
    assert (nucleus(logits, uniform, Sampling(1, 0.2)) == 1).float().mean() > 0.84
    assert (nucleus(logits, uniform, Sampling(1, 1.0)) == 1).float().mean() < 0.68
