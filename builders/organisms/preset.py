"""Presets of the organisms' data: every number a build depends on, one TOML file each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from builders.organisms.conditions import VARIANTS
from builders.organisms.items import PARTS
from builders.organisms.model import FAMILIES


@dataclass(frozen=True)
class OrganismPreset:
    """The settings of one build.

    Attributes:
        preset: its name.
        name: of the dataset.
        version: of the data.
        seed: of the items' draw.
        families: of the models.
        models_per_family: wanted that pass; the first writes train, the last the other parts.
        most_seeds: tried in a family, from 0 on.
        items: of each part.
        variants_per_item: conditions beside the anchors.

    Raises:
        ValueError: a value of the wrong type or out of range, named in one line.
    """

    preset: str
    name: str
    version: str
    seed: int
    families: tuple[str, ...]
    models_per_family: int
    most_seeds: int
    items: dict[str, int]
    variants_per_item: int

    def __post_init__(self) -> None:
        """Refuse what no build can be made from."""
        for name, kind in get_type_hints(type(self)).items():
            value, wanted = getattr(self, name), get_origin(kind) or kind
            good = isinstance(value, wanted) and not isinstance(value, bool)
            _expect(name, value, wanted.__name__, good)
        known = set(self.families) <= set(FAMILIES) and len(set(self.families)) >= 2
        _expect("families", self.families, f"at least two of {', '.join(FAMILIES)}", known)
        _expect("seed", self.seed, "at least 0", self.seed >= 0)
        per, most = self.models_per_family, self.most_seeds
        _expect("models_per_family", per, "at least 2: one is held out", per >= 2)
        _expect("most_seeds", most, f"at least models_per_family, {per}", most >= per)
        counts = self.items.values()
        whole = list(self.items) == list(PARTS) and all(
            isinstance(count, int) and count >= 1 for count in counts
        )
        _expect("items", self.items, f"at least 1 of each of {', '.join(PARTS)}", whole)
        several = 0 <= self.variants_per_item <= len(VARIANTS)
        _expect("variants_per_item", self.variants_per_item, f"0 to {len(VARIANTS)}", several)


def names() -> list[str]:
    """The presets that ship."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.toml"))


def is_organisms(name: str) -> bool:
    """Whether a preset, by name or TOML file, is one of organisms."""
    path = Path(name)
    if path.suffix != ".toml" or not path.is_file():
        return name in names()
    try:
        return "families" in tomllib.loads(path.read_text("utf-8"))
    except ValueError:
        return False


def load_organisms(name: str) -> OrganismPreset:
    """A preset by name or by the path of a TOML file.

    Raises:
        ValueError: a missing or unknown key, or a value that no build can be made from.
    """
    path = Path(name) if name.endswith(".toml") else Path(__file__).parent / f"{name}.toml"
    data: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    known = {field.name for field in fields(OrganismPreset)} - {"preset"}
    for key in sorted(known ^ set(data)):
        problem = "missing" if key in known else "unknown"
        raise ValueError(f"{path.name}: {problem} key {key!r}")
    data |= {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
    try:
        return OrganismPreset(preset=path.stem, **data)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def _expect(name: str, value: object, expected: str, good: bool) -> None:
    if not good:
        raise ValueError(f"{name}: expected {expected}, got {value!r}")
