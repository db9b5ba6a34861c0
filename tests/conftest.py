"""Fixtures shared by all tests: one synthetic dataset folder a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.synthetic import write_synthetic


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound folder of 40 items. Read it, never write to it."""
    return write_synthetic(tmp_path_factory.mktemp("data") / "synthetic")
