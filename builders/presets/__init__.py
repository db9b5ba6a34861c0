"""Presets: every number a build depends on, one TOML file each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from builders.presets.uses import SourceUse, check_model, default_of, preset_from
from faithshift_data.measure.engines.registry import ENGINES
from faithshift_data.measure.local_model import DTYPES
from faithshift_data.schema import SPLITS, LabelRule

LABEL_RULES = (str(LabelRule.CONSTRUCT_CAUSAL), str(LabelRule.CONSTRUCT))
# What decides which items are asked and where they go, but not what a model says about one.
_AROUND = (
    "name",
    "version",
    "item_seed",
    "secret",
    "pilot_seed",
    "pilot_per_domain",
    "draw_seed",
    "candidates_per_domain",
    "keep_per_domain",
    "shares",
    "tune_share",
    "models",
    "screen_chunk",
    "build_chunk",
    "sources",
    "items_sha256",
    "all_write",
    "api_models",
)


@dataclass(frozen=True)
class Preset:
    """The settings of one build.

    Attributes:
        name: of the preset and the dataset.
        version: of the data.
        item_seed: draws the candidates; of a secret set it follows from the salt.
        secret: whether items and ids follow from a salt, and labels are withheld.
        pilot_seed, pilot_per_domain: the items on which prompts were chosen; never candidates.
        draw_seed: belongs to the data version; draws one calibration trace an item.
        candidates_per_domain: items screened; of a source where there are ``sources``.
        keep_per_domain: items kept.
        shares: share of train, validation and test.
        tune_share: share of the validation items that set tau.
        label_rule: the rule that decides labels; the manifest counts both.
        cue_format: format of the cued anchors.
        models: the writer, then optionally a second one: ``smollm2``, a Hugging Face folder, or
            ``ORG/NAME@COMMIT`` for a model of the Hub.
        without: names of axes that are left out.
        attempts: generations tried until a trace has what it needs.
        max_tokens, temperature, top_p: sampling of the reasoning.
        writer_dtype: arithmetic in which the reasoning is written.
        reader_dtype: arithmetic in which it is read: forced answers and descriptors.
        reader_device: where it is read, such as ``cpu`` or ``cuda``.
        screen_chunk, build_chunk: items a chunk; a result does not depend on the workers.
        sources: where items come from; none for those that this project generates.
        items_sha256: what the list of drawn items must hash to; empty while it is not frozen.
        all_write: whether every model, of any number, writes all conditions.
        api_models: hosted models, which have no hidden states; counted, not built.
        engine: who writes; transformers reads in any case.
        engine_options: arguments of the engine that writes.
        language: of the language axis.

    Raises:
        ValueError: a value of the wrong type or out of range, named in one line.
    """

    name: str
    version: str
    item_seed: int = field(repr=False)
    pilot_seed: int
    pilot_per_domain: int
    draw_seed: int
    candidates_per_domain: int
    keep_per_domain: int
    shares: dict[str, float]
    tune_share: float
    label_rule: str
    cue_format: str
    models: tuple[str, ...]
    without: tuple[str, ...]
    attempts: int
    max_tokens: int
    temperature: float
    top_p: float
    writer_dtype: str
    reader_dtype: str
    screen_chunk: int
    build_chunk: int
    secret: bool = False
    sources: tuple[SourceUse, ...] = ()
    items_sha256: str = ""
    all_write: bool = False
    api_models: tuple[str, ...] = ()
    engine: str = "transformers"
    reader_device: str = "cpu"
    engine_options: dict[str, Any] = field(default_factory=dict)
    language: str = "es"

    def __post_init__(self) -> None:
        """Refuse what no build can be made from."""
        for name, kind in get_type_hints(type(self), globals()).items():
            value, wanted = getattr(self, name), get_origin(kind) or kind
            accepted = (int, float) if wanted is float else wanted
            _expect(name, value, wanted.__name__, isinstance(value, accepted))
            _expect(name, value, wanted.__name__, isinstance(value, bool) == (wanted is bool))
            if wanted is int:
                least = 0 if name.endswith("seed") or name == "pilot_per_domain" else 1
                _expect(name, value, f"at least {least}", value >= least)
        from builders.axes.language import LANGUAGES
        from builders.prompts import CUE_FORMATS

        for name, allowed in (
            ("label_rule", LABEL_RULES),
            ("cue_format", tuple(CUE_FORMATS)),
            ("writer_dtype", DTYPES),
            ("reader_dtype", DTYPES),
            ("engine", ENGINES),
            ("language", LANGUAGES),
        ):
            value = getattr(self, name)
            _expect(name, value, f"one of {', '.join(allowed)}", value in allowed)
        placed = re.fullmatch(r"cpu|cuda(:\d+)?", self.reader_device)
        _expect("reader_device", self.reader_device, "cpu, cuda or cuda:N", bool(placed))
        _expect("tune_share", self.tune_share, "0 to 1", 0 <= self.tune_share <= 1)
        _expect("top_p", self.top_p, "above 0, at most 1", 0 < self.top_p <= 1)
        _expect("temperature", self.temperature, "at least 0", 0 <= self.temperature < 100)
        whole = set(self.shares) == set(SPLITS) and all(
            isinstance(share, int | float) and share >= 0 for share in self.shares.values()
        )
        adds_up = whole and abs(sum(self.shares.values()) - 1) < 1e-9
        _expect("shares", self.shares, f"shares of {', '.join(SPLITS)} that sum to 1", adds_up)
        named = all(isinstance(name, str) and name for name in self.models) and self.models
        several = 1 <= len(self.models) <= 2 or self.all_write
        number = "names or folders" if self.all_write else "one or two names or folders"
        _expect("models", list(self.models), number, bool(named) and several)
        for name in self.models:
            check_model(name)
        texts = all(isinstance(name, str) and name for name in self.api_models)
        _expect("api_models", list(self.api_models), "names", texts)
        plain = all(isinstance(v, str | int | float | bool) for v in self.engine_options.values())
        _expect("engine_options", self.engine_options, "a flat table", plain)
        digest = not self.items_sha256 or re.fullmatch("[0-9a-f]{64}", self.items_sha256)
        _expect("items_sha256", self.items_sha256, "64 hex digits", bool(digest))
        _expect("secret", self.secret, "false with sources", not (self.secret and self.sources))
        from builders.axes import registry

        names = sorted({axis.name for axis in registry().values()})
        known = all(name in names for name in self.without)
        _expect("without", list(self.without), f"some of {', '.join(names)}", known)
        candidates = self.candidates_per_domain
        _expect(
            "keep_per_domain",
            self.keep_per_domain,
            f"at most candidates_per_domain, {candidates}",
            self.keep_per_domain <= candidates,
        )

    def generation(self) -> Mapping[str, Any]:
        """The fields that decide what models say about a given item.

        Empty ones say nothing, and neither do those that are as they are where no preset names
        them: a field that is new changes no digest of a preset that does without it.
        """
        unsaid = {
            each.name
            for each in fields(self)
            if each.name in _AROUND or getattr(self, each.name) in ((), default_of(each))
        }
        return {key: value for key, value in asdict(self).items() if key not in unsaid}


def load_preset(name: str) -> Preset:
    """A preset by name or by the path of a TOML file.

    Raises:
        ValueError: no such preset, no TOML, a missing or unknown key, or a value that no build
            can be made from; named in one line.
    """
    path = Path(name) if name.endswith(".toml") else Path(__file__).parent / f"{name}.toml"
    if not path.is_file():
        known = sorted(p.stem for p in Path(__file__).parent.glob("*.toml"))
        raise ValueError(f"preset {name!r}: expected one of {', '.join(known)} or a TOML file")
    return preset_from(path, Preset)


def _expect(name: str, value: object, expected: str, good: bool) -> None:
    if not good:
        raise ValueError(f"{name}: expected {expected}, got {value!r}")
