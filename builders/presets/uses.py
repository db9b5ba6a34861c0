"""A preset from its file; what it says of the sources of its items and of its models, checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<revision>[0-9a-f]{40})")
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class SourceUse:
    """One source of a preset.

    Attributes:
        name: a source of ``builders/sources``.
        items: how many; 0 for the preset's ``candidates_per_domain``.
        revision: a commit of the Hub other than the one the source is pinned to.
        path: a local copy: a folder of the Hub's shape, or a file of questions.
        licence: of own questions; a source of the Hub has its own.
        options: take only questions with exactly so many options; 0 for all.
        tasks: take only these parts of the source; none for all.

    Raises:
        ValueError: a value that is not of its kind, named in one line.
    """

    name: str
    items: int = 0
    revision: str = ""
    path: str = ""
    licence: str = ""
    options: int = 0
    tasks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no items can be drawn from."""
        from builders.sources.known import known

        sources = known()
        _expect("name", self.name, f"one of {', '.join(sorted(sources))}", self.name in sources)
        for key in ("items", "options"):
            value = getattr(self, key)
            good = isinstance(value, int) and not isinstance(value, bool) and value >= 0
            self._need(key, "a number from 0 on", good)
        for key in ("revision", "path", "licence"):
            self._need(key, "a text", isinstance(getattr(self, key), str))
        texts = isinstance(self.tasks, tuple) and all(isinstance(each, str) for each in self.tasks)
        self._need("tasks", "a list of names", texts)
        pinned = sources[self.name].revision
        commit = COMMIT.fullmatch(self.revision) is not None
        self._need("revision", "40 hex digits, a commit", not self.revision or commit)
        self._need("revision", "none: it has no commits", not self.revision or bool(pinned))
        if self.name == "jsonl":
            self._need("path", "a file of questions", bool(self.path))

    def _need(self, key: str, expected: str, good: bool) -> None:
        _expect(f"{self.name}: {key}", getattr(self, key), expected, good)


def preset_from(path: Path, kind: type[T]) -> T:
    """A preset of a kind from a TOML file; keys whose field has a default may be left out.

    Raises:
        ValueError: no TOML, a missing or unknown key, or a value that nothing can be made from;
            named in one line.
    """
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name}: not a TOML file: {error}") from None
    known = {each.name: default_of(each) is MISSING for each in fields(kind)}  # type: ignore[arg-type]
    needed = {name for name, required in known.items() if required}
    for key in sorted((needed - set(data)) | (set(data) - set(known))):
        problem = "missing" if key in needed else "unknown"
        raise ValueError(f"{path.name}: {problem} key {key!r}")
    try:
        data["sources"] = uses(data.get("sources", []))
        data |= {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
        return kind(**data)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def default_of(each: Field[Any]) -> Any:
    """What a field of a preset is where its file does not name it; MISSING if it has to."""
    return each.default if each.default_factory is MISSING else each.default_factory()


def uses(tables: Any) -> tuple[SourceUse, ...]:
    """The sources of a preset from its ``sources`` key.

    Raises:
        ValueError: not a list of tables, an unknown key, or a value that is not of its kind.
    """
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ValueError(f"sources: expected a list of tables, got {tables!r}")
    allowed = [field.name for field in fields(SourceUse)]
    found = []
    for table in tables:
        for key in table:
            if key not in allowed:
                raise ValueError(f"sources: unknown key {key!r}, expected {', '.join(allowed)}")
        if "name" not in table:
            raise ValueError("sources: missing key 'name'")
        values = {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}
        try:
            found.append(SourceUse(**values))
        except ValueError as error:
            raise ValueError(f"sources: {error}") from None
    return tuple(found)


def local_copies(sources: Sequence[SourceUse], folder: Path) -> tuple[SourceUse, ...]:
    """The same sources, those of the Hub read from ``folder/NAME`` instead.

    Raises:
        ValueError: there is no such folder for one of them.
    """
    from builders.sources.known import known

    found = []
    for use in sources:
        path = folder / use.name
        if known()[use.name].revision and not use.path:
            if not path.is_dir():
                raise ValueError(f"--copies: expected a folder {path}, a copy of what the Hub has")
            use = replace(use, path=str(path))
        found.append(use)
    return tuple(found)


def check_model(name: str) -> None:
    """Refuse a model of the Hub that is not pinned to a commit.

    Raises:
        ValueError: an ``@`` without a commit behind it.
    """
    if "@" in name and not HUB.fullmatch(name):
        raise ValueError(f"models: expected ORG/NAME@COMMIT with 40 hex digits, got {name!r}")


def _expect(name: str, value: object, expected: str, good: bool) -> None:
    if not good:
        raise ValueError(f"{name}: expected {expected}, got {value!r}")
