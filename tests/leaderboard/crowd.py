"""Many clients at one store: ``python -m tests.leaderboard.crowd STORE SEED CLIENTS EACH``.

Prints an id once the store has acknowledged it, and runs until it is killed or done.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faithshift_bench.submission.package import Package, check_statement
from faithshift_data.errors import InputError
from leaderboard.limits import Limits
from leaderboard.store import Store

DATA = {"name": "x", "version": "1", "hash": "0" * 64}
FREE = Limits(*[10**6] * 4)
CARD = {
    "name": "d",
    "revision": "1",
    "reads": ["text"],
    "training_data": [],
    "contact": "a@b.org",
    "declares": dict.fromkeys(
        ("label_rule", "asks_models", "other_labels", "joins_traces", "contaminated"), False
    ),
}


def made(
    number: int,
    folder: Path,
    *,
    name: str = "d",
    contact: str = "a@b.org",
    data: Mapping[str, str] = DATA,
) -> tuple:
    """A package of its own for each number, and its scores."""
    scores = folder / f"{number}.csv"
    scores.write_text(f"trace_id,score\nt,0.{number:06d}\n")
    statement = {
        "version": 1,
        "card": {**CARD, "name": name, "contact": contact},
        "data": dict(data),
        "scores": {
            "file": "scores.csv",
            "sha256": hashlib.sha256(scores.read_bytes()).hexdigest(),
        },
        "below_chance": False,
    }
    package: Package = check_statement(statement)
    return package, scores


def say(line: str) -> None:
    """One write, so that lines of threads never mix."""
    os.write(1, f"{line}\n".encode())


def main() -> None:
    folder, seed, clients, each = sys.argv[1], *map(int, sys.argv[2:])

    def client(number: int) -> None:
        draw = random.Random(seed * 1000 + number)
        with tempfile.TemporaryDirectory() as own:
            for _ in range(each):
                # Few numbers, so that clients often send the same.
                package, scores = made(draw.randrange(clients * each // 2), Path(own))
                try:
                    receipt = Store(Path(folder), FREE).receive(package, scores)
                except InputError as error:
                    say(f"fault {error}")
                else:
                    say(f"{receipt.id} {'new' if receipt.new else 'old'}")

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))


if __name__ == "__main__":
    main()
