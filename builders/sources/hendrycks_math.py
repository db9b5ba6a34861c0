"""MATH: competition problems whose solution boxes its answer.

Only answers that are a number and nothing else are used: an expression has no near wrong number,
and most of what a reader would take out of one is a part of it.
"""

from __future__ import annotations

from builders.sources.given import Given, Unusable, plain_number
from builders.sources.hub import HubSource, Row
from faithshift_data.markup import boxes


def read(row: Row, config: str) -> Given:
    """The problem, and what the last box of its solution holds."""
    found = boxes(str(row["solution"] or ""))
    if not found:
        raise Unusable("no boxed answer")
    content = found[-1][1]
    if content and plain_number(content) is None:
        raise Unusable("the boxed answer is no number")
    return Given(config, str(row["problem"] or ""), content)


SOURCE = HubSource(
    name="math",
    repo="EleutherAI/hendrycks_math",
    revision="21a5633873b6a120296cce3e2df9d5550074f4a3",
    configs=(
        "algebra",
        "counting_and_probability",
        "geometry",
        "intermediate_algebra",
        "number_theory",
        "prealgebra",
        "precalculus",
    ),
    split="test",
    licence="MIT",
    columns=("problem", "solution"),
    read=read,
)
