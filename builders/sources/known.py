"""The sources that a preset can name; a new one is a file with a ``SOURCE``, and a line here."""

from __future__ import annotations

from functools import cache

from builders.sources.given import Source


@cache
def known() -> dict[str, Source]:
    """Every source of stated questions, by name."""
    from builders.sources import (
        bbh,
        commonsense_qa,
        gsm8k,
        hendrycks_math,
        jsonl,
        mmlu_pro,
        reasoning_gym_tasks,
    )

    modules = (
        gsm8k,
        hendrycks_math,
        commonsense_qa,
        bbh,
        mmlu_pro,
        reasoning_gym_tasks,
        jsonl,
    )
    sources: tuple[Source, ...] = tuple(module.SOURCE for module in modules)
    return {source.name: source for source in sources}
