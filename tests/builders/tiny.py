"""A tiny model that writes sentences and answers, and a preset for it: builds in seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

import faithshift_data as fd
from tests.tiny_model import write_tiny_model

SENTENCES = tuple(f" {word} {n}." for word in ("Take", "Add", "Then", "So") for n in range(10))
# Where a line asks for an answer, it ends in one of these; what the model then says.
ANSWERS = {"(": ("A", "B", "C", "D"), "s": (" 3", " 7", " 12", " 40")}
PRESET = """
name = "tiny"
version = "0.0.1"
item_seed = 5
pilot_seed = 991
pilot_per_domain = 1
draw_seed = 1
candidates_per_domain = {candidates}
keep_per_domain = {candidates}
shares = {{ train = 0.4, validation = 0.3, test = 0.3 }}
tune_share = 0.333
label_rule = "construct+causal"
cue_format = "tag"
models = ["{model}"]
without = []
attempts = 3
max_tokens = 6
temperature = 0.7
top_p = 0.95
writer_dtype = "float32"
reader_dtype = "float32"
screen_chunk = 1
build_chunk = 1
"""


def write_talking_model(folder: Path, *, seed: int = 0) -> Path:
    """The tiny random model, its output leaning to whole sentences, and to answers where asked.

    The first components of every state are kept as the embedding sets them, and the output layer
    reads them as biases: the first of all tokens, the others of the tokens that ask.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    write_tiny_model(folder, seed=seed)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([*SENTENCES, *ANSWERS["s"]])
    model = AutoModelForCausalLM.from_pretrained(folder)
    torch.manual_seed(seed)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    ids = tokenizer.convert_tokens_to_ids
    embedding, head = model.model.embed_tokens.weight, model.lm_head.weight
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight[: len(ANSWERS) + 1] = 0.0
            layer.mlp.down_proj.weight[: len(ANSWERS) + 1] = 0.0
        head[ids(list(SENTENCES))] *= 0.2
        embedding[:, : len(ANSWERS) + 1] = head[:, : len(ANSWERS) + 1] = 0.0
        embedding[:, 0] = 8.0
        head[ids(list(SENTENCES)), 0] = 20.0
        for place, (asks, answers) in enumerate(ANSWERS.items(), start=1):
            embedding[ids(asks), place] = 8.0
            head[ids(list(answers)), place] = 50.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_tiny_preset(folder: Path, *, candidates: int = 1) -> Path:
    """The talking model and a preset that uses it: four times as many items, one a chunk."""
    model = write_talking_model(folder / "tiny-model")
    path = folder / "tiny.toml"
    path.write_text(PRESET.format(model=model, candidates=candidates))
    return path


def hashes(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a dataset."""
    return {name: info.sha256 for name, info in fd.open(folder).manifest.files.items()}


def untranslated(patch: pytest.MonkeyPatch) -> None:
    """Take English for every language, so that no engine has to be installed."""
    patch.setattr("builders.translate._engine", lambda texts, language: list(texts))
    patch.setattr("builders.translate._known", {})
