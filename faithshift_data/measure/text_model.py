"""A model that gives text alone: behind vLLM or an endpoint, it stands where a local model does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Engine
from faithshift_data.measure.engines.probe import Capability, refuse_unfit
from faithshift_data.measure.engines.registry import ENGINES, make_engine
from faithshift_data.measure.local_model import LocalModel, NamedModel

# Traces a submission: an engine orders their prompts better than we could.
BATCH = 256


@dataclass(frozen=True)
class TextModel(NamedModel):
    """A black box: answers are forced, states are not read.

    Attributes:
        engine: completes its prompts.
        model_id: the folder's name, or the name at the endpoint.
        revision, family: of a folder; None behind an endpoint, which does not say.
        dtype: arithmetic of the weights; None where nobody says.
        path: the folder or the endpoint, for messages.
        context: how many tokens it reads at most; infinite where nobody says.
    """

    engine: Engine
    model_id: str
    revision: str | None
    family: str | None
    dtype: str | None
    path: str
    context: float = math.inf

    @property
    def batch(self) -> int:
        """Traces a submission."""
        return BATCH

    @property
    def arithmetic(self) -> Mapping[str, Any]:
        """What a manifest says of how it computed, and that no states were read."""
        return {"engine": self.engine.facts(), "states": "not read: a black box gives text alone"}

    @cached_property
    def capability(self) -> Capability | None:
        """What a probe finds; asked before anything is injected.

        Raises:
            InputError: injected text is not continued.
        """
        return refuse_unfit(self.engine)

    def fits(self, text: str, room: int) -> bool:
        """Whether a text and so many tokens after it are within what the model reads."""
        return math.isinf(self.context) or len(self.engine.ids(text)) + room <= self.context

    @cached_property
    def versions(self) -> dict[str, Any]:
        """Versions of what computed, as far as it is known."""
        import platform
        from importlib.metadata import version

        return {
            "python": platform.python_version(),
            "faithshift": version("faithshift"),
            self.engine.name: self.engine.version,
        }


def open_model(
    model: str,
    *,
    engine: str = "transformers",
    dtype: str = "float32",
    url: str | None = None,
    tokenizer: Path | None = None,
    attention_temperature: float = 1.0,
    device: str = "cpu",
) -> LocalModel | TextModel:
    """The model that an engine's name and a model's name stand for.

    Args:
        model: a folder in the Hugging Face layout; for ``openai``, the name at the endpoint.
        engine: one of ``ENGINES``.
        dtype: arithmetic of a local model.
        url: of the endpoint; for ``openai`` alone.
        tokenizer: a folder with the tokenizer of the model at the endpoint.
        attention_temperature: for ``transformers`` alone.
        device: for ``transformers`` alone.

    Raises:
        InputError: an unknown engine, an option that is not the engine's, or no such model.
    """
    if engine not in ENGINES:
        raise InputError("unknown", field="--engine", expected=", ".join(ENGINES), got=engine)
    for name, given in (
        ("--attention-temperature", attention_temperature != 1),
        ("--device", device != "cpu"),
    ):
        if engine != "transformers" and given:
            raise InputError(f"engine {engine} has no such option", field=name)
    if engine == "openai":
        served = make_engine("openai", model, base_url=url, tokenizer=tokenizer)
        return TextModel(served, model, None, None, None, served.facts()["endpoint"])
    for name, value in (("--url", url), ("--tokenizer", tokenizer)):
        if value is not None:
            raise InputError(f"engine {engine} has no such option", field=name)
    local = LocalModel.open(model, dtype, attention_temperature, device)
    if engine == "transformers":
        return local
    made: Any = make_engine(engine, local.path, dtype=dtype)
    known = {"model_id": local.model_id, "revision": local.revision, "family": local.family}
    return TextModel(made, **known, dtype=dtype, path=str(local.path), context=made.context)
