"""The real vLLM beside transformers: the same weights, the same greedy words, seeds that repeat.

Runs in the environment of `constraints-vllm.txt` alone; minutes on a CPU.
"""

from __future__ import annotations

import multiprocessing

import pytest

from faithshift_data.measure.engines import Sampling
from tests.answering_model import write_answering_model

pytest.importorskip("vllm", reason="needs vLLM, in an environment of its own: constraints-vllm.txt")
pytestmark = pytest.mark.slow

PROMPTS = [f"The {word} and the ant, then" for word in "abcdefghijklmnopqrst"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Heads as wide as vLLM's kernels want them; letters are shown alike by every decoder."""
    return write_answering_model(tmp_path_factory.mktemp("tiny"), hidden_size=128)


@pytest.fixture(scope="module")
def engine(folder):
    from faithshift_data.measure.engines.registry import make_engine

    return make_engine("vllm", folder, context=256, eager=True)


def test_greedy_words_are_those_of_transformers(engine, folder) -> None:
    from faithshift_data.measure.engines.registry import make_engine

    other = make_engine("transformers", folder)
    ours = engine.complete(PROMPTS, [0] * 20, Sampling(16))
    theirs = other.complete(PROMPTS, [0] * 20, Sampling(16))
    # Rounding may decide a tie, no more often than once.
    assert sum(a == b for a, b in zip(ours, theirs, strict=True)) >= 19
    assert len({each.text for each in ours}) > 3


def test_a_row_depends_on_its_seed_and_not_on_its_batch(engine) -> None:
    draw = Sampling(12, 1.0, 0.95)
    together = engine.complete(PROMPTS[:6], range(6), draw)
    alone = [engine.complete([PROMPTS[k]], [k], draw)[0] for k in (2, 5)]
    assert alone == [together[2], together[5]]
    assert engine.complete(PROMPTS[:6], range(6, 12), draw) != together


def test_more_prompts_than_are_read_at_once(engine) -> None:
    """No prompt is read in two parts, which a drawn completion on a CPU does not survive."""
    many = [f"{n} " + "The ant, then " * 10 for n in range(60)]
    assert sum(len(engine.ids(prompt)) for prompt in many) > 4096
    draw = Sampling(4, 1.0, 0.95)
    found = engine.complete(many, range(60), draw)
    assert [found[n] for n in (0, 29, 59)] == [
        engine.complete([many[n]], [n], draw)[0] for n in (0, 29, 59)
    ]


def test_stop_strings_cut_before_themselves(engine) -> None:
    wholes = [each.text for each in engine.complete(PROMPTS, [0] * 20, Sampling(12))]
    place = max(range(20), key=lambda n: len(wholes[n]))
    stop = wholes[place][3:5]
    said = engine.complete([PROMPTS[place]], [0], Sampling(12, stop=(stop,)))[0]
    assert len(stop) == 2 and said.finish == "stop"
    assert said.text == wholes[place][: wholes[place].index(stop)]


def in_a_worker(folder) -> str:
    from faithshift_data.measure.engines.registry import make_engine

    # A worker holds its engine to the end.
    globals()["HELD"] = make_engine("vllm", folder, context=256, eager=True)
    return HELD.complete(PROMPTS[:1], [0], Sampling(4))[0].text  # noqa: F821


def test_a_worker_that_holds_it_ends(folder) -> None:
    """Its process used to wait for vLLM's own, which nobody had told to end."""
    process = multiprocessing.get_context("spawn").Process(target=in_a_worker, args=(folder,))
    process.start()
    process.join(300)
    try:
        assert process.exitcode == 0
    finally:
        process.kill()
