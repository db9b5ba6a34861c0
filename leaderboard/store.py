"""The one truth of a board: a folder to which things are added, and from which none is taken.

``submissions/<id>/`` is a package with the receipt ``received.json``; ``entries/<id>.json`` is
what came of it, ``rejections/<id>.json`` why nothing did. Each appears whole, under its final
name, after it has reached the disk. The queue is what has neither; limits are counted from
receipts. A killed process leaves at most a hidden temporary file, which the next one removes.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from faithshift_bench.submission.package import (
    ID,
    RECEIPT,
    STATEMENT,
    Package,
    read_package,
)
from faithshift_data.atomic import canonical_json, new_folder, write_text
from faithshift_data.errors import InputError
from leaderboard.limits import Attempt, Limits, check_limits
from leaderboard.names import check_free

SUBMISSIONS, ENTRIES, REJECTIONS = "submissions", "entries", "rejections"
Kinds = Mapping[str, type | tuple[type, ...]]
# What files hold, as far as a board rests on it.
SAID: Kinds = {"card": dict, "data": dict}
RECEIVED: Kinds = {"at": str, "submitter": str, "control": bool}
REJECTED: Kinds = {"id": str, "reason": str, "at": str}
ENTERED: Kinds = {
    **dict.fromkeys(
        ("card", "data", "settings", "full", "certified", "axes", "domains", "n"), dict
    ),
    **dict.fromkeys(("id", "submitted", "metric"), str),
    **dict.fromkeys(("seeds_certified", "why", "validation_auroc"), object),
    **{"version": int, "control": bool, "risk": list, "bits": (int, float)},
}


class Receipt(NamedTuple):
    """The id of a submission that is on the disk, and whether it came just now."""

    id: str
    new: bool


@dataclass(frozen=True)
class Store:
    """A board's folder; any number of processes may use it at once.

    Attributes:
        folder: made where it is not there.
        limits: of submissions.
    """

    folder: Path
    limits: Limits = field(default_factory=Limits)

    def receive(
        self,
        package: Package,
        scores: Path,
        *,
        submitter: str | None = None,
        control: bool = False,
        now: datetime | None = None,
    ) -> Receipt:
        """Take a package, and return once it would survive a power cut.

        Args:
            package: as parsed; its scores need not be checked yet.
            scores: the file with its scores.
            submitter: who sends it, where the board knows better than the card; in small letters.
            control: a control of the board's keeper; not counted, and shown as one.
            now: the time, UTC.

        Returns:
            Its receipt; not new where the same content was taken before.

        Raises:
            InputError: one submission too many, a control's name, other bytes than the statement
                says, or a folder that cannot be written.
        """
        at = now or datetime.now(UTC)
        who = (submitter or package.card.contact).strip().lower()
        receipt = {"at": at.isoformat(timespec="seconds"), "submitter": who, "control": control}
        with self._alone():
            target = self.path(package.id)
            if target.exists():
                return Receipt(package.id, new=False)
            if not control:
                check_free(package.card.name)
                attempt = Attempt(who, package.card.name, package.data["hash"], at)
                check_limits(attempt, self._attempts(), self.limits)
            with new_folder(target) as new:
                shutil.copyfile(scores, new / package.file)
                write_text(new / STATEMENT, canonical_json(package.statement()))
                read_package(new, package.id)
                write_text(new / RECEIPT, canonical_json(receipt))
        return Receipt(package.id, new=True)

    def path(self, name: str) -> Path:
        """The folder of a submission.

        Raises:
            InputError: a name that is no id.
        """
        if not ID.fullmatch(name):
            raise InputError("no id", field="id", expected="64 hex digits", got=ascii(name))
        return self.folder / SUBMISSIONS / name

    def read(self, name: str) -> tuple[Package, dict[str, Any]]:
        """A submission that is stored, and its receipt; InputError where either is not whole."""
        path = self.path(name)
        return read_package(path), _content(path / RECEIPT, RECEIVED)

    def about(self, name: str) -> dict[str, Any]:
        """What may be told of a submission: ``id``, ``at``, ``detector``, ``revision``."""
        found = self._read(SUBMISSIONS, name)
        told = {"detector": found["card"]["name"], "revision": found["card"]["revision"]}
        return {"id": name, "at": found["at"], **told}

    def submissions(self) -> list[str]:
        """All ids, in the order in which they came."""
        found = self._sound(SUBMISSIONS)
        return [name for _, name in sorted((said["at"], name) for name, said in found)]

    def queue(self) -> list[str]:
        """Ids that wait, the oldest first."""
        done = {*self._names(ENTRIES), *self._names(REJECTIONS)}
        return [name for name in self.submissions() if name not in done]

    def enter(self, name: str, entry: Mapping[str, Any]) -> bool:
        """Record what came of a submission; false where that is known already."""
        return self._settle(ENTRIES, name, entry)

    def reject(self, name: str, reason: str, *, at: datetime | None = None) -> bool:
        """Record why nothing came of it; false where that is known already."""
        when = (at or datetime.now(UTC)).isoformat(timespec="seconds")
        return self._settle(REJECTIONS, name, {"id": name, "reason": reason, "at": when})

    def entries(self) -> list[dict[str, Any]]:
        """All entries, in the order of their ids."""
        return [entry for _, entry in self._sound(ENTRIES)]

    def entered(self) -> list[str]:
        """The ids of all entries, of those too that cannot be read."""
        return self._names(ENTRIES)

    def entry(self, name: str) -> dict[str, Any]:
        """One of them; InputError where it cannot be read."""
        return self._read(ENTRIES, name)

    def rejections(self) -> list[dict[str, Any]]:
        """All rejections, in the order of their ids."""
        return [rejection for _, rejection in self._sound(REJECTIONS)]

    def faults(self, *parts: str) -> list[str]:
        """A line for each file that is not what a board writes; the other methods leave it out.

        Args:
            parts: some of ``submissions``, ``entries``, ``rejections``; all where none is named.
        """
        found = []
        for part in parts or (SUBMISSIONS, ENTRIES, REJECTIONS):
            for name in self._names(part):
                try:
                    self._read(part, name)
                except InputError as error:
                    found.append(f"{name[:12]}: {error}")
        return found

    def state(self, name: str) -> str:
        """``unknown``, ``waiting``, ``entered`` or ``rejected``."""
        if not self.path(name).is_dir():
            return "unknown"
        for folder, said in ((ENTRIES, "entered"), (REJECTIONS, "rejected")):
            if (self.folder / folder / f"{name}.json").exists():
                return said
        return "waiting"

    def sweep(self) -> int:
        """Remove what killed processes left; how many there were."""
        with self._alone():
            left = [
                path
                for part in (SUBMISSIONS, ENTRIES, REJECTIONS)
                for path in (self.folder / part).glob(".*")
            ]
            for path in left:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return len(left)

    def _settle(self, part: str, name: str, value: Mapping[str, Any]) -> bool:
        self.path(name)
        with self._alone():
            if self.state(name) != "waiting":
                return False
            write_text(self.folder / part / f"{name}.json", canonical_json(value))
        return True

    def _attempts(self) -> list[Attempt]:
        found = []
        for name, said in self._sound(SUBMISSIONS):
            if said["control"] or (self.folder / REJECTIONS / f"{name}.json").exists():
                continue
            at = datetime.fromisoformat(said["at"])
            of_whom = (said["submitter"], said["card"]["name"], said["data"]["hash"])
            found.append(Attempt(*of_whom, at))
        return found

    def _sound(self, part: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for name in self._names(part):
            try:
                found = self._read(part, name)
            except InputError:
                continue
            yield name, found

    def _read(self, part: str, name: str) -> dict[str, Any]:
        """What a file says; of a submission, its statement and its receipt together."""
        if part == SUBMISSIONS:
            path = self.path(name)
            return {**_content(path / STATEMENT, SAID), **_content(path / RECEIPT, RECEIVED)}
        path = self.folder / part / f"{name}.json"
        found = _content(path, ENTERED if part == ENTRIES else REJECTED)
        if found["id"] != name:
            raise InputError("bad value", file=path, field="id", expected=name, got=found["id"])
        return found

    def _names(self, part: str) -> list[str]:
        folder = self.folder / part
        if not folder.is_dir():
            return []
        names = (path.name.removesuffix(".json") for path in folder.iterdir())
        return sorted(name for name in names if ID.fullmatch(name))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time; the lock of a process that dies goes with it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / ".lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _content(path: Path, kinds: Kinds) -> dict[str, Any]:
    """What a file of the store says.

    Raises:
        InputError: it is not there, not JSON, or lacks a part.
    """
    try:
        about = path.stat()
        found = _json(path, about.st_ino, about.st_mtime_ns)
    except OSError as error:
        raise InputError("cannot be read", file=path, got=error.strerror) from None
    except (ValueError, RecursionError) as error:
        raise InputError("not JSON", file=path, got=str(error)) from None
    if not isinstance(found, dict):
        raise InputError("not whole", file=path, expected="a JSON object")
    for key, kind in kinds.items():
        if key not in found or not isinstance(found[key], kind):
            raise InputError("not whole", file=path, field=key)
    return found


@lru_cache(maxsize=2**14)
def _json(path: Path, inode: int, changed: int) -> Any:
    """A file that appears whole and never changes; who does change it is read again."""
    return json.loads(path.read_text("utf-8"))
