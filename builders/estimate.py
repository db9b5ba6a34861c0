"""What a build will cost, before it starts."""

from __future__ import annotations

from builders.presets import Preset


def estimate(preset: Preset) -> dict[str, float]:
    """Rough size and duration of a build on 2 cores, from measured costs a trace.

    Returns:
        candidates, items, traces, tokens and minutes.
    """
    candidates, items = 4 * preset.candidates_per_domain, 4 * preset.keep_per_domain
    traces = 12 * items
    tokens = preset.max_tokens * 0.9 * (2 * candidates + 6 * items)
    seconds = tokens / 130 + (2 * candidates * 0.8 + traces * 1.7) / 2
    return {
        "candidates": candidates,
        "items": items,
        "traces": traces,
        "tokens": tokens,
        "minutes": seconds / 60,
    }
