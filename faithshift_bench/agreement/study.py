"""A study in memory: answers by condition, model and question, as small integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_data.errors import InputError
from faithshift_data.measure.verdicts import Case, Outcome

# Where an answer would stand: why there is none.
ABSENT, UNSTATED, UNVERIFIED, REGENERATED = -1, -2, -3, -4
WHY = {
    ABSENT: "no row",
    UNSTATED: "no explicit answer",
    UNVERIFIED: "injection not in place",
    REGENERATED: "wrote reasoning of its own",
}
INJECTION = {True: "verified", False: "failed", None: "unstated"}
OUTCOMES = tuple(Outcome)
YES, NO = OUTCOMES.index(Outcome.YES), OUTCOMES.index(Outcome.NO)
NOT_ASKED = -1
REFERENCE = "reference"
UNKNOWN = -1


@dataclass(frozen=True)
class Study:
    """Models (M) that answered questions (Q), both in ascending order of name.

    Answers are codes from 0, equal where the answers are, or one of the negative codes of
    ``WHY``. All arrays are read-only.

    Attributes:
        source: the file it was read from.
        models: names (M).
        model_types: "thinking", "instruct" or "" (M).
        questions: ids (Q).
        groups: subject of each question, or "" (Q).
        answers: condition -> int32 (M, Q), run 0.
        target: int32 (M, Q), the answer that the hint points to; negative where none is known.
        argued: int32 (M, Q), the answer that the injected reasoning of ``wrong`` argues for.
        gold: int32 (Q,), the right answer; -1 unknown.
        n_options: int32 (Q,); 0 unknown.
        truncated: int8 (M, Q), whether the hinted trace was cut off; -1 unknown.
        verdicts: judge -> int8 (M, Q), place in ``OUTCOMES``; -1 where it was not asked.
        reference: int8 (M, Q), 1 yes, 0 no, -1 no label.
        cases: (model, question) place -> what a judge reads, where the table has the texts.
        repeats: run (from 1) -> condition -> answers int32 (M, Q), of models that ran again.
        texts: run -> condition -> (model, question) place -> reasoning, where the table has it.
        arrivals: condition with injected text -> verified, failed, unstated -> rows of run 0.
        options: code -> answer as written.
        silences: judge that was asked -> reason -> traces without a verdict.
    """

    source: str
    models: tuple[str, ...]
    model_types: tuple[str, ...]
    questions: tuple[str, ...]
    groups: tuple[str, ...]
    answers: Mapping[str, NDArray[np.int32]]
    target: NDArray[np.int32]
    argued: NDArray[np.int32]
    gold: NDArray[np.int32]
    n_options: NDArray[np.int32]
    truncated: NDArray[np.int8]
    verdicts: Mapping[str, NDArray[np.int8]]
    reference: NDArray[np.int8]
    cases: Mapping[tuple[int, int], Case] = field(repr=False, default_factory=dict)
    repeats: Mapping[int, Mapping[str, NDArray[np.int32]]] = field(default_factory=dict)
    texts: Mapping[int, Mapping[str, Mapping[tuple[int, int], str]]] = field(
        repr=False, default_factory=dict
    )
    arrivals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    silences: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of models and of questions."""
        return len(self.models), len(self.questions)

    @property
    def injections(self) -> dict[str, int]:
        """verified, failed, unstated -> rows of run 0 with injected text."""
        return self.arrived(self.arrivals)

    def arrived(self, conditions: Iterable[str]) -> dict[str, int]:
        """The same of some conditions."""
        found = [self.arrivals.get(condition, {}) for condition in conditions]
        return {word: sum(each.get(word, 0) for each in found) for word in INJECTION.values()}

    def answer(self, condition: str) -> NDArray[np.int32]:
        """Answers (M, Q) under a condition; all ``ABSENT`` where nobody was asked."""
        return self.answers.get(condition, np.full(self.shape, ABSENT, np.int32))

    def outcomes(self, judge: str) -> NDArray[np.int8]:
        """(M, Q) outcomes of a judge.

        Raises:
            InputError: the study has no verdicts of it.
        """
        if judge not in self.verdicts:
            expected = ", ".join(self.verdicts) or "a column verdict:JUDGE"
            where = {"file": self.source, "field": "judge"}
            raise InputError("no verdicts of it", **where, expected=expected, got=judge)
        return self.verdicts[judge]

    def said(self, judge: str) -> NDArray[np.int8]:
        """(M, Q): 1 yes, 0 no, -1 no verdict of a judge."""
        outcome = self.outcomes(judge)
        return np.where(outcome == YES, 1, np.where(outcome == NO, 0, UNKNOWN)).astype(np.int8)

    def with_verdicts(
        self,
        judge: str,
        outcomes: Mapping[tuple[int, int], Outcome],
        silences: Mapping[str, int] | None = None,
    ) -> Study:
        """The same study with a judge's outcomes by (model, question) place.

        Args:
            judge: its name.
            outcomes: what came of asking it.
            silences: reason -> traces without a verdict.

        Raises:
            InputError: the name that the labels of persons have.
        """
        check_judge_name(judge, file=self.source, field="judge")
        found = np.full(self.shape, NOT_ASKED, np.int8)
        for place, outcome in outcomes.items():
            found[place] = OUTCOMES.index(outcome)
        return replace(
            self,
            verdicts={**self.verdicts, judge: found},
            silences={**self.silences, judge: silences or {}},
        )


def check_judge_name(name: str, **where: Any) -> None:
    """Refuse a judge that could not be told from the labels of persons.

    Raises:
        InputError: it has their name.
    """
    if name == REFERENCE:
        message = "a judge of this name cannot be told from the labels of persons"
        raise InputError(message, **where, expected="another name", got=name)
