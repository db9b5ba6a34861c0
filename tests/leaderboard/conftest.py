"""A board that is served, for tests of its answers and of its pages."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

import faithshift_data as fd
from faithshift_bench.core import DEFAULT
from faithshift_bench.detectors.registry import CONTROLS
from faithshift_bench.submission.package import about_data
from leaderboard.entry import metric_version
from leaderboard.store import Store
from leaderboard.worker import SELF_TEST
from tests.leaderboard.crowd import FREE
from tests.leaderboard.served import PATIENCE, served
from tests.leaderboard.test_page import entry

# What a page must show and not do.
EVIL = "<img src=x onerror=\"document.title='won'\">"


class Served(NamedTuple):
    """Where the board listens, its store, and the data that it ranks."""

    url: str
    store: Store
    data: Path


@pytest.fixture(scope="module")
def board(synthetic, tmp_path_factory):
    """A board with entries on hidden labels, and on open ones with controls that need no run."""
    folder = tmp_path_factory.mktemp("served") / "store"
    (folder / "entries").mkdir(parents=True)
    data = {**about_data(fd.open(synthetic)), "hidden": False}
    entries = [entry(k, mfs=k / 20, span=(k / 20 - 0.01, k / 20 + 0.01)) for k in range(1, 13)]
    entries[2]["card"] |= {"name": EVIL, "revision": EVIL, "training_data": [EVIL]}
    entries[3]["card"]["reads"] = ["states"]
    entries.append(entry(50, mfs=0.0, span=None, control=True))
    for k, name in enumerate(CONTROLS, start=60):
        entries.append(entry(k, control=True, data=data, metric=metric_version()))
        entries[-1]["settings"] |= {"protocol": DEFAULT.name}
        entries[-1]["card"]["name"] = name
    for each in entries:
        (folder / "entries" / f"{each['id']}.json").write_text(json.dumps(each))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    tested = {"at": now, "same": True, "outcome": "the same"}
    (folder / SELF_TEST).write_text(json.dumps(tested))
    process, url = served(folder, synthetic)
    try:
        yield Served(url, Store(folder, FREE), synthetic)
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 143
