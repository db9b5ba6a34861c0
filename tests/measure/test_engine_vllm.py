"""What is asked of vLLM and read of its replies; `tests/long/test_vllm.py` runs the real one."""

from __future__ import annotations

import gc
import sys
from types import ModuleType, SimpleNamespace

import pytest

from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Completion, Sampling
from faithshift_data.measure.engines.registry import engine_class

HOME = "faithshift_data.measure.engines.vllm"
OPEN = "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n<think>\n"

ENDED: list[str] = []
ON_A_CPU = [False]


class StandIn:
    """vLLM's `LLM` by its documented calls: the package needs an environment of its own."""

    def __init__(self, **options):
        if options["model"] == "broken":
            raise RuntimeError("no such\nmodel")
        self.options, self.submissions, self.replies = options, [], {}
        self.model_config = SimpleNamespace(max_model_len=64)
        core = SimpleNamespace(shutdown=lambda: ENDED.append(options["model"]))
        self.llm_engine = SimpleNamespace(engine_core=core)

    def get_tokenizer(self):
        return Words()

    def generate(self, prompts, how, use_tqdm):
        self.submissions.append((prompts, how))
        return [self._reply(*each) for each in zip(prompts, how, strict=True)]

    def _reply(self, prompt, how):
        ids = prompt["prompt_token_ids"]
        text, finish, reason = self.replies.get(len(ids), (" x", "stop", None))
        first = min(((text.index(s), s) for s in how.stop or () if s in text), default=None)
        if first is not None:
            text, finish, reason = text[: first[0]], "stop", first[1]
        n_tokens = len(text.split()) + (finish == "stop")
        said = SimpleNamespace(
            text=text, finish_reason=finish, stop_reason=reason, token_ids=[0] * n_tokens
        )
        return SimpleNamespace(outputs=[said])


class Words:
    """One id a word, and one that begins a text unless that is declined."""

    bos_token, bos_token_id, chat_template = "<s>", 7, None
    all_special_ids, all_special_tokens = [7], ["<s>"]

    def __call__(self, text, add_special_tokens=True):
        return {"input_ids": [7] * add_special_tokens + [9] * len(text.split())}


@pytest.fixture
def engine(monkeypatch):
    module = ModuleType("vllm")
    module.__version__, module.LLM = "0", StandIn
    module.SamplingParams = lambda **about: SimpleNamespace(**about)
    machine = SimpleNamespace(is_cpu=lambda: ON_A_CPU[-1])
    platforms = ModuleType("vllm.platforms")
    platforms.current_platform = machine
    monkeypatch.setitem(sys.modules, "vllm", module)
    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
    monkeypatch.delitem(sys.modules, HOME, raising=False)
    yield engine_class("vllm")("folder", context=64)
    sys.modules.pop(HOME, None)


def test_all_prompts_go_in_one_submission_as_ids(engine) -> None:
    said = engine.complete(["a b", "c"], [1, 2], Sampling(5, 0.7, 0.95))
    assert said == [Completion(" x", "stop", 1)] * 2
    ((prompts, how),) = engine.llm.submissions
    # No BOS is put before them.
    assert prompts == [{"prompt_token_ids": [9, 9]}, {"prompt_token_ids": [9]}]
    assert [each.seed for each in how] == [1, 2]
    assert (how[0].max_tokens, how[0].temperature, how[0].top_p) == (5, 0.7, 0.95)
    assert engine.facts()["prefix_caching"] is False and engine.context == 64
    options = engine.llm.options
    assert options["enable_prefix_caching"] is False and options["trust_remote_code"] is False


def test_delimiters_that_are_special_tokens_are_kept(engine) -> None:
    engine.complete(["a"], [0], Sampling(5))
    marked = engine_class("vllm")("folder")
    marked.tokenizer.all_special_ids, marked.tokenizer.all_special_tokens = (
        [7, 8],
        ["<s>", "[THINK]"],
    )
    marked.complete(["a"], [0], Sampling(5))
    how = [each.llm.submissions[0][1][0].skip_special_tokens for each in (engine, marked)]
    assert how == [True, False]


def test_greedy_has_neither_seed_nor_nucleus(engine) -> None:
    engine.complete(["a"], [3], Sampling(5, top_p=0.5))
    ((_, (how,)),) = engine.llm.submissions
    assert (how.temperature, how.top_p, how.seed) == (0.0, 1.0, None)


def test_what_ended_a_completion_is_told_and_its_token_not_counted(engine) -> None:
    engine.llm.replies = {1: (" one two", "length", None), 2: (" one.\nTwo", "length", None)}
    cut, stopped = engine.complete(["a", "a b"], [0, 0], Sampling(5, stop=("\n",)))
    assert cut == Completion(" one two", "length", 2)
    assert stopped == Completion(" one.", "stop", 2)


def test_stop_strings_count_after_the_reasoning_alone(engine) -> None:
    thought = "One.\n\nTwo.\n</think>\nIt is 4.\n\nNo more."
    n = len(OPEN.split())
    engine.llm.replies = {n: (thought, "length", None), 1: (f"<think>\n{thought}", "length", None)}
    opened, opens = engine.complete([OPEN, "Why?"], [5, 6], Sampling(99, 0.7, stop=("\n\n",)))
    assert opened == Completion("One.\n\nTwo.\n</think>\nIt is 4.", "stop", 8)
    assert opens.text == f"<think>\n{opened.text}"
    first, second = engine.llm.submissions
    assert [each.stop for each in first[1]] == [None, ["\n\n"]]
    # Asked anew with its seed, and alone.
    assert [(each.stop, each.seed) for each in second[1]] == [(None, 6)]


def test_a_prompt_has_to_begin_as_the_tokenizer_would_have_it(engine) -> None:
    assert engine.begins() == "<s>" and engine.white_box is False


def test_its_process_ends_with_it(engine) -> None:
    ENDED.clear()
    made = engine_class("vllm")("other")
    assert not ENDED
    del made
    gc.collect()
    assert ENDED == ["other"]


@pytest.mark.parametrize(("on_a_cpu", "asked"), [(True, False), (False, None)])
def test_on_a_cpu_no_prompt_is_read_in_two_parts(engine, monkeypatch, on_a_cpu, asked) -> None:
    """Elsewhere that is for vLLM to say."""
    monkeypatch.setattr(f"{__name__}.ON_A_CPU", [on_a_cpu])
    assert engine_class("vllm")("folder").llm.options["enable_chunked_prefill"] is asked


def test_a_folder_that_vllm_cannot_load_is_one_line(engine) -> None:
    with pytest.raises(InputError, match="vLLM cannot load it: RuntimeError: no such model"):
        engine_class("vllm")("broken")


def test_without_vllm_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.delitem(sys.modules, HOME, raising=False)
    with pytest.raises(InputError, match=r"faithshift\[vllm\]"):
        engine_class("vllm")
