"""Translation: what is sent to the engine, what must survive, and what is said without one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builders import translate as module
from builders.sources import bbh_style, commonsense, draw_items, word_problems
from builders.translate import marks, translate
from tests.tiny_model import write_tiny_model

needs_engine = pytest.mark.skipif(shutil.which("apertium") is None, reason="needs apertium")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An engine that shouts; every input it got is kept."""
    inputs: list[str] = []

    def run(command: list[str], **options: Any) -> SimpleNamespace:
        inputs.append(options["input"])
        return SimpleNamespace(returncode=0, stdout=options["input"].upper() + "\n", stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(module, "_known", {})
    return inputs


def test_all_new_texts_go_in_one_call(asked: list[str]) -> None:
    assert translate(["one", "two", "one"], "es") == ["ONE", "TWO", "ONE"]
    assert translate(["two", "three"], "es") == ["TWO", "THREE"]
    assert asked == ["one\n\ntwo", "three"]


def test_a_lost_number_is_an_error(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    monkeypatch.setattr(module, "_engine", lambda texts, language: ["cinco (B)"])
    with pytest.raises(ValueError, match=r"'5 \(B\)' became 'cinco \(B\)'"):
        translate(["5 (B)"], "es")


def test_marks() -> None:
    assert marks("12 and (B), (b) or 3.5") == {"12": 1, "(B)": 1, "3": 1, "5": 1}


def test_a_language_without_an_engine() -> None:
    with pytest.raises(ValueError, match="language 'de': expected one of es, tr"):
        translate(["one"], "de")


def test_a_model_translates_each_text_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from transformers import BartConfig, BartForConditionalGeneration

    write_tiny_model(tmp_path)
    sizes = dict.fromkeys(("encoder_layers", "decoder_layers", "d_model"), 2) | {"d_model": 16}
    heads = dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2)
    ends = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0)
    config = BartConfig(
        vocab_size=270,
        max_position_embeddings=64,
        decoder_start_token_id=0,
        **sizes,
        **heads,
        **ends,
    )
    BartForConditionalGeneration(config).save_pretrained(tmp_path)
    monkeypatch.setattr(module, "MODELS", {"tr": str(tmp_path)})
    monkeypatch.setattr(module, "MOST_TOKENS", 12)
    monkeypatch.setattr(module, "marks", lambda text: 0)
    texts = ["Which water is meant?", "a", "the longer of two texts"]
    monkeypatch.setattr(module, "_known", {})
    together = translate(texts, "tr")
    monkeypatch.setattr(module, "_known", {})
    assert [translate([text], "tr")[0] for text in texts] == together
    monkeypatch.undo()
    monkeypatch.setattr(module, "_known", {})
    with pytest.raises(FileNotFoundError, match="hf download Helsinki-NLP/opus-mt-tc-big-en-tr"):
        translate(["one"], "tr")


def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(module, "_known", {})
    with pytest.raises(FileNotFoundError, match="apt-get install apertium apertium-eng-spa"):
        translate(["one"], "es")


def test_a_missing_pair_of_languages_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = SimpleNamespace(returncode=1, stdout="", stderr="Error: Mode eng-spa does not exist")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(module, "_known", {})
    with pytest.raises(FileNotFoundError, match="eng-spa does not exist"):
        translate(["one"], "es")


@needs_engine
def test_the_engine_keeps_numbers_and_knows_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    items = list(draw_items(8, 5))
    texts = list(
        dict.fromkeys(text for item in items for text in (item.wordings[0], *(item.options or ())))
    )
    monkeypatch.setattr(module, "_known", {})
    together = translate(texts, "es")
    monkeypatch.setattr(module, "_known", {})
    assert translate(texts[::-1], "es")[::-1] == together
    monkeypatch.setattr(module, "_known", {})
    assert [translate([text], "es")[0] for text in texts[::12]] == together[::12]
    assert not any("*" in text or "\n" in text for text in together)


@needs_engine
def test_names_survive_the_engine() -> None:
    names = sorted({*word_problems.NAMES, *bbh_style.PEOPLE, *commonsense.PEOPLE})
    said = translate([f"Yesterday {name} gave one pen to {name}." for name in names], "es")
    assert [name for name, text in zip(names, said, strict=True) if text.count(name) != 2] == []
    assert translate(["Seven is the mean."], "es") == ["Siete es la media."]
