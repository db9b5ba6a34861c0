"""What tests of publishing share."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Online
from tests.hub.client import Done
from tests.hub.server import TOKEN


def publish(online: Online, what: Path, repo: str, *more: str, folder: Path) -> Done:
    """Run ``python -m builders publish``; the token must not be in what it prints."""
    done = online.client.builders("publish", what, "--repo", repo, *more, folder=folder)
    assert TOKEN not in done.out + done.err and "Traceback" not in done.err, done.err
    return done


def published(online: Online, what: Path, repo: str, *more: str, folder: Path) -> Done:
    """The same, where it must succeed."""
    done = publish(online, what, repo, *more, folder=folder)
    assert done.status == 0, done.err
    return done
