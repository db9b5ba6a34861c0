"""Fixtures shared by all tests: a synthetic dataset folder, and a Hub with its clients."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.hub.client import Client
from tests.hub.server import LoopbackHub
from tests.synthetic import write_synthetic

# A busy machine is slow for reasons that no test is about.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first: at the end, one would leave the other workers idle."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound folder of 40 items. Read it, never write to it."""
    return write_synthetic(tmp_path_factory.mktemp("data") / "synthetic")


@dataclass(frozen=True)
class Online:
    """A Hub on the loopback device, and a process whose real clients talk to it."""

    hub: LoopbackHub
    client: Client


@pytest.fixture(scope="session")
def online_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Online]:
    """One Hub and one process a session, since the clients take seconds to import."""
    home = tmp_path_factory.mktemp("home")
    with LoopbackHub() as hub, Client(hub.env(home)) as client:
        yield Online(hub, client)


@pytest.fixture
def online(online_session: Online) -> Iterator[Online]:
    """An empty Hub without faults; the test fails if it was asked for what it does not have."""
    online_session.hub.reset()
    yield online_session
    assert not online_session.hub.unknown


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process: (exit status, stdout, stderr)."""
    from faithshift_bench.cli import main

    def call(*argv):
        monkeypatch.setattr(sys, "argv", ["faithshift", *map(str, argv)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return call
