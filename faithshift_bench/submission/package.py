"""A package: scores and a statement, in a folder that is named by the hash of what it says.

The statement holds the card, the data that were scored, and the sha256 of the scores. Its own
sha256 is the package's id, so that the same content is the same package, wherever it is sent.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faithshift_bench.evaluation import data_hash
from faithshift_bench.submission.bounds import FORMATS, MAX_BYTES, open_regular, read_small
from faithshift_bench.submission.card import DetectorCard, check_card
from faithshift_data.atomic import canonical_json, json_sha256, new_folder, write_text
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_data import FaithShift

VERSION = 1
STATEMENT = "submission.json"
MAX_STATEMENT = 32 * 1024
ID = re.compile(r"[0-9a-f]{64}")
FILES = tuple(f"scores{suffix}" for suffix in FORMATS)
# What a board adds when it takes a package.
RECEIPT = "received.json"
_KEYS = ("version", "card", "data", "scores", "below_chance")


@dataclass(frozen=True)
class Package:
    """A submission before anybody has judged it.

    Attributes:
        card: of the detector.
        data: name, version and hash of what was scored.
        file: name of the scores in the package, ``scores.parquet`` or another of ``FILES``.
        sha256: of the scores' bytes.
        below_chance: an AUROC under .5 is meant.
    """

    card: DetectorCard
    data: Mapping[str, str]
    file: str
    sha256: str
    below_chance: bool = False

    @property
    def id(self) -> str:
        """The sha256 of the statement."""
        return json_sha256(self.statement())

    def statement(self) -> dict[str, Any]:
        """What the package says of itself, as plain values."""
        return {
            "version": VERSION,
            "card": self.card.to_dict(),
            "data": dict(self.data),
            "scores": {"file": self.file, "sha256": self.sha256},
            "below_chance": self.below_chance,
        }


def package_of(
    scores: Path, card: DetectorCard, data: FaithShift, *, below_chance: bool = False
) -> Package:
    """The package that these scores make."""
    suffix = scores.suffix.lower()
    return Package(card, about_data(data), f"scores{suffix}", _sha256(scores), below_chance)


def about_data(data: FaithShift) -> dict[str, str]:
    """What names a dataset folder: name, version, and the hash of its files."""
    manifest = data.manifest
    found = data_hash(manifest.files)
    return {"name": manifest.name, "version": manifest.version, "hash": found}


def check_statement(value: Any, source: str = STATEMENT) -> Package:
    """The package of which a statement speaks.

    Raises:
        InputError: one line for the first mistake.
    """
    if not isinstance(value, dict) or set(value) != set(_KEYS):
        expected = " | ".join(_KEYS)
        got = ", ".join(map(str, value)) if isinstance(value, dict) else type(value).__name__
        raise InputError("not a submission", file=source, expected=expected, got=ascii(got))
    if value["version"] != VERSION:
        _refuse(source, "version", VERSION, value["version"])
    data, scores = value["data"], value["scores"]
    if not _texts(data, ("name", "version", "hash")) or not ID.fullmatch(data["hash"]):
        _refuse(source, "data", "name, version and hash of the data", data)
    if not _texts(scores, ("file", "sha256")) or not ID.fullmatch(scores["sha256"]):
        _refuse(source, "scores", "file and sha256", scores)
    if scores["file"] not in FILES:
        _refuse(source, "scores.file", " | ".join(FILES), scores["file"])
    if not isinstance(value["below_chance"], bool):
        _refuse(source, "below_chance", "true or false", value["below_chance"])
    card = check_card(value["card"], "card")
    return Package(card, data, scores["file"], scores["sha256"], value["below_chance"])


def parse_statement(data: bytes, source: str = STATEMENT) -> Package:
    """The package of a statement's bytes; errors as in :func:`check_statement`."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deep"
        raise InputError("not JSON", file=source, expected="a JSON object", got=reason) from None
    return check_statement(value, source)


def write_package(package: Package, scores: Path, folder: Path) -> Path:
    """Write ``folder/<id>``, whole or not at all; one that is there already is left alone."""
    target = folder / package.id
    if not target.exists():
        with new_folder(target) as new:
            shutil.copyfile(scores, new / package.file)
            write_text(new / STATEMENT, canonical_json(package.statement()))
    return target


def read_package(folder: Path, name: str | None = None) -> Package:
    """The package of a folder, if its content is what its name says.

    Args:
        folder: with a statement, scores, and perhaps a board's receipt.
        name: its id; the folder's name where omitted.

    Raises:
        InputError: the folder's name is no id, a file is missing, too many, no plain file, or too
            large, or the content has another hash.
    """
    name = name or folder.name
    if not ID.fullmatch(name) or folder.is_symlink():
        got = "a link" if folder.is_symlink() else ascii(name)
        raise InputError("not a submission", file="folder", expected="64 hex digits", got=got)
    package = parse_statement(read_small(folder / STATEMENT, MAX_STATEMENT))
    names = {path.name for path in folder.iterdir()}
    for extra in sorted(names - {STATEMENT, package.file, RECEIPT}):
        raise InputError("a file too many", file=ascii(extra), expected=package.file)
    if package.id != name:
        expected = f"the content of {name[:12]}"
        raise InputError("other content", file=STATEMENT, expected=expected, got=package.id[:12])
    found = _sha256(folder / package.file)
    if found != package.sha256:
        raise InputError("other content", file=package.file, expected=package.sha256, got=found)
    return package


def _sha256(path: Path) -> str:
    digest, size = hashlib.sha256(), 0
    with open_regular(path) as file:
        while block := file.read(2**20):
            size += len(block)
            if size > MAX_BYTES:
                raise InputError("too large", file=path.name, expected=f"{MAX_BYTES} bytes at most")
            digest.update(block)
    return digest.hexdigest()


def _texts(value: Any, names: tuple[str, ...]) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == set(names)
        and all(isinstance(each, str) and 0 < len(each) <= 200 for each in value.values())
    )


def _refuse(source: str, field: str, expected: object, got: object) -> None:
    raise InputError("bad value", file=source, field=field, expected=expected, got=ascii(got))
