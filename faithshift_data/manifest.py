"""The manifest: what a dataset folder holds, how it was made, and the sha256 of each file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from faithshift_data.atomic import canonical_json, write_text
from faithshift_data.errors import InputError
from faithshift_data.schema import SCHEMA_VERSION, Kind, Mode

MANIFEST_VERSION = 1
MANIFEST = "manifest.json"
T = TypeVar("T")


@dataclass(frozen=True)
class ModelInfo:
    """A model that wrote traces: id, revision, family, licence, where it came from."""

    model_id: str
    revision: str | None = None
    family: str | None = None
    licence: str | None = None
    origin: str | None = None


@dataclass(frozen=True)
class SourceInfo:
    """A source of items: name, licence, where it came from."""

    name: str
    licence: str | None = None
    origin: str | None = None


@dataclass(frozen=True)
class AxisInfo:
    """A transformation axis: its name, intended kind, mode, and the file that makes it."""

    name: str
    kind: str
    mode: str | None = None
    file: str | None = None

    def __post_init__(self) -> None:
        """Refuse values outside the closed vocabularies."""
        _one_of("axes.kind", self.kind, tuple(Kind))
        _one_of("axes.mode", self.mode, (*Mode, None))


@dataclass(frozen=True)
class DescriptorInfo:
    """A stored descriptor: resolution (step or trace), dtype, row shape, channel names.

    ``positions`` says of which words it is: the reasoning's, or also the answer's. The latter are
    not a detector's to read.
    """

    resolution: str
    dtype: str
    shape: tuple[int, ...]
    channels: tuple[str, ...] = ()
    positions: str = "reasoning"

    def __post_init__(self) -> None:
        """Refuse values outside the closed vocabularies."""
        _one_of("descriptors.resolution", self.resolution, ("step", "trace"))
        _one_of("descriptors.positions", self.positions, ("reasoning", "answer"))


@dataclass(frozen=True)
class Withheld:
    """What a folder withholds of its labels.

    Attributes:
        parts: of ``calib`` and ``test``: whose rows say nothing of labels, conditions and pairs.
        probes: the interventions that every such trace has, named as in a view's profile.
        commitment: HMAC-SHA256 of the key's files under the secret salt: shows afterwards that
            the labels are those of the day of publication.
        controls: how well length and words alone tell the withheld labels, by detector: ``auroc``
            with ``low`` and ``high`` (95%), ``n_traces``, ``n_items``, ``reason`` where undefined.
    """

    parts: tuple[str, ...]
    probes: tuple[str, ...] = ()
    commitment: str | None = None
    controls: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse parts that cannot be withheld, or none."""
        _one_of("withheld.parts", self.parts, (("calib", "test"), ("calib",), ("test",)))


@dataclass(frozen=True)
class FileInfo:
    """A file's sha256, size in bytes, and rows (None where it is not a table)."""

    sha256: str
    bytes: int
    rows: int | None = None


