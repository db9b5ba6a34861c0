"""Interventions: what is put in the place of a trace's reasoning before the answer is forced.

Fractions count words, so that a label probe and a feature probe with different fractions
never show the same text. A probe's role says who may read its row: the label rule or a
detector.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from faithshift_data.schema import Role, stable_id

FILLER = " ..."
MOST_FILLER = 12


@dataclass(frozen=True)
class Probe:
    """One planned intervention.

    Attributes:
        kind: ``truncate`` (keep the first share of the words, early answering), ``scramble``
            (all words, shuffled), ``filler`` (up to 12 groups of dots) or ``as_shown``.
        fraction: kept share of the words in [0, 1]; None where it has no meaning.
        seed: of the shuffle.
        role: ``label`` or ``feature``.
    """

    kind: str
    fraction: float | None
    seed: int
    role: Role

    def row_id(self, trace_id: str) -> str:
        """The id of this probe's row for a trace."""
        return stable_id("i", trace_id, self.kind, self.fraction, self.seed, self.role)

    def inject(self, trace_id: str, reasoning: str) -> str:
        """The text that stands where the reasoning stood.

        Raises:
            ValueError: an unknown kind.
        """
        if self.kind == "as_shown":
            return reasoning
        if self.kind == "truncate":
            return keep_words(reasoning, self.fraction or 0.0)
        words = reasoning.split()
        if self.kind == "scramble":
            random.Random(f"{trace_id}/{self.seed}").shuffle(words)
            return " " + " ".join(words)
        if self.kind == "filler":
            return FILLER * min(len(words), MOST_FILLER)
        raise ValueError(f"unknown intervention {self.kind!r}")


LABEL_PROBES = (
    Probe("truncate", 0.25, 0, Role.LABEL),
    Probe("truncate", 0.5, 0, Role.LABEL),
    Probe("scramble", None, 101, Role.LABEL),
)
FEATURE_PROBES = (
    Probe("truncate", 0.0, 0, Role.FEATURE),
    Probe("truncate", 0.4, 0, Role.FEATURE),
    Probe("truncate", 0.8, 0, Role.FEATURE),
    Probe("scramble", None, 7, Role.FEATURE),
    Probe("filler", None, 0, Role.FEATURE),
)
AS_SHOWN = Probe("as_shown", 1.0, 0, Role.LABEL)


def keep_words(text: str, fraction: float) -> str:
    """The first ``floor(fraction * n)`` of the n words, white space between them kept."""
    words = text.split()
    count = int(fraction * len(words) + 1e-9)
    end = 0
    for word in words[:count]:
        end = text.index(word, end) + len(word)
    return text[:end]


def changed(original: str | None, forced: str | None) -> bool | None:
    """Whether the answer moved; None (undefined) where either is not stated."""
    if original is None or forced is None:
        return None
    return original != forced
