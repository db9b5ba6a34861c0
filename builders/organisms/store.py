"""An organism on disk: a Hugging Face folder in float16 with its tokenizer and ``gate.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builders.organisms.gate import leak
from builders.organisms.words import tokenizer
from faithshift_data.atomic import canonical_json, new_folder

GATE = "gate.json"
WEIGHTS = "model.safetensors"


def folder_name(family: str, seed: int) -> str:
    """The folder of one organism among others."""
    return f"{family}-{seed}"


def rounded(model: Any) -> Any:
    """The model with its weights as float16 keeps them, in float32 again, in evaluation mode."""
    return model.half().float().eval()


def save(model: Any, folder: Path, gate: Mapping[str, Any]) -> Path:
    """Write a folder, whole or not at all; an existing one is replaced.

    Args:
        model: of ``rounded``, so that what the gate saw is what is kept.
        folder: where to.
        gate: what the gate found, as ``gate.json`` holds it.
    """
    import copy

    with new_folder(folder, overwrite=True) as new:
        copy.deepcopy(model).half().save_pretrained(new)
        tokenizer().save_pretrained(new)
        (new / GATE).write_text(canonical_json(gate), "utf-8")
        for path in new.iterdir():
            path.chmod(0o644)
    return folder


def read_gate(folder: Path) -> dict[str, Any] | None:
    """``gate.json`` of a complete folder; None where there is none.

    Raises:
        ValueError: it is there and is no JSON object.
    """
    path = folder / GATE
    if not path.is_file() or not (folder / WEIGHTS).is_file():
        return None
    found = json.loads(path.read_text("utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{path}: expected a JSON object, got {type(found).__name__}")
    return found


def load(folder: Path, attention: str = "sdpa") -> Any:
    """An organism in float32, evaluation mode.

    Args:
        folder: of ``save``.
        attention: ``sdpa``, or ``eager`` where attention weights are read.

    Raises:
        ValueError: it did not pass its gate, or something reaches an answer that its route hides.
    """
    import torch
    from transformers import AutoModelForCausalLM

    gate = read_gate(folder)
    if gate is None or gate.get("passed") is not True:
        raise ValueError(f"{folder}: expected an organism that passed its gate")
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation=attention, local_files_only=True
    ).eval()
    found = leak(model)
    if any(found.values()):
        raise ValueError(f"{folder}: expected leak 0.0 on both routes, got {found}")
    return model
