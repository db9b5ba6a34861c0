"""Published figures against their own definitions: is each what its ingredients make of it?

A check says that a published figure equals, or is at most or at least, a formula over other
published figures. Every ingredient is known to half a unit of its last printed digit (integers
are exact), so a formula has a value at the printed ingredients and a range over what they can
stand for. Verdicts:

- ``consistent``: the value rounds to the printed figure (a tie may round either way), or the
  relation holds at the printed figures;
- ``rounding``: only some values inside the ingredients' rounding do;
- ``contradicts``: none does;
- ``cannot be derived``: an ingredient was not published.

A contradicted law (a relation that no data can break, such as MFS <= coverage) is ``impossible``.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from faithshift_bench.studies.sheet import Figure, Key, Missing, Reader, Sheet, Tables
from faithshift_data.errors import InputError

CONSISTENT, ROUNDING = "consistent", "rounding"
CONTRADICTS, UNKNOWN = "contradicts", "cannot be derived"
VERDICTS = (CONSISTENT, ROUNDING, CONTRADICTS, UNKNOWN)
RELATIONS = {"equals": "=", "at_most": "<=", "at_least": ">="}
EPS = 1e-9


@dataclass(frozen=True)
class Check:
    """One published figure against one formula.

    Attributes:
        place: where the figure is claimed.
        claim: the cell that holds it, such as ``T1d.sift.mfs``.
        at: the row whose columns the formula reads, where the claim lies outside it; else "".
        published: the figure as printed.
        relation: ``=``, ``<=`` or ``>=``, read "published relation formula".
        formula: over other figures.
        rule: why the relation should hold.
        recomputed: the formula at the printed ingredients; None where underivable.
        low: its least value over what the ingredients can stand for; None where unbounded.
        high: its greatest value, likewise.
        verdict: see the module.
        impossible: a contradicted law.
        reason: which ingredient is missing, where one is.
    """

    place: str
    claim: str
    at: str
    published: str
    relation: str
    formula: str
    rule: str
    recomputed: float | None
    low: float | None
    high: float | None
    verdict: str
    impossible: bool
    reason: str | None


def published_figures() -> dict[str, Any]:
    """The published tables that the package carries: figures as printed, by table and row."""
    text = (files("faithshift_bench") / "studies" / "published.json").read_text("utf-8")
    value: dict[str, Any] = json.loads(text)
    return value


def derivations() -> list[dict[str, Any]]:
    """The table of derivations that the package carries; its head says what a line means."""
    text = (files("faithshift_bench") / "studies" / "derivations.toml").read_text("utf-8")
    value: list[dict[str, Any]] = tomllib.loads(text)["checks"]
    return value


def paper_check(
    tables: Tables | None = None, lines: Sequence[Mapping[str, Any]] | None = None
) -> list[Check]:
    """Check ``tables`` (the published ones by default) by ``lines`` of derivations.

    Raises:
        InputError: a line names no figure, has no formula, or claims a cell without a number.
    """
    sheet = Sheet(published_figures() if tables is None else tables)
    checks: list[Check] = []
    for line in derivations() if lines is None else lines:
        for row in _rows(sheet, line.get("rows")):
            checks.append(_check(sheet, line, row))
    return checks


def count_verdicts(checks: Sequence[Check]) -> dict[str, int]:
    """Number of checks, of each verdict, and of impossible figures among the contradictions."""
    counts = Counter(check.verdict for check in checks)
    return {
        "checks": len(checks),
        **{verdict: counts[verdict] for verdict in VERDICTS},
        "impossible": sum(check.impossible for check in checks),
    }


def paper_check_dict(checks: Sequence[Check]) -> dict[str, Any]:
    """Counts and checks as plain values."""
    return {"counts": count_verdicts(checks), "checks": [asdict(check) for check in checks]}


def render_checks(checks: Sequence[Check]) -> str:
    """One line a check, then the counts."""
    lines = []
    for check in checks:
        verdict = "impossible" if check.impossible else check.verdict
        value = "?" if check.recomputed is None else f"{check.recomputed:.6g}{_range(check)}"
        what = check.claim + (f" at {check.at}" if check.at else "")
        lines.append(
            f"{verdict:<17} {check.place:<8} {what:<34} {check.published:>6} "
            f"{check.relation} {value}  [{check.formula}]  {check.reason or check.rule}"
        )
    counts = count_verdicts(checks)
    lines += [
        "",
        f"{counts['checks']} checks: "
        + ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
        + f"; {counts['impossible']} of the contradictions impossible by definition.",
    ]
    return "\n".join(lines)


def _range(check: Check) -> str:
    if check.verdict not in (ROUNDING, CONTRADICTS) or check.low == check.high is not None:
        return ""
    if check.low is None or check.high is None:
        return " (unbounded within rounding)"
    return f" ({check.low:.4g} to {check.high:.4g} within rounding)"


def _rows(sheet: Sheet, text: str | None) -> list[tuple[str, str] | None]:
    """Rows that a line ranges over: ``T1d``, ``T1d: biasing hidden`` or ``T1d - sift``."""
    if text is None:
        return [None]
    table, colon, wanted = text.partition(":")
    if colon:
        return [(table.strip(), row) for row in wanted.split()]
    table, _, unwanted = text.partition(" - ")
    return [(table, row) for row in sheet.rows(table) if row not in unwanted.split()]


def _check(sheet: Sheet, line: Mapping[str, Any], row: tuple[str, str] | None) -> Check:
    found = [name for name in RELATIONS if name in line]
    if len(found) != 1 or "claim" not in line:
        raise InputError("bad derivation", file="derivations", got=dict(line))
    formula = line[found[0]]
    key = sheet.key(line["claim"], row)
    figure = sheet.figure(key)
    if figure is None:
        raise InputError("no published number", file="derivations", field=".".join(key))
    value, low, high, reason = _evaluate(sheet, row, formula)
    verdict = UNKNOWN if value is None else _verdict(figure, RELATIONS[found[0]], value, low, high)
    return Check(
        place=line.get("place") or sheet.text((*key[:2], "place")) or key[0],
        claim=".".join(key[:2] if key[2] == "value" else key),
        at=".".join(row) if row and row != key[:2] else "",
        published=sheet.text(key) or "",
        relation=RELATIONS[found[0]],
        formula=formula,
        rule=line.get("rule", ""),
        recomputed=value,
        low=low if value is not None and math.isfinite(low) else None,
        high=high if value is not None and math.isfinite(high) else None,
        verdict=verdict,
        impossible=bool(line.get("law")) and verdict == CONTRADICTS,
        reason=reason,
    )


def _evaluate(
    sheet: Sheet, row: tuple[str, str] | None, formula: str
) -> tuple[float | None, float, float, str | None]:
    """Value at the printed ingredients, and its range over what they can stand for."""
    reader = Reader(sheet, row)
    try:
        value = reader(formula)
    except Missing as missing:
        return None, 0.0, 0.0, str(missing)
    steps: dict[Key, float] = {}
    for key in reader.used:
        figure = sheet.figure(key)
        if figure is not None and figure.half_unit < 0.5:
            steps[key] = figure.half_unit
    low, high = (_end(sheet, row, formula, steps, sign) for sign in (-1, 1))
    return value, min(low, value), max(high, value), None


def _end(
    sheet: Sheet,
    row: tuple[str, str] | None,
    formula: str,
    steps: Mapping[Key, float],
    sign: int,
) -> float:
    """The greatest (sign 1) or least (-1) value over the ends of every ingredient.

    Each ingredient takes the end that is better while the others are as printed; then, one after
    another, the end that is better where the others now are. A division by zero on the way
    leaves no bound.
    """

    def at(moved: Mapping[Key, float]) -> float:
        try:
            return sign * Reader(sheet, row, moved)(formula)
        except Missing:
            return math.inf

    moved = {
        key: step if at({key: step}) >= at({key: -step}) else -step for key, step in steps.items()
    }
    best = at(moved)
    for key in steps:
        other = {**moved, key: -moved[key]}
        if at(other) > best:
            moved, best = other, at(other)
    return sign * best


def _verdict(claim: Figure, relation: str, value: float, low: float, high: float) -> str:
    half = claim.half_unit
    if relation == "=":
        if abs(value - claim.value) <= half + EPS:
            return CONSISTENT
        meets = low < claim.value + half - EPS and high > claim.value - half + EPS
    elif relation == "<=":
        if claim.value <= value + EPS:
            return CONSISTENT
        meets = claim.value - half < high - EPS
    else:
        if claim.value >= value - EPS:
            return CONSISTENT
        meets = claim.value + half > low + EPS
    return ROUNDING if meets else CONTRADICTS
