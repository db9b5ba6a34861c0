"""Where a submission is handed in by hand: checked in a confined process, stored, acknowledged."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import faithshift_data as fd
from faithshift_bench.submission.bounds import FORMATS
from faithshift_bench.submission.card import DECLARATIONS, MAX_BYTES, read_card
from faithshift_bench.submission.package import Package, package_of, write_package
from faithshift_data.errors import InputError
from leaderboard.api import nothing
from leaderboard.scoring import Board, Confines, check
from leaderboard.store import Store

CARD = """\
name = ""           # of the detector
revision = ""       # a tag, commit or date
reads = ["text"]    # and interventions, descriptors, states
training_data = []  # what it was fitted to
contact = ""        # e-mail or https; not shown
url = ""            # paper or code, may stay empty

[declares]
""" + "\n".join(f"# {meaning}\n{name} = false" for name, meaning in DECLARATIONS.items())


@dataclass(frozen=True)
class Desk:
    """A board that takes submissions.

    Attributes:
        store: of the board.
        board: the data that it ranks.
        confines: of a check.
        keep: as in :func:`leaderboard.api.answer`.
        wake: called when something waits to be judged.
    """

    store: Store
    board: Board
    confines: Confines
    keep: Callable[[], None] = nothing
    wake: Callable[[], None] = nothing

    def look(self, scores: Path | None, card: str, below_chance: bool = False) -> str:
        """What the validator says of sound scores; nothing is stored.

        Raises:
            InputError: one line for the first mistake.
        """
        with self._checked(scores, card, below_chance) as (_, _, told):
            return told

    def take(
        self, scores: Path | None, card: str, below_chance: bool, submitter: str | None
    ) -> tuple[str, str]:
        """Check, store and keep a submission: its id, and what to tell the sender.

        Raises:
            InputError: one line: a mistake, a limit, or that it could not be kept.
        """
        with self._checked(scores, card, below_chance) as (package, file, told):
            receipt = self.store.receive(package, file, submitter=submitter)
        try:
            self.keep()
        except InputError as error:
            raise InputError(f"not kept yet, so send it again: {error}") from None
        self.wake()
        state = self.store.state(package.id)
        return receipt.id, f"{told} {'Received' if receipt.new else 'Was here before'}: {state}."

    @contextmanager
    def _checked(
        self, scores: Path | None, card: str, below_chance: bool
    ) -> Iterator[tuple[Package, Path, str]]:
        if scores is None:
            raise InputError("no file", field="scores", expected=" | ".join(FORMATS))
        suffix = scores.suffix.lower()
        if suffix not in FORMATS:
            got = ascii(suffix)[1:-1] or "no ending"
            expected = " | ".join(FORMATS)
            raise InputError("unknown kind of file", field="scores", expected=expected, got=got)
        if len(card.encode()) > MAX_BYTES:
            raise InputError("too large", file="card.toml", expected=f"{MAX_BYTES} bytes at most")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "card.toml").write_text(card, encoding="utf-8")
            stated = read_card(folder / "card.toml")
            package = package_of(scores, stated, self._data, below_chance=below_chance)
            written = write_package(package, scores, folder)
            found = check(written, self.board, self.confines)
            if "rejection" in found:
                raise InputError(found["rejection"])
            about = found["checked"]
            auroc = "-" if about["auroc"] is None else f"{about['auroc']:.3f}"
            told = (
                f"Sound: {about['n_traces']} traces, {len(about['seeds'])} seeds, "
                f"{about['n_ignored']} rows of train ignored; AUROC on validation {auroc}."
            )
            yield package, written / package.file, told

    @cached_property
    def _data(self) -> fd.FaithShift:
        return fd.open(self.board.public)
