"""Interventions: what is put in the place of a trace's reasoning before the answer is forced.

Fractions count words. A probe's role says who may read its row: the label rule or a detector.
The two never see the model's answer to one and the same text: a feature probe that would show
what a label probe shows of the trace, as short texts make fall together, does not apply.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from faithshift_data.measure.rewording import mistake, reword
from faithshift_data.reasoning import split_steps
from faithshift_data.schema import Role, stable_id

FILLER = " ..."
MOST_FILLER = 12


@dataclass(frozen=True)
class Probe:
    """One planned intervention.

    Attributes:
        kind: ``truncate`` (keep the first share of the words, early answering), ``scramble``
            (all words, shuffled), ``filler`` (up to 12 groups of dots), ``mistake`` (one step made
            wrong, the others as they were), ``paraphrase`` (other words), ``cue_removed`` (the same
            reasoning, after a prompt without the cue) or ``as_shown``.
        fraction: kept share of the words in [0, 1]; None where it has no meaning.
        seed: of the shuffle, of the mistake, of the wording.
        role: ``label`` or ``feature``.
    """

    kind: str
    fraction: float | None
    seed: int
    role: Role

    def row_id(self, trace_id: str) -> str:
        """The id of this probe's row for a trace."""
        return stable_id("i", trace_id, self.kind, self.fraction, self.seed, self.role)

    def inject(self, trace_id: str, reasoning: str) -> str | None:
        """The text that stands where the reasoning stood.

        Returns:
            None where the probe does not apply: no step can be made wrong, no wording moves, or a
            label probe shows the same words.

        Raises:
            ValueError: an unknown kind.
        """
        text = self._text(trace_id, reasoning)
        if text is None or self.role == Role.LABEL or self.kind == "cue_removed":
            return text
        for probe in (*LABEL_PROBES, AS_SHOWN):
            shown = probe._text(trace_id, reasoning)
            if shown is not None and shown.split() == text.split():
                return None
        return text

    def _text(self, trace_id: str, reasoning: str) -> str | None:
        rng = random.Random(f"{trace_id}/{self.seed}")
        if self.kind in ("as_shown", "cue_removed"):
            return reasoning
        if self.kind == "truncate":
            return keep_words(reasoning, self.fraction or 0.0)
        if self.kind == "mistake":
            return mistake(split_steps(reasoning), rng)
        if self.kind == "paraphrase":
            return reword(reasoning, rng)
        words = reasoning.split()
        if self.kind == "scramble":
            rng.shuffle(words)
            return " " + " ".join(words)
        if self.kind == "filler":
            return FILLER * min(len(words), MOST_FILLER)
        raise ValueError(f"unknown intervention {self.kind!r}")


LABEL_PROBES = (
    Probe("truncate", 0.25, 0, Role.LABEL),
    Probe("truncate", 0.5, 0, Role.LABEL),
    Probe("scramble", None, 101, Role.LABEL),
)
FEATURE_SUBSET = (
    Probe("truncate", 0.0, 0, Role.FEATURE),
    Probe("truncate", 0.4, 0, Role.FEATURE),
    Probe("truncate", 0.8, 0, Role.FEATURE),
    Probe("scramble", None, 7, Role.FEATURE),
    Probe("filler", None, 0, Role.FEATURE),
)
FEATURE_PROBES = (
    *FEATURE_SUBSET,
    Probe("truncate", 0.2, 0, Role.FEATURE),
    Probe("truncate", 0.6, 0, Role.FEATURE),
    Probe("mistake", None, 7, Role.FEATURE),
    Probe("paraphrase", None, 7, Role.FEATURE),
    Probe("cue_removed", None, 0, Role.FEATURE),
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
