"""What a build will cost, before it starts."""

from __future__ import annotations

from builders.presets import Preset

# Processor seconds on one of two busy cores with the small model in float32 and up to 80 tokens.
SCREEN_SECONDS, BUILD_SECONDS, TOKENS = 4.3, 32.0, 80
CORES = 2
TRACES_AN_ITEM, GENERATIONS_AN_ITEM = 14, 7


def estimate(preset: Preset) -> dict[str, float]:
    """Rough size and duration of a build with the small model on 2 cores, from measured costs.

    Returns:
        candidates, items, traces, tokens and minutes.
    """
    candidates, items = 4 * preset.candidates_per_domain, 4 * preset.keep_per_domain
    length = preset.max_tokens / TOKENS
    seconds = (candidates * SCREEN_SECONDS + items * BUILD_SECONDS) * length / CORES
    return {
        "candidates": candidates,
        "items": items,
        "traces": TRACES_AN_ITEM * items,
        "tokens": 0.8 * preset.max_tokens * (2 * candidates + GENERATIONS_AN_ITEM * items),
        "minutes": seconds / 60,
    }
