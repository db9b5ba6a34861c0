"""The engine behind an endpoint: a real client, a real server on loopback, and its faults."""

from __future__ import annotations

import asyncio
import logging

import pytest

from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Completion, Sampling, Unfinished
from faithshift_data.measure.engines.openai import MOST_FAILED, OpenAIEngine
from faithshift_data.measure.engines.registry import make_engine
from tests.measure.completions_server import Fault, Raw, failing_first, serving

KEY = "sk-only-for-this-test"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def echo(asked):
    """Says what it was asked, so that replies can be told apart."""
    return f" {asked['prompt']}/{asked['seed']}"


def engine(server, **options):
    return OpenAIEngine("m", base_url=server.url, **{"retries": 0, "timeout": 20, **options})


def test_every_prompt_gets_its_own_completion_in_order() -> None:
    prompts = [f"p{number}" for number in range(25)]
    with serving(echo) as server:
        said = engine(server).complete(prompts, range(25), Sampling(9, 0.7, 0.95))
    assert said == [Completion(f" p{n}/{n}", "stop", 1) for n in range(25)]
    assert len(server.asked) == 25
    asked = next(each for each in server.asked if each["prompt"] == "p3")
    assert (asked["seed"], asked["temperature"], asked["top_p"]) == (3, 0.7, 0.95)
    assert (asked["max_tokens"], asked["model"]) == (9, "m")
    # Nothing that the server adds or filters of its own accord.
    assert asked["add_special_tokens"] is False and asked["top_k"] == -1
    assert asked["_authorization"] == f"Bearer {KEY}"


def test_no_more_requests_at_a_time_than_allowed() -> None:
    def slow(asked):
        asyncio.run(asyncio.sleep(0.01))
        return "x"

    with serving(slow) as server:
        engine(server, concurrency=3).complete(["p"] * 12, [0] * 12, Sampling(1))
    assert 1 < server.most_at_once <= 3


@pytest.mark.parametrize("fault", [Fault(429), Fault(500), Fault(503), Fault(408)])
def test_a_passing_fault_is_tried_again(fault) -> None:
    fault.headers["Retry-After"] = "0.01"
    with serving(failing_first(2, fault, echo)) as server:
        said = engine(server, retries=2).complete(["p"], [1], Sampling(9))
    assert said[0].text == " p/1" and len(server.asked) == 3


def test_tries_are_bounded_and_what_is_done_is_kept() -> None:
    def one_fails(asked):
        fault = Fault(500, "out of memory", {"Retry-After": "0.01"})
        return fault if asked["prompt"] == "p1" else echo(asked)

    with serving(one_fails) as server, pytest.raises(Unfinished) as found:
        engine(server, retries=2).complete(["p0", "p1", "p2"], [0, 0, 0], Sampling(9))
    assert sum(asked["prompt"] == "p1" for asked in server.asked) == 3
    assert {row: said.text for row, said in found.value.done.items()} == {0: " p0/0", 2: " p2/0"}
    assert not found.value.permanent
    line = str(found.value)
    assert "row 1: 2 of 3 prompts completed; HTTP 500, 3 tries: out of memory" in line


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_ends_the_run_at_once(status: int) -> None:
    refusal = Fault(status, f"bad request of {KEY}")
    with serving(lambda asked: refusal) as server, pytest.raises(Unfinished) as found:
        engine(server, retries=3, concurrency=2).complete(["p"] * 50, [0] * 50, Sampling(9))
    assert len(server.asked) <= 4
    assert found.value.permanent and f"HTTP {status}" in str(found.value)
    assert "\n" not in str(found.value) and KEY not in str(found.value)


def test_a_server_that_is_down_is_not_asked_for_every_prompt() -> None:
    with serving(lambda asked: Fault(500)) as server, pytest.raises(Unfinished):
        engine(server, concurrency=2).complete(["p"] * 200, [0] * 200, Sampling(9))
    assert len(server.asked) <= MOST_FAILED + 2


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Raw(b'{"choices": [{"text": "ab'), "the reply is no completion"),
        (Raw(b""), "the reply is no completion"),
        (Raw(b"<html>", kind="text/html"), "the reply is no completion"),
        (Raw(b"[]"), "the reply is no completion"),
        (Raw(b'{"choices": []}'), "the reply is no completion"),
        (Raw(b'{"choices": [{"text": null, "finish_reason": "stop"}]}'), "no completion"),
        (Raw(b'{"choices": [{"text": "x", "finish_reason": null}]}'), "no completion"),
    ],
)
def test_what_is_no_completion_is_said(reply, said: str) -> None:
    with serving(lambda asked: reply) as server, pytest.raises(Unfinished, match=said):
        engine(server).complete(["p"], [0], Sampling(9))