@dataclass(frozen=True)
class Manifest:
    """Contents of ``manifest.json``. Unknown keys are refused, not ignored.

    ``audit`` holds what was checked: ``rules`` (pairs by axis and check), ``human`` (agreement
    of annotators and the labels' ``residual_error``), ``gates`` (what a model did before it might
    write), ``text`` and ``probes`` (how well words, and linear probes of the states, tell the
    labels), each only where it was made.
    ``languages`` are codes such as ``en``; ``notes`` are what the card must say beside what it
    counts.
    ``withheld`` says which labels are not there; a folder that holds them names, in ``key_of``,
    the sha256 of the other's files.
    """

    name: str
    version: str
    draw_seed: int = 0
    preset: str | None = None
    licence: str | None = None
    label_rule: str | None = None
    languages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    models: tuple[ModelInfo, ...] = ()
    sources: tuple[SourceInfo, ...] = ()
    axes: tuple[AxisInfo, ...] = ()
    counts: Mapping[str, Any] = field(default_factory=dict)
    label_counts: Mapping[str, Any] = field(default_factory=dict)
    drops: Mapping[str, Any] = field(default_factory=dict)
    screening: Mapping[str, Any] = field(default_factory=dict)
    audit: Mapping[str, Any] = field(default_factory=dict)
    seeds: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    descriptors: Mapping[str, DescriptorInfo] = field(default_factory=dict)
    files: Mapping[str, FileInfo] = field(default_factory=dict)
    withheld: Withheld | None = None
    key_of: str | None = None
    manifest_version: int = MANIFEST_VERSION
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        """Refuse another manifest or schema version."""
        for key, known in (
            ("manifest_version", MANIFEST_VERSION),
            ("schema_version", SCHEMA_VERSION),
        ):
            _version(key, known, getattr(self, key))

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Names in the axes table, in its order."""
        return tuple(axis.name for axis in self.axes)

    @property
    def measured_with(self) -> Mapping[str, Any]:
        """What `faithshift measure` read the traces with; empty where it did not."""
        found = self.environment.get("measured_with")
        return found if isinstance(found, Mapping) else {}

    @property
    def not_measured(self) -> int:
        """Traces that a measurement left without descriptors, each counted with its reason."""
        reasons = self.counts.get("not_measured")
        counts = reasons.values() if isinstance(reasons, Mapping) else ()
        return sum(count for count in counts if isinstance(count, int))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Manifest:
        """A manifest from plain JSON values.

        Raises:
            InputError: an unknown or missing key, at any level that has a fixed form.
        """
        data = dict(data)
        # A newer manifest may hold keys that this version does not know: say the reason first.
        if "manifest_version" in data:
            _version("manifest_version", MANIFEST_VERSION, data["manifest_version"])
        for key, kind in _LISTS.items():
            if key in data:
                data[key] = tuple(_build(kind, row, key) for row in data[key])
        for key, kind in _TABLES.items():
            if key in data:
                data[key] = {
                    name: _build(kind, row, f"{key}.{name}") for name, row in data[key].items()
                }
        if data.get("withheld") is not None:
            data["withheld"] = _build(Withheld, data["withheld"], "withheld")
        return _build(cls, data, "")

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """The manifest of a JSON file; every fault is an InputError naming the file."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text("utf-8")))
        except InputError as error:
            raise InputError(
                error.message,
                file=path,
                field=error.field,
                expected=error.expected,
                got=error.got,
            ) from None
        except FileNotFoundError:
            raise InputError("no such file", file=path) from None
        except RecursionError:
            raise InputError("not a manifest: nested too deeply", file=path) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=path) from None
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(f"not a manifest: {error}", file=path) from None

    def to_json(self) -> str:
        """Canonical JSON: equal manifests give equal bytes."""
        return canonical_json(asdict(self))

    def write(self, path: Path) -> None:
        """Write the canonical JSON, atomically."""
        write_text(path, self.to_json())


_LISTS: dict[str, type] = {"models": ModelInfo, "sources": SourceInfo, "axes": AxisInfo}
_TABLES: dict[str, type] = {"descriptors": DescriptorInfo, "files": FileInfo}


def _build(kind: type[T], row: Any, where: str) -> T:
    if isinstance(row, kind):
        return row
    if not isinstance(row, Mapping):
        raise InputError("not an object", field=where or None, got=row)
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for name in row:
        if name not in known:
            raise InputError("unknown key", field=".".join(filter(None, [where, str(name)])))
    for name, spec in known.items():
        if name not in row and spec.default is MISSING and spec.default_factory is MISSING:
            raise InputError("missing key", field=".".join(filter(None, [where, name])))
    frozen = {key: tuple(v) if isinstance(v, list) else v for key, v in row.items()}
    return kind(**frozen)


def _version(key: str, known: int, got: object) -> None:
    if isinstance(got, int) and got > known:
        message = "made by a newer version of faithshift; upgrade it"
        raise InputError(message, field=key, expected=known, got=got)
    if got != known:
        raise InputError("made by another version", field=key, expected=known, got=got)


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise InputError("not allowed", field=name, expected=list(map(str, allowed)), got=value)


def inside(folder: Path, name: str) -> Path:
    """The path of a file of the folder.

    A snapshot in the Hub's cache consists of links into ``blobs`` beside it; those are followed.

    Raises:
        InputError: ``name`` is absolute or leads out of the folder, also through a link.
    """
    path, base = Path(folder) / name, Path(folder).resolve()
    roots = [base, base.parents[1] / "blobs"] if base.parent.name == "snapshots" else [base]
    leads_out = Path(name).is_absolute() or os.path.normpath(name).split(os.sep)[0] == os.pardir
    if leads_out or not any(path.resolve().is_relative_to(root) for root in roots):
        raise InputError("path outside the folder", file=folder, got=name)
    return path
