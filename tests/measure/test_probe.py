"""The probe of injection: an honest backend passes, and each way of lying is found out."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Completion
from faithshift_data.measure.engines.openai import OpenAIEngine
from faithshift_data.measure.engines.probe import (
    Outcome,
    probe,
    refuse_unfit,
    render,
)
from tests.measure.completions_server import Fault, Raw, obedient, serving


def honest(asked):
    return obedient(asked["prompt"])


def before_injection(prompt: str) -> str:
    return prompt.split("Option (")[0]


def drops(asked):
    """Reads the question alone, and says so in its echo."""
    read = before_injection(asked["prompt"])
    return {"text": obedient(read), "read": read}


def drops_and_lies(asked):
    """Reads the question alone, and echoes what it was sent."""
    return obedient(before_injection(asked["prompt"]))


def thinks_again(asked):
    return f"<think>\nLet me see.\n</think>\n{obedient(asked['prompt'])}"


def new_turn(asked):
    return f"<|im_end|>\n<|im_start|>assistant\n{obedient(asked['prompt'])}"


def chats(asked):
    """Takes the prefix for a finished turn, and answers it."""
    return f"Sure! I agree that it is ({obedient(asked['prompt'])[0]}). Anything else?"


def wraps(asked):
    """Makes a user's message of the prompt, whose answer happens to begin with the letter."""
    read = f"<|im_start|> user {asked['prompt']} <|im_end|> <|im_start|> assistant"
    return {"text": obedient(asked["prompt"]), "read": read}


def stubborn(asked):
    """Goes on with letters of its own, which do not follow."""
    return "ABCD"[len(asked["prompt"]) % 4] + ")"


def try_out(script, *, timeout=20.0, **server):
    with serving(script, **server) as running:
        return probe(OpenAIEngine("m", base_url=running.url, retries=0, timeout=timeout))


def test_an_honest_backend_is_supported() -> None:
    found = try_out(honest, begins=["<s>"])
    assert found.outcome == Outcome.SUPPORTED and found.reason == ""
    assert (found.followed, found.asked) == (9, 9)
    assert found.in_prompt and found.one_bos and found.no_new_block


@pytest.mark.parametrize(
    ("script", "outcome", "reason"),
    [
        (drops, Outcome.DISCARDS, "not in the prompt that was read"),
        (drops_and_lies, Outcome.DISCARDS, "one and the same reply, whatever is injected"),
        (thinks_again, Outcome.REGENERATES, "9 of 9 replies begin anew, as '<think>"),
        (new_turn, Outcome.REGENERATES, "begin anew"),
        (chats, Outcome.REGENERATES, "do not go on where the prompt ends: 'Sure!"),
        (wraps, Outcome.REGENERATES, "read within a text that was not sent"),
        (lambda asked: asked["prompt"] + honest(asked), Outcome.REGENERATES, "do not go on where"),
        (stubborn, Outcome.UNDEFINED, "of 9, expected 7"),
        (lambda asked: Fault(400, "prefill is not allowed"), Outcome.UNDEFINED, "HTTP 400: pref"),
        (lambda asked: Fault(429), Outcome.UNDEFINED, "HTTP 429, 1 tries"),
        (lambda asked: Fault(500), Outcome.UNDEFINED, "HTTP 500"),
        (lambda asked: Raw(b'{"choices": [{"te'), Outcome.UNDEFINED, "no completion"),
        (lambda asked: Raw(b""), Outcome.UNDEFINED, "no completion"),
    ],
)
def test_a_lying_or_failing_backend_is_named(script, outcome, reason: str) -> None:
    found = try_out(script)
    assert found.outcome == outcome
    assert reason in found.reason and "\n" not in found.reason


def test_a_backend_that_hangs_is_not_waited_for() -> None:
    found = try_out(lambda asked: Raw(hang=1.0), timeout=0.3)
    assert found.outcome == Outcome.UNDEFINED and "no reply in 0.3 s" in found.reason


def test_a_second_bos_is_no_support() -> None:
    found = try_out(honest, begins=["<s>", "<s>"])
    assert found.outcome == Outcome.UNDEFINED and found.one_bos is False
    assert found.followed == 9 and "BOS" in found.reason


def test_what_nobody_tells_is_not_taken_for_granted() -> None:
    found = try_out(honest, echoes=False)
    assert found.outcome == Outcome.UNDEFINED and found.in_prompt is None
    assert "expected an endpoint with echo, or --tokenizer" in found.reason


@pytest.mark.parametrize("script", [drops, thinks_again, chats, lambda asked: Fault(404)])
def test_an_unfit_engine_is_refused_in_one_line(script) -> None:
    with serving(script) as running:
        engine = OpenAIEngine("m", base_url=running.url, retries=0)
        with pytest.raises(InputError, match="injected text is not continued: ") as error:
            refuse_unfit(engine)
    assert "\n" not in str(error.value)


