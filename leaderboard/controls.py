"""Controls stand on every board, and one of them, run anew, tests the whole way of a score."""

from __future__ import annotations

import tempfile
from pathlib import Path

import faithshift_bench
import faithshift_data as fd
from faithshift_bench.detectors.registry import CONTROLS, load_detector
from faithshift_bench.detectors.runs import run_detector, save_scores
from faithshift_bench.submission.card import DECLARATIONS, DetectorCard
from faithshift_bench.submission.package import package_of
from faithshift_data.errors import InputError
from leaderboard.entry import metric_version
from leaderboard.scoring import Board, Confines, Say, difference, judge
from leaderboard.store import Store

SEEDS = (0, 1, 2, 3)
BASELINE = "length_only"
CONTACT = "keeper@board.invalid"
FIGURES = ("full", "certified", "axes", "domains", "risk", "n", "validation_auroc")


def add_controls(store: Store, board: Board, say: Say) -> list[str]:
    """Put the controls that are not there yet into the queue; their ids."""
    there = {
        entry["card"]["name"]
        for entry in store.entries()
        if entry["control"] and _is_of(entry, board)
    }
    added = []
    for name in (name for name in CONTROLS if name not in there):
        try:
            added.append(_submit(name, store, board))
        except InputError as error:
            say(f"control {name} cannot be run on these data: {error}")
    return added


def self_test(store: Store, board: Board, confines: Confines) -> str | None:
    """Run a baseline anew, and judge its scores; how its figures differ from those on the board.

    Raises:
        InputError: the board has no such entry yet.
    """
    stored = next(
        (
            e
            for e in store.entries()
            if e["control"] and e["card"]["name"] == BASELINE and _is_of(e, board)
        ),
        None,
    )
    if stored is None:
        expected = "an entry; `score` makes it"
        raise InputError("not on the board", field=BASELINE, expected=expected)
    with tempfile.TemporaryDirectory() as folder:
        aside = Store(Path(folder))
        found = judge(aside, _submit(BASELINE, aside, board), board, confines)
    if "entry" not in found:
        return found["rejection"]
    return difference(*({key: e[key] for key in FIGURES} for e in (stored, found["entry"])))


def _is_of(entry: dict, board: Board) -> bool:
    return entry["data"]["hash"] == board.hash and entry["metric"] == metric_version()


def _submit(name: str, store: Store, board: Board) -> str:
    data = fd.open(board.public)
    detector = load_detector(name)
    card = DetectorCard(
        name=name,
        revision=faithshift_bench.__version__,
        reads=tuple(detector.needs),
        training_data=("train and tune",),
        contact=CONTACT,
        declares=dict.fromkeys(DECLARATIONS, False) | {"label_rule": detector.reads_label_evidence},
    )
    with tempfile.TemporaryDirectory() as folder:
        scores = Path(folder) / "scores.parquet"
        save_scores(run_detector(name, data, SEEDS), scores)
        # A control may well be below chance.
        package = package_of(scores, card, data, below_chance=True)
        return store.receive(package, scores, control=True).id
