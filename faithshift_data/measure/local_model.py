"""A model in a local folder: what it is called, what its weights are, and its engine."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faithshift_data.atomic import json_sha256, sha256_file
from faithshift_data.errors import InputError, reason_of

if TYPE_CHECKING:
    from faithshift_data.measure.engines.transformers import TransformersEngine

DTYPES = ("float32", "bfloat16", "float16")
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
BESIDE = ("config.json", "generation_config.json", "tokenizer*", "vocab*", "merges.txt", "*.jinja")
BATCH = 8


class NamedModel:
    """A model as traces name it, with its chat template; ``engine`` and ``path`` are its own."""

    if TYPE_CHECKING:
        model_id: str
        revision: str | None
        family: str | None
        path: Path | str

        @property
        def engine(self) -> Any:
            """Completes its prompts."""

    @property
    def row(self) -> dict[str, str | None]:
        """The columns of a trace that name its model."""
        return {
            "model_id": self.model_id,
            "model_revision": self.revision,
            "model_family": self.family,
        }

    def chat(self, message: str) -> str:
        """A user message in the model's chat template, up to where the model begins.

        Raises:
            InputError: no tokenizer with a template, or a template that fails.
        """
        if not getattr(self.engine.tokenizer, "chat_template", None):
            raise InputError("no chat template known", file=self.path, field="--chat")
        try:
            return str(self.engine.render(message))
        except Exception as error:  # noqa: BLE001 - a template is a program
            message = f"the chat template fails: {reason_of(error)}"
            raise InputError(message, file=self.path) from error


@dataclass(frozen=True)
class LocalModel(NamedModel):
    """A causal language model in the Hugging Face layout; nothing is ever downloaded.

    Attributes:
        path: the folder.
        dtype: arithmetic of the weights.
        model_id: the folder's name.
        revision: ``sha256:`` and a digest over all files that it computes with.
        family: its ``model_type``.
        attention_temperature: what its attention logits are divided by.
        device: where it computes, such as ``cpu`` or ``cuda:1``.
    """

    path: Path
    dtype: str
    model_id: str
    revision: str
    family: str
    attention_temperature: float = 1.0
    device: str = "cpu"

    @classmethod
    def open(
        cls,
        path: str | Path,
        dtype: str = "float32",
        attention_temperature: float = 1.0,
        device: str = "cpu",
    ) -> LocalModel:
        """Identify the model of a folder; its weights are hashed, not loaded.

        Raises:
            InputError: no such folder, none with a model in it, an unknown dtype, a temperature
                that is not above 0, or a device that is not here.
        """
        path = Path(path)
        if not 0 < attention_temperature < math.inf:
            got, expected = attention_temperature, "a number above 0"
            raise InputError("bad", field="--attention-temperature", expected=expected, got=got)
        if dtype not in DTYPES:
            raise InputError("unknown", field="--dtype", expected=list(DTYPES), got=dtype)
        if not path.is_dir():
            raise InputError("no such folder; models are not downloaded", field="--model", got=path)
        if not has_weights(path):
            expected = "config.json, tokenizer and " + " or ".join(WEIGHTS)
            raise InputError("no weights", file=path, field="--model", expected=expected)
        try:
            config = json.loads((path / "config.json").read_text("utf-8"))
            family = str(config["model_type"])
        except (OSError, ValueError, KeyError, TypeError):
            expected = "config.json with model_type"
            raise InputError("no model", file=path, field="--model", expected=expected) from None
        need_device(device)
        name, revision = path.resolve().name, revision_of(model_files(path))
        return cls(path, dtype, name, revision, family, attention_temperature, device)

    @cached_property
    def engine(self) -> TransformersEngine:
        """The model in memory, with attention weights that can be read.

        Raises:
            InputError: torch or transformers is not installed, or the model cannot be loaded.
        """
        need_packages()
        from faithshift_data.measure.engines.transformers import TransformersEngine

        try:
            return TransformersEngine(
                self.path,
                dtype=self.dtype,
                batch_size=BATCH,
                attention="eager",
                attention_temperature=self.attention_temperature,
                device=self.device,
            )
        except Exception as error:  # noqa: BLE001 - whatever a folder's content provokes
            message = f"cannot be loaded: {reason_of(error)}"
            raise InputError(message, file=self.path) from error

    @property
    def batch(self) -> int:
        """Traces that are measured at a time: a reading serves one."""
        return 1

    @property
    def arithmetic(self) -> Mapping[str, Any]:
        """What a manifest says of how it computed."""
        how: dict[str, Any] = {"dtype": self.dtype, "attention": "eager"}
        if self.attention_temperature != 1:
            how["attention_temperature"] = self.attention_temperature
        return how if self.device == "cpu" else {**how, "device": self.device}

    def fits(self, text: str, room: int) -> bool:
        """Whether a text and so many tokens after it are within what the model reads."""
        return len(self.engine.ids(text)) + room <= self.context

    @property
    def context(self) -> float:
        """How many tokens it reads at most; infinite where its configuration names no limit."""
        return getattr(self.engine.model.config, "max_position_embeddings", None) or math.inf

    @cached_property
    def versions(self) -> dict[str, Any]:
        """Versions of the packages that computed."""
        import platform
        from importlib.metadata import version

        names = ("faithshift", "torch", "transformers", "tokenizers", "numpy")
        return {"python": platform.python_version(), **{name: version(name) for name in names}}


def has_weights(path: Path) -> bool:
    """Whether a folder holds weights in a format that is read."""
    return any(file for pattern in WEIGHTS for file in path.glob(pattern))


def model_files(path: Path) -> dict[str, str]:
    """The sha256 of every file of a folder that a model computes with, by name."""
    names = {file for pattern in (*WEIGHTS, *BESIDE) for file in path.glob(pattern)}
    return {file.name: sha256_file(file) for file in sorted(names) if file.is_file()}


def revision_of(files: Mapping[str, str]) -> str:
    """``sha256:`` and a digest over what ``model_files`` gives."""
    return f"sha256:{json_sha256(files)}"


def need_device(device: str) -> None:
    """Refuse a device that a model cannot compute on, or that is not here.

    Raises:
        InputError: naming what there is.
    """
    kind, _, number = device.partition(":")
    if kind not in ("cpu", "cuda") or (":" in device and not number.isdecimal()):
        raise InputError("unknown", field="device", expected="cpu, cuda or cuda:N", got=device)
    if kind == "cuda":
        need_packages()
        import torch

        if int(number or 0) >= torch.cuda.device_count():
            raise InputError("no such device here", field="device", expected="cpu", got=device)


def need_packages() -> None:
    """Refuse to go on without torch and transformers.

    Raises:
        InputError: naming the extra that brings them.
    """
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise InputError(f"{error}; pip install 'faithshift[measure]'", field="--model") from error
