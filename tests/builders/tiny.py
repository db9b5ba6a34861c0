"""A tiny model that writes sentences and answers, and a preset for it: builds in seconds."""

from __future__ import annotations

from pathlib import Path

from tests.tiny_model import write_tiny_model

SENTENCES = tuple(f" {word} {n}." for word in ("Take", "Add", "Then", "So") for n in range(10))
ANSWERS = ("A", "B", "C", "D", "1", "2", "7", " 3", " 12")
PRESET = """
name = "tiny"
version = "0.0.1"
item_seed = 5
pilot_seed = 991
pilot_per_domain = 1
draw_seed = 1
candidates_per_domain = {candidates}
keep_per_domain = {kept}
shares = {{ train = 0.4, validation = 0.3, test = 0.3 }}
tune_share = 0.333
label_rule = "construct+causal"
cue_format = "tag"
models = ["{model}"]
attempts = 3
max_tokens = 8
temperature = 0.7
top_p = 0.95
writer_dtype = "float32"
reader_dtype = "float32"
screen_chunk = 4
build_chunk = 2
"""


def write_talking_model(folder: Path, *, seed: int = 0) -> Path:
    """The tiny random model, its output leaning to whole sentences and short answers.

    Every state keeps one constant component, which the output layer reads as a bias.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    write_tiny_model(folder, seed=seed)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([*SENTENCES, *(text for text in ANSWERS if len(text) > 1)])
    model = AutoModelForCausalLM.from_pretrained(folder)
    torch.manual_seed(seed)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    sentences, answers = map(tokenizer.convert_tokens_to_ids, (list(SENTENCES), list(ANSWERS)))
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = 8.0
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight[0] = layer.mlp.down_proj.weight[0] = 0.0
        model.lm_head.weight *= 0.2
        model.lm_head.weight[:, 0] = -20.0
        model.lm_head.weight[sentences, 0] = 20.0
        model.lm_head.weight[answers, 0] = 20.6
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_tiny_preset(folder: Path, *, candidates: int = 4, kept: int = 2) -> Path:
    """The talking model and a preset of a few items that uses it."""
    model = write_talking_model(folder / "tiny-model")
    path = folder / "tiny.toml"
    path.write_text(PRESET.format(model=model, candidates=candidates, kept=kept))
    return path
