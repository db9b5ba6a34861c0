"""The epochs of a training on stderr: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from faithshift_bench.commands.common import say

# Seconds between drawings of a bar, and between lines where there is no terminal.
OFTEN = 0.1
SELDOM = 10.0


class Epochs:
    """One training at a time; what is said in between closes its bar first."""

    def __init__(self) -> None:
        """No training yet."""
        self._bar: Any = None
        self._said = monotonic()

    def watch(self, label: str) -> Callable[[int, int, Mapping[str, float]], None]:
        """What a detector calls after each epoch, for `run_detector`."""
        self._close()
        show = self._draw if sys.stderr.isatty() else self._line
        return lambda epoch, of, figures: show(label, epoch, of, figures)

    def say(self, line: str) -> None:
        """A line of its own."""
        self._close()
        say(line)

    def _draw(self, label: str, epoch: int, of: int, figures: Mapping[str, float]) -> None:
        from tqdm import tqdm

        if self._bar is None:
            self._bar = tqdm(
                desc=label,
                total=of,
                unit="epoch",
                file=sys.stderr,
                leave=False,
                mininterval=OFTEN,
            )
        self._bar.set_postfix_str(_text(figures), refresh=False)
        self._bar.update(epoch - self._bar.n)

    def _line(self, label: str, epoch: int, of: int, figures: Mapping[str, float]) -> None:
        if monotonic() - self._said >= SELDOM:
            self._said = monotonic()
            say(f"{label}: epoch {epoch} of {of} {_text(figures)}".rstrip())

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _text(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in figures.items())
