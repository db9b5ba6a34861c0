"""Engines by name; each is imported, and its packages with it, when it is asked for."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Engine

_HOME = "faithshift_data.measure.engines"
_CLASSES = {
    "transformers": ("TransformersEngine", "measure"),
    "vllm": ("VllmEngine", "vllm"),
    "openai": ("OpenAIEngine", "judge"),
}
ENGINES = tuple(_CLASSES)


def engine_class(name: str) -> type[Engine]:
    """The class of an engine.

    Raises:
        InputError: an unknown name, or one whose packages are not installed.
    """
    if name not in _CLASSES:
        raise InputError("unknown", field="engine", expected=list(ENGINES), got=name)
    kind, extra = _CLASSES[name]
    try:
        return getattr(import_module(f"{_HOME}.{name}"), kind)
    except ImportError as error:
        message = f"{error}; pip install 'faithshift[{extra}]'"
        raise InputError(message, field="engine", got=name) from error


def make_engine(name: str, model: str | Path, **options: Any) -> Engine:
    """An engine that is ready to complete prompts.

    Args:
        name: one of ``ENGINES``.
        model: a folder in the Hugging Face layout; for ``openai``, a name at the endpoint.
        options: keywords of the engine's class.

    Raises:
        InputError: an unknown engine or option, packages that are missing, or an engine that
            cannot be made from what is given.
    """
    kind = engine_class(name)
    known = list(inspect.signature(kind).parameters)[1:]
    for option in options:
        if option not in known:
            message = f"engine {name} has no such option"
            raise InputError(message, field=option, expected=", ".join(known))
    return kind(model, **options)  # type: ignore[call-arg]
