"""What a build needs and this machine does not have."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator

from builders.axes import used
from builders.presets import Preset
from builders.translate import translate
from builders.weights import whereabouts

# Engine -> the package it needs, and the extra that installs it.
PACKAGES = {
    "transformers": ("transformers", "measure"),
    "vllm": ("vllm", "vllm"),
    "openai": ("openai", "judge"),
}


def lacking(preset: Preset) -> Iterator[str]:
    """One line for each model, program or device that is not here."""
    yield from model_faults(preset.models)
    yield from place_faults(preset.engine, preset.reader_device)
    if preset.engine == "vllm" and preset.reader_device == "cpu":
        yield "reader: it reads on the processor, while the hours of reading are those of a GPU"
    axes = used(preset.without, second=False, language=preset.language)
    for language in sorted({axis.language for axis in axes.values()} - {"en"}):
        try:
            translate(["One."], language)
        except (ValueError, OSError) as error:
            yield f"language axis: nothing translates into {language}: {error}"
    if preset.api_models:
        yield "api_models: an endpoint and a key for each; they are asked by `faithshift measure`"


def model_faults(names: Iterable[str]) -> Iterator[str]:
    """Models that are not here."""
    for name in names:
        try:
            whereabouts(name)
        except (ValueError, OSError) as error:
            yield f"models: {error}"


def place_faults(engine: str, device: str = "cpu") -> Iterator[str]:
    """What the engine, and a reader on a device, need of this place and do not find."""
    package, extra = PACKAGES[engine]
    if importlib.util.find_spec(package) is None:
        yield f"engine: {engine} is not installed (pip install 'faithshift[{extra}]')"
    if (engine == "vllm" or device != "cpu") and not _gpu():
        yield "device: no GPU here, which the hours are for"


def _gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())
