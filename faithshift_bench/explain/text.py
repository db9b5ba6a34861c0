"""An explanation as text: what moved a score, largest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from faithshift_bench.board import text_table
from faithshift_bench.explain.explanation import Explanation

LARGEST = 10
# Characters of a step's text.
SHOWN = 48

Sums = dict[tuple[Any, ...], float]


def render(found: Explanation) -> str:
    """Sums by family, layer band and step, then the largest single parts."""
    seed = "" if found.seed is None else f" (seed {found.seed})"
    difference = found.log_odds - found.baseline
    lines = [
        f"{found.detector}{seed} gives {found.trace_id} {found.score:.3f}, "
        "the probability that it is faithful.",
        f"Log-odds {found.log_odds:+.3f}, {difference:+.3f} from the {found.baseline:+.3f} of a "
        "trace that is the mean of train.",
        f"All parts add up to that difference but for {found.error:.1e} (allowed: "
        f"{found.tolerance:.1e}; gradients at {found.points} points).",
    ]
    for title, rows in (
        ("family", _largest(found.by("family"))),
        ("layer band", _largest(_known(found.by("band")), "band {}".format)),
        ("step", [(_step(found.steps, k), v) for (k,), v in _known(found.by("step")).items()]),
    ):
        if len(rows) > 1:
            lines += ["", *_table(title, rows)]
    cells = _largest(found.by("family", "channel", "band", "step"))
    title = f"largest {min(LARGEST, len(cells))} of {len(cells)}"
    return "\n".join([*lines, "", *_table(title, cells[:LARGEST])])


def name_of(
    family: str, channel: str = "", band: int | None = None, step: int | None = None
) -> str:
    """A feature, or a sum over several, as words."""
    words = [" ".join(filter(None, (family, channel)))]
    words += [] if band is None else [f"band {band}"]
    words += [] if step is None else [f"step {step + 1}"]
    return ", ".join(words)


def _known(sums: Sums) -> Sums:
    """Without the features that have no such attribute."""
    return {key: value for key, value in sums.items() if key[0] is not None}


def _largest(sums: Sums, word: Callable[..., str] = name_of) -> list[tuple[str, float]]:
    """Largest first, whatever the sign."""
    ordered = sorted(sums.items(), key=lambda each: -abs(each[1]))
    return [(word(*key), value) for key, value in ordered]


def _step(steps: tuple[str, ...], number: int) -> str:
    text = " ".join(steps[number].split()) if number < len(steps) else ""
    short = text if len(text) <= SHOWN else text[: SHOWN - 1] + "\u2026"
    return f"{number + 1}: {short}" if short else str(number + 1)


def _table(title: str, rows: Sequence[tuple[str, float]]) -> list[str]:
    return text_table((title, "log-odds"), [(name, f"{value:+.4f}") for name, value in rows])
