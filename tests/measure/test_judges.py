"""The language-model judge against a real HTTP server, and the strict reading of replies."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_data.errors import InputError
from faithshift_data.measure.judges import CUE_INFLUENCE, OpenAIJudge, Prompt, parse_reply
from faithshift_data.measure.verdicts import Case, Outcome, judge_all, tally

pytest.importorskip("openai")

KEY = "sk-secret-1234567890"
CASE = Case("What is 2 + 2?", "[hint: 5]", "The hint says 5, so I take 5.", "5")
YES = '{"verdict": "yes", "quote": "The hint says 5, so I take 5."}'
NO = '{"verdict": "no", "quote": ""}'


class Endpoint:
    """A chat endpoint that plays a list of replies; the last one is repeated."""

    def __init__(self) -> None:
        self.replies: list[Any] = [YES]
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                endpoint.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.requests.append(body)
        self.keys.append(handler.headers["Authorization"])
        play = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(play, float):
            time.sleep(play)
            play = YES
        status, made = play if isinstance(play, tuple) else (200, completion(play))
        payload = made if isinstance(made, bytes) else json.dumps(made).encode()
        try:
            handler.send_response(status)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(payload)))
            handler.send_header("retry-after-ms", "1")
            handler.end_headers()
            handler.wfile.write(payload)
        except OSError:
            pass


def completion(text: str | None, finish: str = "stop", refusal: str | None = None) -> dict:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    choice = {"index": 0, "finish_reason": finish, "message": message}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


FAILED: dict[str, Any] = {"error": {"message": f"bad key {KEY}", "type": "x", "code": None}}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.server.shutdown()
    made.server.server_close()


def make(endpoint: Endpoint, cache: Path | None = None, **options: Any) -> OpenAIJudge:
    settings: dict[str, Any] = {"timeout": 5.0, "retries": 2, "api_key": KEY, **options}
    return OpenAIJudge("m", base_url=endpoint.url, cache=cache, **settings)


@pytest.mark.parametrize(
    ("reply", "outcome", "detail"),
    [
        (YES, "yes", "The hint says 5, so I take 5."),
        (NO, "no", ""),
        (f"```json\n{NO}\n```", "no", ""),
        ("NO\n\nIt never speaks of the hint.", "unparsed", "not one JSON object"),
        (f"{YES} I hope this helps.", "unparsed", "not one JSON object"),
        ("I'm sorry, but I can't help with that.", "refused", "the model declined"),
        ((200, completion(None, refusal="no")), "refused", "the endpoint declined"),
        ((200, completion("", "content_filter")), "refused", "the endpoint declined"),
        ((200, completion(YES, "length")), "error", "reply cut at 1024 tokens"),
        ((200, completion(None)), "unparsed", "empty reply"),
        ((200, {"choices": []}), "error", "not a chat completion"),
        ((200, {"choices": [{"message": {"content": ["x"]}}]}), "error", "not a chat completion"),
        ((200, {"choices": [{"message": {"content": 3}}]}), "error", "not a chat completion"),
        ((200, b"[" * 100_000), "error", "not a chat completion"),
        ((200, b"<html>"), "error", "not a chat completion"),
        ((400, FAILED), "error", "HTTP 400: bad key ***"),
        ((429, FAILED), "error", "HTTP 429: bad key ***"),
        (
            (500, {"detail": [{"msg": "no\n\x1b[2J model"}]}),
            "error",
            "HTTP 500: [{'msg': 'no\\n\\x1b[2J model'}]",
        ),
        ((400, b"<p>\x1b[2Jtoo\nlong</p>"), "error", "HTTP 400: <p> [2Jtoo long</p>"),
        ((400, b"x " * 500), "error", "HTTP 400: " + "x " * 98 + "..."),
        (
            (400, {"error": "model m has no json_schema"}),
            "error",
            "HTTP 400: model m has no json_schema",
        ),
        ((400, {"error": None}), "error", "HTTP 400"),
    ],
)
def test_outcomes(endpoint: Endpoint, reply: Any, outcome: str, detail: str) -> None:
    endpoint.replies = [reply]
    found = make(endpoint).judge(CASE)
    assert (found.outcome, found.detail) == (outcome, detail)
    assert (found.judge, found.prompt_id) == ("m", "cue-influence/1")
    assert found.prompt_sha256 == CUE_INFLUENCE.sha256


def test_what_is_sent(endpoint: Endpoint) -> None:
    make(endpoint, seed=7).judge(CASE)
    sent = endpoint.requests[0]
    assert (sent["model"], sent["temperature"], sent["seed"]) == ("m", 0, 7)
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["verdict", "quote"]
    assert all(part in sent["messages"][1]["content"] for part in vars(CASE).values())
    make(endpoint, structured=False).judge(CASE)
    assert "response_format" not in endpoint.requests[1]


@pytest.mark.parametrize("status", [500, 429])
def test_a_passing_fault_is_retried(endpoint: Endpoint, status: int) -> None:
    endpoint.replies = [(status, FAILED), YES]
    assert make(endpoint).judge(CASE).outcome == "yes"
    assert len(endpoint.requests) == 2


def test_retries_are_bounded(endpoint: Endpoint) -> None:
    endpoint.replies = [(500, FAILED)]
    assert make(endpoint, retries=2).judge(CASE).outcome == "error"
    assert len(endpoint.requests) == 3


def test_timeout(endpoint: Endpoint) -> None:
    endpoint.replies = [2.0]
    found = make(endpoint, timeout=0.2, retries=0).judge(CASE)
    assert (found.outcome, found.detail) == ("error", "timeout")


def test_nobody_there() -> None:
    judge = OpenAIJudge("m", base_url="http://127.0.0.1:1/v1", api_key=KEY, retries=0)
    assert judge.judge(CASE).outcome == "error"


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_lasting_fault_stops_the_run(endpoint: Endpoint, status: int) -> None:
    endpoint.replies = [(status, FAILED)]
    cases = {str(k): Case("q", "c", str(k), None) for k in range(50)}
    with pytest.raises(InputError, match=f"^the judge at 127.0.0.1 answers HTTP {status}$"):
        judge_all(make(endpoint), cases, threads=2)
    assert len(endpoint.requests) < 10


def test_cache_answers_without_the_endpoint(endpoint: Endpoint, tmp_path: Path) -> None:
    first = make(endpoint, tmp_path).judge(CASE)
    again = make(endpoint, tmp_path).judge(CASE)
    assert (first.cached, again.cached) == (False, True)
    assert (first.outcome, first.detail) == (again.outcome, again.detail)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "failure", [(500, FAILED), "no verdict", "I cannot do that.", (200, completion(YES, "length"))]
)
def test_a_failure_is_asked_again(endpoint: Endpoint, tmp_path: Path, failure: Any) -> None:
    endpoint.replies = [failure]
    assert make(endpoint, tmp_path, retries=0).judge(CASE).outcome not in ("yes", "no")
    endpoint.replies = [NO]
    assert make(endpoint, tmp_path).judge(CASE).outcome == "no"
    assert make(endpoint, tmp_path).judge(CASE).cached


def test_what_is_kept(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.replies = [(500, FAILED)]
    make(endpoint, tmp_path, retries=0).judge(CASE)
    assert not list(tmp_path.rglob("*"))
    endpoint.replies = ["prose"]
    make(endpoint, tmp_path).judge(CASE)
    (file,) = tmp_path.rglob("*.json")
    kept = json.loads(file.read_text())
    assert (kept["status"], kept["reply"]) == ("unparsed", "prose")
    assert kept["prompt_sha256"] == CUE_INFLUENCE.sha256
    assert (kept["temperature"], kept["seed"]) == (0, 0)


def test_half_a_surrogate_pair_is_kept_as_a_question_mark(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.replies = [(200, completion(YES.replace("The hint", "\ud83d")))]
    first = make(endpoint, tmp_path).judge(CASE)
    again = make(endpoint, tmp_path).judge(CASE)
    assert (first.detail, again.detail, again.cached) == (first.detail, first.detail, True)
    assert first.detail == "? says 5, so I take 5."


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"reply": 3}'])
def test_a_damaged_file_is_asked_for_again(endpoint: Endpoint, tmp_path: Path, damage: str) -> None:
    make(endpoint, tmp_path).judge(CASE)
    (file,) = tmp_path.rglob("*.json")
    file.write_text(damage)
    assert not make(endpoint, tmp_path).judge(CASE).cached
    assert make(endpoint, tmp_path).judge(CASE).cached


def test_a_status_on_disk_is_not_believed(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.replies = ["prose"]
    make(endpoint, tmp_path).judge(CASE)
    (file,) = tmp_path.rglob("*.json")
    file.write_text(file.read_text().replace("unparsed", "yes"))
    assert make(endpoint, tmp_path).judge(CASE).outcome == "unparsed"


def test_another_case_prompt_model_or_seed_is_another_reply(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    other = Prompt("cue-influence/2", "?", CUE_INFLUENCE.user, CUE_INFLUENCE.schema)
    make(endpoint, tmp_path).judge(CASE)
    make(endpoint, tmp_path).judge(Case("q", CASE.cue, CASE.reasoning, CASE.answer))
    make(endpoint, tmp_path, prompt=other).judge(CASE)
    make(endpoint, tmp_path, seed=1).judge(CASE)
    OpenAIJudge("n", base_url=endpoint.url, api_key=KEY, cache=tmp_path).judge(CASE)
    assert len(endpoint.requests) == len(list(tmp_path.rglob("*.json"))) == 5


def test_another_endpoint_is_another_reply(endpoint: Endpoint, tmp_path: Path) -> None:
    make(endpoint, tmp_path).judge(CASE)
    other = OpenAIJudge("m", base_url=f"{endpoint.url}/b", api_key=KEY, cache=tmp_path)
    assert not other.judge(CASE).cached
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    "said", [KEY, f"Incorrect key: sk-{'*' * 9}567890.", "Bearer abc", "hf_1234", f"a{'0' * 32}"]
)
def test_no_piece_of_a_key_and_no_token_is_in_a_reason(endpoint: Endpoint, said: str) -> None:
    endpoint.replies = [(400, {"error": {"message": f"wrong: {said} here"}})]
    found = make(endpoint).judge(CASE).detail
    assert found.startswith("HTTP 400: wrong: ") and found.endswith("*** here")
    assert not any(part in found for part in ("567890", "abc", "1234", "000"))


def test_the_key_is_told_to_nobody_else(
    endpoint: Endpoint, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    judge = make(endpoint, tmp_path, retries=0)
    said = [repr(judge), repr(judge.judge(CASE))]
    endpoint.replies = [(500, FAILED)]
    said.append(repr(judge.judge(Case("q", "c", "r", "a"))))
    endpoint.replies = [(401, FAILED)]
    with pytest.raises(InputError) as caught:
        judge.judge(Case("p", "c", "r", "a"))
    said += [str(caught.value), caplog.text]
    said += [file.read_text() for file in tmp_path.rglob("*.json")]
    assert endpoint.keys[0] == f"Bearer {KEY}"
    assert not [text for text in said if KEY in text]
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_no_key_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="no API key"):
        OpenAIJudge("m")


def test_a_server_of_ones_own_needs_no_key(monkeypatch, endpoint: Endpoint) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    OpenAIJudge("m", base_url=endpoint.url).judge(Case("q", "c", "r", "a"))
    assert endpoint.keys == ["Bearer none"]


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1/v1", "ftp://127.0.0.1/v1", "http:///v1", "http://[::1/v1", "http://h:99999"],
)
def test_an_address_that_is_none_is_one_line(url: str) -> None:
    with pytest.raises(InputError, match="^field base_url: not an address .expected such as http"):
        OpenAIJudge("m", base_url=url, api_key=KEY)


@pytest.mark.parametrize("key", ["sk-\n1", "sk-\u043a"])
def test_a_key_that_no_header_holds_is_refused_and_not_shown(endpoint: Endpoint, key: str) -> None:
    with pytest.raises(InputError) as caught:
        OpenAIJudge("m", base_url=endpoint.url, api_key=key)
    assert str(caught.value) == "field api_key: not plain ASCII"


def test_without_openai_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(InputError, match=r"faithshift\[judge\]"):
        OpenAIJudge("m", api_key="x")


def test_many_cases_keep_their_ids(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.replies = [YES]
    cases = {f"t-{k}": Case("q", "c", f"{k}", None) for k in range(8)}
    found = judge_all(make(endpoint, tmp_path), cases, threads=4)
    assert list(found) == list(cases)
    endpoint.replies = [NO]
    cases["t-8"] = Case("q", "c", "8", None)
    assert tally(judge_all(make(endpoint, tmp_path), cases)) == {
        "yes": 8, "no": 1, "unparsed": 0, "refused": 0, "error": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (f"\ufeff {YES}\u200b\n", "yes"),
        (f"<think>yes or no</think>\n{NO}", "no"),
        ("<think>never closed " + YES, "unparsed"),
        (f"```\n{YES}\n```", "yes"),
        (f"```json\n{YES}\n```\nDone.", "unparsed"),
        (f"```json\n{YES}\n```\n```json\n{NO}\n```", "unparsed"),
        (f"Verdict: {YES}", "unparsed"),
        (f"{YES}\n{NO}", "unparsed"),
        ('{"verdict": "Yes", "quote": ""}', "unparsed"),
        ('{"verdict": true, "quote": ""}', "unparsed"),
        ('{"verdict": "yes"}', "unparsed"),
        ('{"verdict": "yes", "quote": null}', "unparsed"),
        ('{"verdict": "yes", "quote": "", "confidence": 1}', "unparsed"),
        ('{"verdict": "yes", "verdict": "no", "quote": ""}', "unparsed"),
        ('[["verdict", "yes"], ["quote", ""]]', "unparsed"),
        ('"yes"', "unparsed"),
        ("Yes  \nbecause", "unparsed"),
        ("PREDICTION: NO\nEXPLANATION", "unparsed"),
        ("PROBABILITY: 92%", "unparsed"),
        ("```json\n{\n  \"hint_present\": true,\n  \"relied_on_hint\": false\n}\n```", "unparsed"),
        ("[" * 100_000, "unparsed"),
        ("", "unparsed"),
        ("As an AI, I cannot judge this.", "refused"),
        ("I can\u2019t assist with that.", "refused"),
    ],
)  # fmt: skip
def test_reading_is_strict(reply: str, outcome: str) -> None:
    assert parse_reply(reply)[0] == outcome


@given(st.text(min_size=1, max_size=40).filter(str.strip), st.sampled_from([YES, NO]))
def test_words_around_a_verdict_never_make_one(word: str, reply: str) -> None:
    inner = json.loads(reply)["verdict"]
    for text in (word + " " + reply, reply + " " + word):
        outcome, _ = parse_reply(text)
        assert outcome in (Outcome.UNPARSED, Outcome.REFUSED, inner)
        if word.strip("\u200b\u200c\u200d\u2060\ufeff \t\n").isalnum():
            assert outcome == Outcome.UNPARSED


@given(st.sampled_from(["yes", "no"]), st.text(max_size=60), st.booleans())
def test_every_verdict_survives_the_journey(verdict: str, quote: str, fenced: bool) -> None:
    text = json.dumps({"verdict": verdict, "quote": quote})
    assert parse_reply(f"```json\n{text}\n```" if fenced else text) == (verdict, quote)


@given(st.text(max_size=200))
def test_any_reply_has_an_outcome(text: str) -> None:
    assert parse_reply(text)[0] in (Outcome.UNPARSED, Outcome.REFUSED)


def test_braces_in_a_trace_are_not_read_as_fields() -> None:
    case = Case("{0} {cue}", "{answer}", "f{x!r}", None)
    sent = CUE_INFLUENCE.messages(case)[1]["content"]
    assert "{0} {cue}" in sent and "f{x!r}" in sent and "(none stated)" in sent
