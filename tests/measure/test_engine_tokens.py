"""What a tokenizer makes of a model's words, and where a reasoning begins in its template."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from builders.writing import reasoning_in
from faithshift_data.measure.engines import Completion
from faithshift_data.measure.engines.openai import OpenAIEngine
from faithshift_data.measure.engines.opening import before_reasoning
from faithshift_data.measure.engines.stopping import cut
from faithshift_data.measure.engines.tokens import Tokenized
from faithshift_data.reasoning import HARMONY, HARMONY_BLOCK, open_block, split_reasoning

WORDS = ("</s>", "<unk>", "[THINK]", "[/THINK]", "<tool>", "One", "two.", "Three")
USER, ASSISTANT = "<|im_start|>user\n{}<|im_end|>\n", "<|im_start|>assistant\n"
TEMPLATE = "{% for m in messages %}<|im_start|>user\n{{ m.content }}<|im_end|>\n{% endfor %}"


def tokenizer(special=("[THINK]", "[/THINK]"), template=None) -> PreTrainedTokenizerFast:
    core = Tokenizer(WordLevel({word: k for k, word in enumerate(WORDS)}, unk_token="<unk>"))
    core.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="</s>",
        unk_token="<unk>",
        additional_special_tokens=["<tool>", *special],
        chat_template=template,
    )


def engine(**about) -> Tokenized:
    made = Tokenized()
    made.tokenizer = tokenizer(**about)
    return made


def ids(*words: str) -> list[int]:
    return [WORDS.index(word) for word in words]


def test_special_delimiters_stay_and_other_special_tokens_go() -> None:
    said = ids("[THINK]", "One", "<tool>", "two.", "[/THINK]", "Three", "</s>")
    text = engine().text_of(said)
    assert text.split() == ["[THINK]", "One", "two.", "[/THINK]", "Three"]
    found = split_reasoning(text)
    assert (found.reasoning, found.answer_text) == ("One two.", "Three")
    # A stop string counts behind the block, which could not be seen otherwise.
    assert cut("[THINK]", engine().text_of(said[1:]), ("two.", "Three"))[0].endswith("[/THINK] ")


def test_channels_of_harmony_stay_where_all_their_marks_are_special() -> None:
    """They are no named special tokens, as in the folder of such a model."""
    made = engine(special=())
    marks = ("<|start|>", "<|end|>", "<|channel|>", "<|message|>")
    made.tokenizer.add_tokens([AddedToken(mark, special=True) for mark in marks])
    made.tokenizer.add_tokens(["assistant", "analysis", "final"])
    turn = "<|start|>assistant"
    said = f"{HARMONY_BLOCK[0]}One{HARMONY_BLOCK[1]}Three"
    assert len(made.delimiters) == 4
    text = made.text_of(made.ids(said + "</s>"))
    found = split_reasoning(text.replace(" ", ""), prompt_tail=turn)
    assert (found.reasoning, found.answer_text) == ("One", "Three")
    begun = turn + HARMONY[0]
    rest = Completion(text.replace(" ", "").removeprefix(HARMONY[0]), "stop", 9)
    assert reasoning_in(rest, begun) == ("One", False)


def test_without_delimiters_special_tokens_go() -> None:
    assert engine().text_of(ids("One", "<tool>", "two.", "</s>")) == "One two."
    plain = engine(special=())
    assert plain.delimiters == frozenset() and len(engine().delimiters) == 2
    # Words like any other: they stay, and nothing has to be done for it.
    assert "[THINK]" in plain.text_of(ids("[THINK]", "One", "</s>"))


@pytest.mark.parametrize("special", [True, False])
def test_a_server_is_asked_for_delimiters(tmp_path, monkeypatch, special) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    tokenizer(**({} if special else {"special": ()})).save_pretrained(tmp_path)
    made = OpenAIEngine("m", base_url="http://127.0.0.1:9/v1", tokenizer=tmp_path)
    assert made.endpoint.extra.get("skip_special_tokens") is (False if special else None)
    # OpenAI's own refuses what it does not know, and `extra` is what the user says it is.
    assert "skip_special_tokens" not in OpenAIEngine("m", tokenizer=tmp_path).endpoint.extra
    given = OpenAIEngine("m", base_url="http://127.0.0.1:9/v1", tokenizer=tmp_path, extra={})
    assert given.endpoint.extra == {}


@pytest.mark.parametrize(
    ("turn", "opened"),
    [
        # It leaves the block to the model, and shows it in the turns before.
        ("{{ '' if add_generation_prompt else '<think>' }}<|im_start|>assistant", "<think>\n"),
        # It opens the block itself.
        ("<|im_start|>assistant\n<think>", ""),
        # It knows no reasoning.
        ("<|im_start|>assistant", ""),
    ],
)
def test_the_block_of_a_model_that_thinks_is_opened_once(turn: str, opened: str) -> None:
    text = before_reasoning(engine(template=TEMPLATE + turn + "{{ '\\n' }}"), "Why?")
    thinks = "think" in turn
    assert text == USER.format("Why?") + ASSISTANT + ("<think>\n" if thinks else "")
    assert text.endswith(opened) and (open_block(text) is not None) is thinks


def test_a_channel_for_it_is_begun_and_a_model_without_template_gets_the_message() -> None:
    harmony = SimpleNamespace(
        tokenizer=SimpleNamespace(chat_template="x"),
        render=lambda user: f"{user}<|start|>assistant",
    )
    assert before_reasoning(harmony, "Why?") == f"Why?<|start|>assistant{HARMONY[0]}"
    assert before_reasoning(engine(), "Why?") == "Why?\n"
