"""From the queue to entries: each submission is judged in a process of its own, with limits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import faithshift_data as fd
from faithshift_bench.submission.package import about_data
from faithshift_data.errors import InputError
from leaderboard.judge import LARGEST_OUTCOME
from leaderboard.store import Store

ROOT = Path(__file__).parent.parent
# What a judge may know of its surroundings; no token is among it.
KEPT = ("PATH", "HOME", "LANG", "HF_HOME", "HF_HUB_OFFLINE", "TMPDIR")
OURS = (signal.SIGXCPU, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGXFSZ)
# What a judge says of an error that is not the submission's.
COMPLAINTS = "complaints.txt"
Say = Callable[[str], None]


class NoOutcomeError(InputError):
    """A judge gave no outcome; the reason is for the board's keeper, and for nobody else."""


@dataclass(frozen=True)
class Confines:
    """What judging one submission may cost."""

    memory_bytes: int = 4 * 2**30
    cpu_seconds: int = 300
    wall_seconds: float = 900.0


@dataclass(frozen=True)
class Board:
    """Data that are ranked on.

    Attributes:
        public: name or path of the folder that entrants score; a path is kept whole, since a judge
            works elsewhere.
        key: the folder with all labels; None where ``public`` withholds none.
    """

    public: str
    key: str | None = None

    def __post_init__(self) -> None:
        """Make paths whole."""
        object.__setattr__(self, "public", _whole(self.public))
        object.__setattr__(self, "key", self.key and _whole(self.key))

    @cached_property
    def hash(self) -> str:
        """Of the files of the public folder."""
        return about_data(fd.open(self.public))["hash"]

    def check(self) -> None:
        """Refuse folders that do not belong together.

        Raises:
            InputError: which, and what was expected.
        """
        manifest = fd.open(self.public).manifest
        if manifest.key_of is not None:
            expected = "the folder that entrants score"
            raise InputError("a key", file=self.public, field="--data", expected=expected)
        withheld = manifest.withheld is not None
        if withheld != (self.key is not None):
            expected = "the key of these data" if withheld else "none: no label is withheld"
            raise InputError("labels", file=self.public, field="--key", expected=expected)
        if self.key is not None and fd.open(self.key).manifest.key_of != self.hash:
            raise InputError("not the key of these data", file=self.key, field="--key")


def _whole(name: str) -> str:
    """The same data from any folder; as in ``fd.open``, an embedded name is no folder."""
    is_path = name not in fd.embedded() and Path(name).is_dir()
    return str(Path(name).absolute()) if is_path else name


def judge(store: Store, name: str, board: Board, confines: Confines) -> dict[str, Any]:
    """What comes of a stored submission: ``{"entry": ...}`` or ``{"rejection": reason}``.

    Raises:
        NoOutcomeError: the board's data, or a process ended from outside: nobody knows yet.
    """
    package, receipt = store.read(name)
    if package.data["hash"] != board.hash:
        return {"rejection": "scores of other data than this board ranks"}
    told = {"id": name, "receipt": receipt, "folder": str(store.path(name).absolute())}
    return _outcome(told, board, confines)


def check(package: Path, board: Board, confines: Confines) -> dict[str, Any]:
    """What the validator says of a package folder: ``{"checked": ...}`` or ``{"rejection": ...}``.

    It runs confined, as judging does. Errors as there, without what the keeper alone may read.
    """
    told = {"id": package.name, "folder": str(package.absolute()), "check": True}
    try:
        return _outcome(told, board, confines)
    except NoOutcomeError:
        raise InputError("could not be checked now; try again later") from None


def _outcome(told: dict[str, Any], board: Board, confines: Confines) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        job, out = Path(folder) / "job.json", Path(folder) / "out.json"
        told |= {"public": board.public, "key": board.key}
        told |= {"memory_bytes": confines.memory_bytes, "cpu_seconds": confines.cpu_seconds}
        job.write_text(json.dumps(told), encoding="utf-8")
        status = _run(job, out, confines.wall_seconds)
        if status is None:
            return {"rejection": f"it took longer than {confines.wall_seconds:g} seconds"}
        if status in [-each for each in OURS]:
            ended = signal.Signals(-status).name
            return {"rejection": f"it took more time or memory than a submission may ({ended})"}
        if status != 0 or not 0 < out.stat().st_size <= LARGEST_OUTCOME:
            raise NoOutcomeError(f"could not be judged: {_reason(status, out.parent)}")
        return json.loads(out.read_text("utf-8"))


class Scored(NamedTuple):
    """What came of a queue: how many were entered, rejected, and could not be read or judged."""

    entered: int
    rejected: int
    faults: int


def score(store: Store, board: Board, confines: Confines, say: Say) -> Scored:
    """Judge all that waits for this board; one at fault keeps no other waiting."""
    entered = rejected = others = 0
    faults = store.faults()
    for line in faults:
        say(line)
    for name in store.queue():
        try:
            if store.read(name)[0].data["hash"] != board.hash:
                others += 1
                continue
            found = judge(store, name, board, confines)
        except InputError as error:
            faults.append(name)
            say(f"{name[:12]}: waits: {error}")
            continue
        if "entry" in found:
            entered += store.enter(name, found["entry"])
            say(f"{name[:12]}: entered")
        else:
            rejected += store.reject(name, found["rejection"])
            say(f"{name[:12]}: rejected: {found['rejection']}")
    if others:
        say(f"{others} wait for other data")
    return Scored(entered, rejected, len(faults))


def rescore(store: Store, board: Board, confines: Confines, say: Say) -> int:
    """Judge all entries of this board again; how many are not what comes out, or cannot be."""
    different = others = 0
    for name in store.entered():
        who = name[:12]
        try:
            entry, (package, _) = store.entry(name), store.read(name)
            who += f" {package.card.name}"
            # An entry may say what it likes: its submission knows what it scored.
            if board.hash not in (package.data["hash"], entry["data"].get("hash")):
                others += 1
                continue
            found = judge(store, name, board, confines)
            change = found.get("rejection") or difference(entry, found["entry"])
        except InputError as error:
            change = str(error)
        different += change is not None
        say(f"{who}: {change or 'the same'}")
    if others:
        say(f"{others} are of other data, and were not judged")
    return different


def difference(old: Any, new: Any, place: str = "") -> str | None:
    """The first place where two entries differ; None: nowhere."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            where = f"{place}.{key}" if place else key
            if (key in old) != (key in new):
                return f"{where}: only {'before' if key in old else 'now'}"
            if found := difference(old[key], new[key], where):
                return found
        return None
    return None if old == new else f"{place}: {old} before, {new} now"


def _run(job: Path, out: Path, seconds: float) -> int | None:
    """The exit status of a judge; None: it was ended because it took too long."""
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
    with (
        open(job.parent / COMPLAINTS, "wb") as complaints,
        subprocess.Popen(
            [sys.executable, "-m", "leaderboard.judge", str(job), str(out)],
            cwd=ROOT,
            env=env,
            # Its end is this process's end, of whatever kind.
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        ) as process,
    ):
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def _reason(status: int, folder: Path) -> str:
    if status < 0:
        return f"it was ended ({signal.strsignal(-status)})"
    told = folder / COMPLAINTS
    lines = told.read_text("utf-8", "replace").splitlines() if told.exists() else []
    return lines[-1][:300] if lines else f"status {status}"
