"""Whether a model thinks before it answers, or reasons in its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faithshift_bench.agreement.table import TYPES

BLOCK, MODEL_TYPE = "block", "model_type"
THINKING, INSTRUCT = TYPES


def typed(rows: Sequence[dict[str, Any]], stated: str | None) -> list[dict[str, Any]]:
    """The rows of one model with its type instead of the sign that it is found by.

    A model is ``thinking`` if more than half of its free generations (baseline and hinted) stand
    in a reasoning block, which its template had opened in the prompt or which it wrote; else
    ``instruct``. What a template only mentions decides nothing, as does a block that it opens and
    closes. So a single generation that strays does not change the type.

    Args:
        rows: all of the model's; free ones have ``block``, true or false.
        stated: the type that the preset says, which then stands.
    """
    signs = [row[BLOCK] for row in rows if BLOCK in row]
    found = THINKING if 2 * sum(signs) > len(signs) else INSTRUCT
    kept = ({key: value for key, value in row.items() if key != BLOCK} for row in rows)
    return [row | {MODEL_TYPE: stated or found} for row in kept]
