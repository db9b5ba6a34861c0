"""Presets: every number a build depends on, one TOML file each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Preset:
    """The settings of one build.

    Attributes:
        name: of the preset and the dataset.
        version: of the data.
        item_seed: draws the candidates.
        pilot_seed, pilot_per_domain: the items on which prompts were chosen; never candidates.
        draw_seed: belongs to the data version; draws one calibration trace an item.
        candidates_per_domain: items screened.
        keep_per_domain: items kept.
        shares: share of train, validation and test.
        tune_share: share of the validation items that set tau.
        cue_format: format of the cued anchors.
        max_tokens, temperature, top_p: sampling of the reasoning.
        answer_dtype: arithmetic in which the model writes and answers.
        descriptor_dtype: arithmetic in which it is read for descriptors.
        screen_chunk, build_chunk: items a chunk; a result does not depend on the workers.
    """

    name: str
    version: str
    item_seed: int
    pilot_seed: int
    pilot_per_domain: int
    draw_seed: int
    candidates_per_domain: int
    keep_per_domain: int
    shares: dict[str, float]
    tune_share: float
    cue_format: str
    max_tokens: int
    temperature: float
    top_p: float
    answer_dtype: str
    descriptor_dtype: str
    screen_chunk: int
    build_chunk: int


def load_preset(name: str) -> Preset:
    """A preset by name or by the path of a TOML file.

    Raises:
        ValueError: no such preset, or a missing or unknown key, named in one line.
    """
    path = Path(name) if name.endswith(".toml") else Path(__file__).parent / f"{name}.toml"
    if not path.is_file():
        known = sorted(p.stem for p in Path(__file__).parent.glob("*.toml"))
        raise ValueError(f"preset {name!r}: expected one of {', '.join(known)} or a TOML file")
    data: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    wanted = {field.name for field in fields(Preset)}
    for key in sorted(wanted ^ set(data)):
        problem = "missing" if key in wanted else "unknown"
        raise ValueError(f"{path.name}: {problem} key {key!r}")
    return Preset(**data)