def test_a_server_that_hangs_is_not_waited_for() -> None:
    hang = Raw(hang=1.0)
    with (
        serving(lambda asked: hang) as server,
        pytest.raises(Unfinished, match="no reply in 0.2 s, 2 tries"),
    ):
        engine(server, timeout=0.2, retries=1).complete(["p"], [0], Sampling(9))


def test_a_reply_that_drips_is_not_waited_for() -> None:
    drip = Raw(b"{" + b" " * 400, drip=0.02)
    with (
        serving(lambda asked: drip) as server,
        pytest.raises(Unfinished, match="no reply in 0.3 s, 1 tries"),
    ):
        engine(server, timeout=0.3).complete(["p"], [0], Sampling(9))


def test_nobody_listens() -> None:
    lost = OpenAIEngine("m", base_url="http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(Unfinished, match="no connection"):
        lost.complete(["p"], [0], Sampling(9))


def test_reasons_to_end_are_kept_and_tokens_may_be_unknown() -> None:
    raw = b'{"choices": [{"text": "", "finish_reason": "content_filter"}]}'
    with serving(lambda asked: Raw(raw)) as server:
        said = engine(server).complete(["p"], [0], Sampling(9))
    assert said == [Completion("", "content_filter", None)]


OPEN = "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n<think>\n"
THOUGHT = "One.\n\nTwo.\n</think>\nIt is 4.\n\nNo more."


def test_stop_strings_count_after_the_reasoning_alone() -> None:
    with serving(lambda asked: THOUGHT) as server:
        opened = engine(server).complete([OPEN], [0], Sampling(99, stop=("\n\n",)))
    assert opened[0].text == "One.\n\nTwo.\n</think>\nIt is 4." and opened[0].finish == "stop"
    assert [asked.get("stop") for asked in server.asked] == [None]


def test_a_block_that_the_model_opens_itself_is_read_to_its_end() -> None:
    with serving(lambda asked: f"<think>\n{THOUGHT}") as server:
        said = engine(server).complete(["Why?\n"], [7], Sampling(99, stop=("\n\n",)))
    assert said[0].text == "<think>\nOne.\n\nTwo.\n</think>\nIt is 4."
    assert [(asked.get("stop"), asked["seed"]) for asked in server.asked] == [
        (["\n\n"], 7),
        (None, 7),
    ]


def test_a_request_has_four_stop_strings_and_all_of_them_count() -> None:
    """More than four are HTTP 400 at OpenAI's and at vLLM's server."""
    stops = ("Answer:", "answer:", "Respuesta:", "respuesta:", "####")
    with serving(lambda asked: " It is 4.\n#### 4\nAnswer: 5") as server:
        said = engine(server).complete(["Why?\n"], [7], Sampling(99, stop=stops))
    assert (said[0].text, said[0].finish) == (" It is 4.\n", "stop")
    assert [asked["stop"] for asked in server.asked] == [list(stops[:4])]


def test_it_runs_where_a_loop_runs() -> None:
    async def notebook(server):
        return engine(server).complete(["p"], [0], Sampling(9))

    with serving(echo) as server:
        assert asyncio.run(notebook(server))[0].text == " p/0"


def test_the_key_stays_in_the_environment(monkeypatch, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(echo) as server:
        address = server.url.replace("127.0.0.1", "user:hidden@127.0.0.1") + "?token=hidden"
        local = OpenAIEngine("m", base_url=address)
        assert "hidden" not in str(local.facts()) and KEY not in str(local.facts())
        engine(server).complete(["p"], [0], Sampling(9))
    assert KEY not in caplog.text
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(InputError, match="no API key"):
        OpenAIEngine("gpt")
    assert OpenAIEngine("m", base_url="http://127.0.0.1:9/v1").facts()["engine"] == "openai"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"base_url": "localhost:8000"}, "not an address"),
        ({"concurrency": 0}, "concurrency: bad value"),
        ({"retries": -1}, "retries: bad value"),
        ({"colour": "red"}, "no such option"),
    ],
)
def test_bad_options_are_one_line(options, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_engine("openai", "m", **{"base_url": "http://127.0.0.1:9/v1", **options})


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(InputError, match="expected .*transformers.*vllm.*openai.*got tgi"):
        make_engine("tgi", "m")


def test_what_needs_a_tokenizer_says_so() -> None:
    bare = OpenAIEngine("m", base_url="http://127.0.0.1:9/v1")
    for call in (bare.render, bare.ids):
        with pytest.raises(InputError, match="--tokenizer"):
            call("x")
    assert bare.read_back("x") == "x" and bare.begins() == ""
