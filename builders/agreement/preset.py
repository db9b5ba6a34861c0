"""Presets of a run that compares metrics: every number it depends on, one TOML file each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from builders.presets.uses import HUB, SourceUse, check_model, uses
from faithshift_data.measure.engines.registry import ENGINES
from faithshift_data.measure.local_model import DTYPES

ALL = ("all",)


@dataclass(frozen=True)
class AgreementPreset:
    """The settings of one run.

    Attributes:
        name: of the preset.
        version: of the run.
        item_seed: draws the questions, the same for all models.
        items: how many.
        items_sha256: what their list must hash to; empty while it is not frozen.
        sources: where they come from.
        wanted_models: how many models the design has.
        models: as in a build: folders, or ``ORG/NAME@COMMIT``; a name alone is not run.
        model_types: model -> ``thinking`` or ``instruct``, where that is stated and not found.
        elicitation: models that answer behind reasoning for a wrong option, with and without the
            cue, and behind filler without it; ``["all"]``: every one.
        wanted_elicitation: how many the design has, unless it is all.
        engine: that completes raw prompts.
        engine_options: arguments of the engine.
        dtype: arithmetic of the weights.
        instruction: the last line of a question.
        hint: the line that plants a wrong option; holds ``{target}``.
        answer_cue: what follows injected reasoning, except in conditions ``.../uncued``.
        wrong: reasoning for a wrong option; holds ``{target}``.
        filler_dots: in the place of the reasoning.
        truncations: percent of the hinted reasoning that is kept, each a condition.
        max_tokens: of a free generation, and of one behind injected text without the cue.
        answer_tokens: of one behind ``answer_cue``.
        temperature, top_p: sampling.
        chunk: questions that are asked together and kept together.

    Raises:
        ValueError: a value of the wrong type or out of range, named in one line.
    """

    name: str
    version: str
    item_seed: int
    items: int
    items_sha256: str
    sources: tuple[SourceUse, ...]
    wanted_models: int
    models: tuple[str, ...]
    model_types: dict[str, str]
    elicitation: tuple[str, ...]
    wanted_elicitation: int
    engine: str
    engine_options: dict[str, Any]
    dtype: str
    instruction: str
    hint: str
    answer_cue: str
    wrong: str
    filler_dots: int
    truncations: tuple[int, ...]
    max_tokens: int
    answer_tokens: int
    temperature: float
    top_p: float
    chunk: int

    def __post_init__(self) -> None:
        """Refuse what no run can be made from."""
        for name, kind in get_type_hints(type(self), globals()).items():
            value, wanted = getattr(self, name), get_origin(kind) or kind
            accepted = (int, float) if wanted is float else wanted
            good = isinstance(value, accepted) and not isinstance(value, bool)
            _expect(name, value, wanted.__name__, good)
            if wanted is int:
                least = 0 if name in ("item_seed", "wanted_elicitation") else 1
                _expect(name, value, f"at least {least}", value >= least)
        for name, allowed in (("engine", ENGINES), ("dtype", DTYPES)):
            value = getattr(self, name)
            _expect(name, value, f"one of {', '.join(allowed)}", value in allowed)
        for name in self.models:
            _expect("models", list(self.models), "names", isinstance(name, str) and bool(name))
            check_model(name)
        self._check_who()
        _expect("sources", list(self.sources), "at least one", bool(self.sources))
        _expect("hint", self.hint, "a line that holds {target}", self.hint.count("{target}") == 1)
        _expect("wrong", self.wrong, "reasoning that holds {target}", "{target}" in self.wrong)
        shares = all(type(each) is int and 0 <= each < 100 for each in self.truncations)
        distinct = len(set(self.truncations)) == len(self.truncations)
        _expect("truncations", list(self.truncations), "different percents", shares and distinct)
        _expect("temperature", self.temperature, "at least 0", 0 <= self.temperature < 100)
        _expect("top_p", self.top_p, "above 0, at most 1", 0 < self.top_p <= 1)

    def _check_who(self) -> None:
        # Every command of the builders imports this file, and few need what this one loads.
        from faithshift_bench.agreement.table import TYPES

        known, asked = set(self.models), self.elicitation
        distinct = all(isinstance(name, str) for name in asked) and len(set(asked)) == len(asked)
        good = asked == ALL or (distinct and set(asked) <= known)
        _expect("elicitation", list(asked), 'different ones of models, or ["all"]', good)
        typed = self.model_types
        good = set(typed) <= known and all(kind in TYPES for kind in typed.values())
        _expect("model_types", typed, f"a model = {' or '.join(TYPES)}", good)

    def elicits(self, model: str) -> bool:
        """Whether a model takes part in the elicitation experiment."""
        return self.elicitation == ALL or model in self.elicitation

    @property
    def elicited(self) -> int:
        """How many models the design has in that experiment."""
        named = max(self.wanted_elicitation, len(self.elicitation))
        return self.wanted_models if self.elicitation == ALL else named

    @property
    def runnable(self) -> tuple[str, ...]:
        """The models that are pinned: to a commit of the Hub, or by lying in a folder."""
        return tuple(
            name
            for name in self.models
            if name == "smollm2" or HUB.fullmatch(name) or Path(name).is_dir()
        )

    @property
    def generations(self) -> int:
        """Of a question and model: baseline, hinted, filler, one a truncation; no elicitation."""
        return 3 + len(self.truncations)


def names() -> list[str]:
    """The presets that ship."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.toml"))


def is_agreement(name: str) -> bool:
    """Whether a preset, by name or TOML file, is one of such a run."""
    path = Path(name)
    if path.suffix != ".toml" or not path.is_file():
        return name in names()
    try:
        return "truncations" in tomllib.loads(path.read_text("utf-8"))
    except ValueError:
        return False


def load_agreement(name: str) -> AgreementPreset:
    """A preset by name or by the path of a TOML file.

    Raises:
        ValueError: a missing or unknown key, or a value that no run can be made from.
    """
    path = Path(name) if name.endswith(".toml") else Path(__file__).parent / f"{name}.toml"
    data: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    known = {each.name for each in fields(AgreementPreset)}
    for key in sorted(known ^ set(data)):
        problem = "missing" if key in known else "unknown"
        raise ValueError(f"{path.name}: {problem} key {key!r}")
    try:
        data["sources"] = uses(data["sources"])
        data |= {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
        return AgreementPreset(**data)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def _expect(name: str, value: object, expected: str, good: bool) -> None:
    if not good:
        raise ValueError(f"{name}: expected {expected}, got {value!r}")
