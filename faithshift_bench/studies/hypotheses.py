"""The prespecified hypotheses, the hash of their file, and how one is judged.

The limits live in ``hypotheses.toml`` alone; this file only applies them.
"""

from __future__ import annotations

import hashlib
import math
import operator
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from faithshift_data.errors import InputError

SUPPORTED, NOT_SUPPORTED = "supported", "not supported"
INCONCLUSIVE, UNDEFINED = "inconclusive", "undefined"
LIMITS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "low_at_least": ("low", operator.ge),
    "low_above": ("low", operator.gt),
    "high_at_most": ("high", operator.le),
    "high_below": ("high", operator.lt),
    "value_above": ("value", operator.gt),
    "value_below": ("value", operator.lt),
}


@dataclass(frozen=True)
class Estimate:
    """A point estimate and its 95 % interval; None where undefined. ``n`` counts items.

    Of a certified upper bound, ``value`` and ``high`` are the bound and ``low`` is 0.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int | None = None

    @property
    def defined(self) -> bool:
        """Whether the point and both ends are there."""
        return None not in (self.value, self.low, self.high)


@dataclass(frozen=True)
class Hypothesis:
    """One entry of ``hypotheses.toml``; that file says what the fields mean."""

    id: str
    claim: str
    needs: str
    units: tuple[str, ...]
    parts: tuple[Mapping[str, Any], ...]
    post_hoc: bool = False


@dataclass(frozen=True)
class Part:
    """One quantity of one unit, and its own outcome."""

    quantity: str
    unit: str
    estimate: Estimate
    outcome: str


@dataclass(frozen=True)
class Judgement:
    """The outcome of a hypothesis, and of each of its parts."""

    hypothesis: Hypothesis
    outcome: str
    parts: tuple[Part, ...]

    def to_text(self) -> str:
        """The outcome and claim, then a line a part with estimate, interval and n."""
        flag = " (statistic chosen afterwards)" if self.hypothesis.post_hoc else ""
        lines = [f"{self.hypothesis.id}: {self.outcome}{flag}. {self.hypothesis.claim}"]
        for part in self.parts:
            e = part.estimate
            figures = f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]" if e.defined else "undefined"
            n = f", n = {e.n}" if e.n is not None else ""
            lines.append(f"  {part.quantity} of {part.unit}: {figures}{n}: {part.outcome}")
        return "\n".join(lines)


@cache
def hypotheses_sha256() -> str:
    """Hex sha256 of ``hypotheses.toml`` as shipped; it changes with any edit."""
    return hashlib.sha256(_file()).hexdigest()


def hypotheses() -> dict[str, Hypothesis]:
    """All prespecified hypotheses by id, in the order of the file."""
    entries = tomllib.loads(_file().decode())["hypothesis"]
    return {
        entry["id"]: Hypothesis(
            **{**entry, "units": tuple(entry["units"]), "parts": tuple(entry["parts"])}
        )
        for entry in entries
    }


def judge(
    hypothesis: str | Hypothesis, estimates: Mapping[str, Mapping[str, Estimate]]
) -> Judgement:
    """Judge a hypothesis from estimates by quantity and unit.

    With ``every`` one refuted part refutes, however many are undefined; with ``any`` one
    supported part supports. Otherwise an undefined part leaves the hypothesis undefined.

    Args:
        hypothesis: an id such as ``S.H1``, or one of :func:`hypotheses`.
        estimates: ``{quantity: {unit: estimate}}``; what is absent is undefined.

    Raises:
        InputError: an unknown id, a quantity or unit that the hypothesis does not name, or an
            interval that is not finite or ends before it begins.
    """
    found = hypotheses()
    if isinstance(hypothesis, str) and hypothesis not in found:
        raise InputError(
            "no such hypothesis", field="hypothesis", got=hypothesis, expected=" | ".join(found)
        )
    chosen = found[hypothesis] if isinstance(hypothesis, str) else hypothesis
    _known(estimates, [part["quantity"] for part in chosen.parts], "quantity")
    parts: list[Part] = []
    for part in chosen.parts:
        given = estimates.get(part["quantity"], {})
        _known(given, chosen.units, "unit")
        for unit in chosen.units:
            estimate = given.get(unit, Estimate(None, None, None))
            parts.append(Part(part["quantity"], unit, estimate, _outcome(part, estimate)))
    outcomes = {part.outcome for part in parts}
    decisive = {"every": NOT_SUPPORTED, "any": SUPPORTED}[chosen.needs]
    for outcome in (decisive, UNDEFINED, INCONCLUSIVE):
        if outcome in outcomes:
            return Judgement(chosen, outcome, tuple(parts))
    # Every part has the one outcome that is left.
    return Judgement(chosen, outcomes.pop(), tuple(parts))


def _outcome(part: Mapping[str, Any], estimate: Estimate) -> str:
    if not estimate.defined:
        return UNDEFINED
    numbers = [getattr(estimate, name) for name in ("value", "low", "high")]
    if not all(math.isfinite(x) for x in numbers) or numbers[1] > numbers[2]:
        raise InputError("bad interval", field=part["quantity"], got=estimate)
    for key, outcome in (("supported", SUPPORTED), ("refuted", NOT_SUPPORTED)):
        limits = [(LIMITS[name], limit) for name, limit in part[key].items()]
        if all(holds(getattr(estimate, end), limit) for (end, holds), limit in limits):
            return outcome
    return INCONCLUSIVE


def _known(given: Mapping[str, Any], names: Sequence[str], field: str) -> None:
    for name in given:
        if name not in names:
            raise InputError("not prespecified", field=field, got=name, expected=" | ".join(names))


def _file() -> bytes:
    return (files("faithshift_bench") / "studies" / "hypotheses.toml").read_bytes()
