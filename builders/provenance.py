"""What made the data: versions, machine, and the arithmetic that its rounding depends on."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from builders.presets import Preset
from builders.weights import Weights

# What a trace's text or numbers can change with.
ENGINES = ("torch", "transformers", "tokenizers")
PACKAGES = ("faithshift", *ENGINES, "numpy", "reasoning-gym", "vllm")
# Instructions that decide in which order and width sums are rounded.
_ARITHMETIC = (
    "avx2",
    "fma",
    "avx512f",
    "avx512bw",
    "avx512_vnni",
    "avx512_bf16",
    "amx_bf16",
    "amx_tile",
    "asimd",
    "bf16",
    "sve",
)


@cache
def engine_versions() -> dict[str, str | None]:
    """Versions of all that writes, reads or translates; None where a program is not installed."""
    return {**{name: version_of(name) for name in ENGINES}, "apertium": _apertium()}


@cache
def machine() -> dict[str, Any]:
    """Architecture, CPU instructions relevant to rounding, versions: the maker of a chunk."""
    import torch

    return {
        "machine": platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cpu_flags": [flag for flag in _ARITHMETIC if flag in _cpu_flags()],
        "threads_per_process": 1,
        "python": platform.python_version(),
        "versions": {
            name: found
            for name, found in {
                **{name: version_of(name) for name in PACKAGES},
                "apertium": _apertium(),
            }.items()
            if found
        },
    }


def emulates(dtype: str) -> bool:
    """Whether this processor is known to have no arithmetic of a dtype, and imitates it slowly."""
    flags = _cpu_flags()
    return dtype == "bfloat16" and bool(flags) and not flags & {"avx512_bf16", "amx_bf16", "bf16"}


def environment(
    preset: Preset, models: Sequence[Weights], makers: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The manifest's ``environment``.

    Args:
        preset: for the arithmetic.
        models: sha256 of their files.
        makers: the machine of every chunk; each different one is listed once.
    """
    distinct: list[Mapping[str, Any]] = []
    for maker in makers:
        if maker not in distinct:
            distinct.append(maker)
    device = preset.reader_device
    return {
        "writer_dtype": preset.writer_dtype,
        "reader_dtype": preset.reader_dtype,
        **({} if device == "cpu" else {"reader_device": device}),
        "machines": sorted(distinct, key=str),
        "weights": {weights.model_id: dict(weights.files) for weights in models},
    }


def version_of(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def _apertium() -> str | None:
    program = shutil.which("apertium")
    if program is None:
        return None
    said = subprocess.run([program, "-V"], capture_output=True, text=True, check=False)
    return " ".join((said.stdout or said.stderr).split())[:80] or "unknown"


@cache
def _cpu_flags() -> frozenset[str]:
    """As Linux lists them; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return frozenset()
    named = (line.split(":", 1) for line in lines if ":" in line)
    return frozenset(
        flag
        for key, flags in named
        if key.strip() in ("flags", "Features")
        for flag in flags.split()
    )
