"""Small hand-made views for detectors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


def text_row(**changes: Any) -> dict[str, Any]:
    """One row of what a detector may read."""
    row = {
        "prompt": "How many pens?\nShow how you reach the answer.",
        "question": "How many pens?",
        "options": None,
        "answer_kind": "number",
        "reasoning": "Two and two. That is four.",
        "steps": ["Two and two. ", "That is four."],
        "answer": "4",
        "model_id": "m",
    }
    return {**row, **changes}


class FakeView(SimpleNamespace):
    """The parts a test gives, and nothing else."""

    def __len__(self) -> int:
        return len(self.trace_ids)


def make_view(labels: list[int] | None = None, **parts: Any) -> FakeView:
    """A view of as many rows as its longest part."""
    n = len(labels) if labels is not None else len(next(iter(parts.values())))
    view = FakeView(
        split="train",
        trace_ids=np.array([f"t{i:04d}" for i in range(n)]),
        item_ids=np.array([f"i{i // 2:04d}" for i in range(n)]),
        **parts,
    )
    if labels is not None:
        view.labels = np.array(labels, dtype=np.int8)
    return view


def profile(names: tuple[str, ...], changed: Any) -> SimpleNamespace:
    """An intervention profile."""
    return SimpleNamespace(names=names, changed=np.array(changed, dtype=np.float32))
