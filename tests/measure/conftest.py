"""One tiny engine a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tiny_model import write_tiny_model

if TYPE_CHECKING:
    from faithshift_data.measure.engines.transformers import TransformersEngine


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> TransformersEngine:
    """Eager attention, so that attention weights can be read."""
    from faithshift_data.measure.engines.transformers import TransformersEngine

    folder = write_tiny_model(tmp_path_factory.mktemp("tiny"))
    return TransformersEngine(folder, batch_size=3, attention="eager")
