"""What each model did before any metric: accuracy, flips, cut-off traces, and a second run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faithshift_bench.agreement.conditions import BASELINE, HINTED
from faithshift_bench.agreement.settings import Settings
from faithshift_bench.agreement.study import ABSENT, UNKNOWN, Study
from faithshift_bench.stats import wilson_interval
from faithshift_bench.stats.intervals import Interval


@dataclass(frozen=True)
class Share:
    """``count`` of ``n`` questions with a Wilson interval; None at n = 0."""

    value: float | None
    interval: Interval | None
    count: int
    n: int


@dataclass(frozen=True)
class ModelHealth:
    """One model.

    Attributes:
        model: its name.
        model_type: thinking, instruct or "".
        accuracy: of explicit baseline answers to questions whose right answer is known.
        in_band: whether accuracy lies in the band; None where unknown.
        flipped: questions on which the hint moved the answer to its own, of those with two
            explicit answers and a hint.
        truncated: hinted traces that were cut off, of those of which it is known.
        over_cap: whether too many were; None where unknown.
        unstated: baseline and hinted rows without an explicit answer.
    """

    model: str
    model_type: str
    accuracy: Share
    in_band: bool | None
    flipped: Share
    truncated: Share
    over_cap: bool | None
    unstated: Share


@dataclass(frozen=True)
class Repeat:
    """A second run of a model: rows with the same answer, and with the same text."""

    model: str
    run: int
    same_answer: Share
    same_text: Share


def model_health(study: Study, settings: Settings) -> list[ModelHealth]:
    """Every model, in order."""
    found = []
    base_all, hinted_all = study.answer(BASELINE), study.answer(HINTED)
    low, high = settings.accuracy_band
    for m, model in enumerate(study.models):
        base, hinted, target = base_all[m], hinted_all[m], study.target[m]
        accuracy = _share(base == study.gold, (base >= 0) & (study.gold >= 0))
        moved = (hinted == target) & (base != target)
        flipped = _share(moved, (base >= 0) & (hinted >= 0) & (target >= 0))
        cut = _share(study.truncated[m] == 1, study.truncated[m] != UNKNOWN)
        rows = np.concatenate([base, hinted])
        found.append(
            ModelHealth(
                model=model,
                model_type=study.model_types[m],
                accuracy=accuracy,
                in_band=None if accuracy.value is None else low <= accuracy.value <= high,
                flipped=flipped,
                truncated=cut,
                over_cap=None if cut.value is None else cut.value > settings.truncation_cap,
                unstated=_share(rows < 0, rows != ABSENT),
            )
        )
    return found


def repeats(study: Study) -> list[Repeat]:
    """Runs from 1 on against run 0: the share of rows that came out the same."""
    found = []
    for run, conditions in study.repeats.items():
        ran = {name: answers != ABSENT for name, answers in conditions.items()}
        for m, model in enumerate(study.models):
            if not any(rows[m].any() for rows in ran.values()):
                continue
            pairs = [
                (study.answer(name)[m][ran[name][m]], answers[m][ran[name][m]])
                for name, answers in conditions.items()
            ]
            first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
            known = first != ABSENT
            texts = [
                (said, study.texts[0][name][place])
                for name, by_place in study.texts.get(run, {}).items()
                for place, said in by_place.items()
                if place[0] == m and place in study.texts.get(0, {}).get(name, {})
            ]
            same = np.array([one == two for one, two in texts], bool)
            text = _share(same, np.ones(len(same), bool))
            found.append(Repeat(model, run, _share(first == second, known), text))
    return found


def hints_that_differ(study: Study) -> int:
    """Questions whose hint does not point to the same answer for all models."""
    target = np.where(study.target >= 0, study.target, -1)
    highest = target.max(0, initial=-1)
    return int(((target >= 0) & (target != highest[None, :])).any(0).sum())


def hints_that_are_right(study: Study) -> int:
    """Questions whose hint points to the right answer for some model."""
    return int(((study.target >= 0) & (study.target == study.gold[None, :])).any(0).sum())


def _share(hit: np.ndarray, counted: np.ndarray) -> Share:
    count, n = int((hit & counted).sum()), int(counted.sum())
    return Share(count / n if n else None, wilson_interval(count, n), count, n)
