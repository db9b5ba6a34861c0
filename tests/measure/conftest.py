"""One tiny engine an architecture and session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tiny_model import ARCHITECTURES, write_tiny_model

if TYPE_CHECKING:
    from faithshift_data.measure.engines.transformers import TransformersEngine


def tiny(tmp_path_factory: pytest.TempPathFactory, architecture: str) -> TransformersEngine:
    """Eager attention, so that attention weights can be read."""
    from faithshift_data.measure.engines.transformers import TransformersEngine

    folder = write_tiny_model(tmp_path_factory.mktemp("tiny"), architecture=architecture)
    return TransformersEngine(folder, batch_size=3, attention="eager")


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> TransformersEngine:
    """A Llama."""
    return tiny(tmp_path_factory, "llama")


@pytest.fixture(scope="session", params=ARCHITECTURES)
def any_engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TransformersEngine:
    """Each architecture in turn."""
    return tiny(tmp_path_factory, request.param)
