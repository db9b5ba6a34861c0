"""The engine that writes for a preset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builders.weights import Weights
from faithshift_data.measure.engines import Engine
from faithshift_data.measure.engines.registry import make_engine


def engine_for(weights: Weights, name: str, options: Mapping[str, Any], dtype: str) -> Engine:
    """A model behind an engine.

    An endpoint is asked for the model by its id, or by ``model`` of the options; its prompts are
    rendered with the tokenizer of the folder.

    Args:
        weights: the model.
        name: of the engine.
        options: its arguments.
        dtype: arithmetic of the weights, where the options say none.

    Raises:
        InputError: an engine that is not installed, an option it does not have, or a model it
            cannot load.
    """
    if name == "openai":
        known = {"tokenizer": str(weights.path), **options}
        return make_engine(name, known.pop("model", weights.model_id), **known)
    return make_engine(name, weights.path, **{"dtype": dtype, **options})
