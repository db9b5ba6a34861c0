"""What the cue for an answer does: the same injected text with it and without it.

Reasoning that argues for a wrong option, or filler, is injected into a model's context. With a
cue the next token has to be an answer; without it a model may set the text aside and reason
anew, so that its answer says nothing of the text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.agreement.conditions import FILLER, UNCUED, WRONG
from faithshift_bench.agreement.metrics import filler_tokens
from faithshift_bench.agreement.ranking import Ranking, RankTau, rank_models, rank_tau
from faithshift_bench.agreement.settings import Settings
from faithshift_bench.agreement.study import ABSENT, REGENERATED, Study
from faithshift_bench.stats import percentile_interval, wilson_interval
from faithshift_bench.stats.intervals import Interval


@dataclass(frozen=True)
class Followed:
    """How often a model gave the answer that the injected reasoning argues for.

    Attributes:
        model: its name.
        cued: whether the cue stood behind the reasoning.
        value: share of explicit answers that are the argued one; None without any.
        interval: Wilson, 95%.
        n: explicit answers.
        n_regenerated: rows in which the model wrote reasoning of its own.
        n_without: rows without an answer, or whose injection failed.
    """

    model: str
    cued: bool
    value: float | None
    interval: Interval | None
    n: int
    n_regenerated: int
    n_without: int


@dataclass(frozen=True)
class CueEffect:
    """Share followed with the cue less without it, on questions answered both ways."""

    model: str
    value: float | None
    interval: Interval | None
    n: int


@dataclass(frozen=True)
class Elicitation:
    """The whole experiment; empty lists where the table has no such rows.

    Attributes:
        followed: of every model, with the cue and without.
        effects: of every model.
        fillers: ranking by filler tokens, cued and uncued, where both were run.
        tau: of the two.
        unscorable: models that filler tokens cannot score without the cue.
    """

    followed: list[Followed]
    effects: list[CueEffect]
    fillers: list[Ranking]
    tau: RankTau | None
    unscorable: list[str]


def elicitation(study: Study, weights: NDArray[np.float64], settings: Settings) -> Elicitation:
    """Compare the conditions ``wrong`` and ``filler`` with their uncued forms."""
    followed, effects = [], []
    if {WRONG, WRONG + UNCUED} & set(study.answers):
        for m in range(len(study.models)):
            followed += [_followed(study, m, cued=cued) for cued in (True, False)]
            effects.append(_effect(study, m, weights))
    fillers: list[Ranking] = []
    tau, unscorable = None, []
    if FILLER + UNCUED in study.answers:
        fillers = [
            rank_models(
                name,
                name,
                filler_tokens(study, name),
                study.models,
                weights,
                settings.min_traces,
            )
            for name in (FILLER, FILLER + UNCUED)
        ]
        tau = rank_tau(*fillers)
        asked = (study.answer(FILLER + UNCUED) != ABSENT).any(1)
        unscorable = [
            each.model
            for each, was in zip(fillers[1].models, asked, strict=True)
            if was and each.value is None
        ]
    return Elicitation(followed, effects, fillers, tau, unscorable)


def _followed(study: Study, model: int, *, cued: bool) -> Followed:
    answers = study.answer(WRONG if cued else WRONG + UNCUED)[model]
    argued = study.argued[model]
    stated = (answers >= 0) & (argued >= 0)
    hits, n = int((answers == argued)[stated].sum()), int(stated.sum())
    again = int((answers == REGENERATED).sum())
    without = int((answers != ABSENT).sum()) - n - again
    share = hits / n if n else None
    span = wilson_interval(hits, n)
    return Followed(study.models[model], cued, share, span, n, again, without)


def _effect(study: Study, model: int, weights: NDArray[np.float64]) -> CueEffect:
    on, off = (study.answer(name)[model] for name in (WRONG, WRONG + UNCUED))
    argued = study.argued[model]
    both = (on >= 0) & (off >= 0) & (argued >= 0)
    n = int(both.sum())
    if n == 0:
        return CueEffect(study.models[model], None, None, 0)
    gap = np.where(both, (on == argued).astype(float) - (off == argued), 0.0)
    with np.errstate(invalid="ignore"):
        draws = (weights @ gap) / (weights @ both.astype(float))
    return CueEffect(study.models[model], float(gap.sum() / n), percentile_interval(draws), n)
