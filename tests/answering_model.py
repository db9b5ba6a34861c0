"""The tiny model, made to answer: A, B and C are the only tokens that it ever prefers."""

from __future__ import annotations

from pathlib import Path

from tests.tiny_model import write_tiny_model


def write_answering_model(folder: Path, *, seed: int = 0, hidden_size: int = 32) -> Path:
    """Save a tiny Llama whose greedy next token is a letter of three options, by the context.

    All other tokens get the logit 0, so that what is drawn at a temperature still varies. It reads
    up to 2,048 tokens.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    write_tiny_model(folder, seed=seed, hidden_size=hidden_size)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    head = model.get_output_embeddings().weight
    kept = tokenizer.convert_tokens_to_ids(["A", "B", "C"])
    with torch.no_grad():
        rows = head[kept].clone()
        head.zero_()
        head[kept] = rows
    model.config.max_position_embeddings = 2048
    model.save_pretrained(folder)
    return folder