def test_the_table_names_what_was_found() -> None:
    text = render(try_out(honest), "m at 127.0.0.1")
    assert re.search(r"outcome +supported", text) and re.search(r"follows.* 9 of 9", text)
    lines = render(try_out(lambda asked: Fault(400)), "m").splitlines()
    assert re.search(r"prompt +not told", lines[1]) and "HTTP 400" in lines[-1]


class Local:
    """An engine with a tokenizer of words that puts a BOS before a text, or does not."""

    name, version, white_box = "local", "0", False

    def __init__(self, template: str | None, adds: str = "", server_adds: int = 0) -> None:
        self.tokenizer = type("T", (), {"chat_template": template, "bos_token": "<s>"})()
        self.adds, self.server_adds = adds, server_adds
        self.prompts: list[str] = []

    def render(self, user):
        tail = "<think>\n" if self.tokenizer.chat_template == "opens <think>" else ""
        return f"<s><|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n{tail}"

    def begins(self):
        return self.adds

    def ids(self, text):
        return list(range(len(text.split())))

    def tokens_of(self, prompt):
        return len(self.ids(prompt)) + self.server_adds, None

    def complete(self, prompts, seeds, sampling):
        self.prompts = list(prompts)
        return [Completion(obedient(prompt), "stop", 3) for prompt in prompts]


@pytest.mark.parametrize(
    ("template", "opened"),
    [("opens <think>", 1), ("knows <think> but opens none", 1), ("plain", 0)],
)
def test_the_block_of_a_thinking_model_is_opened_once_and_closed(template, opened: int) -> None:
    engine = Local(template)
    assert probe(engine).outcome == Outcome.SUPPORTED
    for prompt in engine.prompts:
        assert prompt.count("<think>") == prompt.count("</think>") == opened
        assert prompt.endswith("The answer is (") and prompt.startswith("<s>")
        if opened:
            assert prompt.index("<think>") < prompt.index("Option (") < prompt.index("</think>")


@pytest.mark.parametrize(
    ("engine", "one"),
    [
        (Local("plain"), True),  # the template's own
        (Local("plain", server_adds=1), False),  # and one more by the server
        (Local(None, adds="<s>"), True),  # put before a plain prompt
        (Local(None), True),  # a model without
        (Local(None, server_adds=1), True),  # a server that puts one before
    ],
)
def test_bos_is_counted_from_what_the_server_says_of_a_prompt(engine, one: bool) -> None:
    assert probe(engine).one_bos is one


def test_a_server_that_reads_less_than_it_was_sent_discards() -> None:
    found = probe(Local("plain", server_adds=-9))
    assert found.outcome == Outcome.DISCARDS and found.in_prompt is False


def test_a_server_that_reads_more_than_it_was_sent_regenerates() -> None:
    found = probe(Local("plain", server_adds=9))
    assert found.outcome == Outcome.REGENERATES and found.followed == 9


@pytest.mark.parametrize("mark", ["\u2581", "\u0120", ""])
def test_tokens_shown_with_a_tokenizers_own_spaces_are_the_prompt(mark: str) -> None:
    class Shown(Local):
        def tokens_of(self, prompt):
            tokens = ["<s>", *(mark + word for word in prompt.removeprefix("<s>").split())]
            return len(tokens), tokens

    found = probe(Shown("plain", adds="<s>"))
    assert found.outcome == Outcome.SUPPORTED and found.one_bos


def test_a_harmony_model_is_probed_within_its_channels() -> None:
    class Harmony:
        name, white_box, tokenizer = "h", False, SimpleNamespace(chat_template="<|start|>")

        def render(self, user):
            return f"<|start|>user<|message|>{user}<|end|><|start|>assistant"

        def tokens_of(self, prompt):
            return None, None

        def complete(self, prompts, seeds, sampling):
            self.read = prompts
            return [Completion(self.says(prompt), "stop", 2) for prompt in prompts]

    engine = Harmony()
    engine.says = obedient
    found = probe(engine)
    assert (found.followed, found.no_new_block) == (9, True)
    for prompt in engine.read:
        _, _, turn = prompt.rpartition("<|end|><|start|>assistant<|channel|>analysis<|message|>")
        assert turn.startswith("Option (") and turn.endswith("The answer is (")
        assert "<|end|><|start|>assistant<|channel|>final<|message|>" in turn
    engine.says = lambda prompt: obedient(prompt) + "assistantanalysisBut no"
    assert probe(engine).outcome == Outcome.REGENERATES
