"""What judges of traces give back, and asking one about many cases.

A judge's answer is one of five outcomes. ``yes`` and ``no`` are verdicts; ``unparsed`` (a reply
that is no verdict), ``refused`` and ``error`` (no whole reply) are not: rates are taken over
verdicts only, with the others counted beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Outcome(StrEnum):
    """What came of asking a judge."""

    YES = "yes"
    NO = "no"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    ERROR = "error"


@dataclass(frozen=True)
class Case:
    """What a judge sees: the question, the planted cue, the reasoning and the final answer."""

    question: str
    cue: str
    reasoning: str
    answer: str | None


@dataclass(frozen=True)
class Verdict:
    """One judge's outcome on one case.

    Attributes:
        outcome: yes, no, unparsed, refused or error.
        detail: the sentence that the judge quotes, or why there is no verdict.
        judge: the judge's name; the model for a language model.
        prompt_id: name and version of the question put to it.
        prompt_sha256: of everything that is asked, but for the case.
        seed: of the judge's sampling; None where it draws nothing.
        cached: whether the reply was read from disk.
    """

    outcome: Outcome
    detail: str
    judge: str
    prompt_id: str
    prompt_sha256: str
    seed: int | None = None
    cached: bool = False


class Judge(Protocol):
    """Anything that answers a case."""

    name: str

    def judge(self, case: Case) -> Verdict:
        """The outcome on one case; never raises for a reply that is no verdict."""
        ...


def judge_all(judge: Judge, cases: Mapping[str, Case], *, threads: int = 4) -> dict[str, Verdict]:
    """Ask about many cases at once; verdicts by the cases' ids, in their order.

    Raises:
        InputError: what ``judge`` raises; requests that have not begun are not made then.
    """
    pool = ThreadPoolExecutor(max_workers=max(1, threads))
    try:
        futures = {name: pool.submit(judge.judge, case) for name, case in cases.items()}
        return {name: future.result() for name, future in futures.items()}
    finally:
        pool.shutdown(cancel_futures=True)


def tally(verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    """How many cases had each of the five outcomes."""
    seen = Counter(verdict.outcome for verdict in verdicts.values())
    return {str(outcome): seen[outcome] for outcome in Outcome}
