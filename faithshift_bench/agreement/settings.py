"""What is fixed before scores are seen, the hash of it, and the log of what was changed later."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from faithshift_bench.agreement.metrics import METRICS, VARIANTS
from faithshift_data.errors import InputError

PREREGISTRATION, AMENDMENTS = "preregistration.toml", "amendments.toml"
SHIPPED = "as shipped"
# What a run says of itself; a cue that it used is a fact, and no setting that somebody chose.
RUN = "run.json"
# Under so many the ends of a 95% interval rest on one or two draws.
LEAST_RESAMPLES = 100
LOG_FIELDS = {"date": str, "field": str, "to": object, "reason": str, "after_scores": bool}


@dataclass(frozen=True)
class Settings:
    """How metrics are compared; ``preregistration.toml`` says what each field means."""

    variants: tuple[str, ...]
    trace_cut: float
    min_traces: int
    n_resamples: int
    seed: int
    reversal_level: float
    judge: str
    elicitation: str
    judge_kappa: float
    robust_tau: float
    robust_shift: float
    accuracy_band: tuple[float, float]
    truncation_cap: float


@dataclass(frozen=True)
class Amendment:
    """A setting that was changed after it had been fixed.

    ``after_scores``: whether a score had been seen; None where nobody said, as on a command line.
    """

    date: str
    field: str
    before: Any
    to: Any
    reason: str
    after_scores: bool | None


@dataclass(frozen=True)
class Plan:
    """The settings in force, where they were fixed, and how they came about.

    Attributes:
        settings: after all amendments.
        source: ``SHIPPED``, or the name of the study's own file.
        sha256: of that file, hex; an amendment does not change it.
        amendments: in the order of their file; then what the command line set.
        run: name of the file from which the cue was taken up; "" where a plan says it, or nobody.
    """

    settings: Settings
    source: str
    sha256: str
    amendments: tuple[Amendment, ...]
    run: str = ""

    def standing(self, field: str) -> str:
        """Whether a setting was fixed in advance, and if it was amended, when, in words."""
        found = [each.after_scores for each in self.amendments if each.field == field]
        if not found:
            return "fixed in advance"
        if True in found:
            return "amended after scores were seen"
        return "amended" if None in found else "amended before scores were seen"

    def amend(self, field: str, to: Any, reason: str) -> Plan:
        """The same plan with a setting changed, and the change in the log.

        Raises:
            InputError: a value out of range.
        """
        before = getattr(self.settings, field)
        if before == to:
            return self
        settings = _settings({field: to}, self.settings, reason)
        entry = Amendment("", field, before, getattr(settings, field), reason, None)
        return replace(self, settings=settings, amendments=(*self.amendments, entry))


def read_settings(study: str | Path | None = None) -> Plan:
    """The plan of a study: its own, or the shipped one.

    Args:
        study: the table, or its folder; ``preregistration.toml``, ``amendments.toml`` and
            ``run.json`` may lie beside the table. None: there are none. The ``elicitation`` of a
            run is taken up where no plan states one.

    Raises:
        InputError: a file that is not TOML or JSON, an unknown field, a value of another type or
            out of range, or a plan with another cue than the run.
    """
    shipped = (files("faithshift_bench.agreement") / PREREGISTRATION).read_bytes()
    base = _settings(_parse(shipped, PREREGISTRATION), None, PREREGISTRATION)
    plan = Plan(base, SHIPPED, hashlib.sha256(shipped).hexdigest(), ())
    if study is None:
        return plan
    folder = Path(study) if Path(study).is_dir() else Path(study).parent
    own, log = folder / PREREGISTRATION, folder / AMENDMENTS
    if own.is_file():
        data = own.read_bytes()
        settings = _settings(_parse(data, own), base, own)
        plan = Plan(settings, PREREGISTRATION, hashlib.sha256(data).hexdigest(), ())
    if log.is_file():
        for number, entry in enumerate(_entries(_parse(log.read_bytes(), log), log)):
            before = getattr(plan.settings, entry["field"])
            settings = _settings({entry["field"]: entry["to"]}, plan.settings, log, number)
            change = Amendment(before=before, **entry)
            plan = replace(plan, settings=settings, amendments=(*plan.amendments, change))
    used, planned = _elicitation(folder / RUN), plan.settings.elicitation
    if used is None or used == planned:
        return plan
    if planned:
        where: dict[str, Any] = {"file": folder / RUN, "field": "elicitation"}
        raise InputError("another cue than planned", **where, expected=planned, got=used)
    return replace(plan, settings=replace(plan.settings, elicitation=used), run=RUN)


def _elicitation(made: Path) -> str | None:
    """The cue that a run says it used; None where it does not."""
    if not made.is_file():
        return None
    try:
        said = json.loads(made.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError("not JSON", file=made, got=str(error)) from None
    if not isinstance(said, dict):
        got = type(said).__name__
        raise InputError("not an object", file=made, expected="a JSON object", got=got)
    cue = said.get("elicitation")
    if cue is not None and not isinstance(cue, str):
        where: dict[str, Any] = {"file": made, "field": "elicitation"}
        raise InputError("bad type", **where, expected="text", got=type(cue).__name__)
    return cue


def _parse(data: bytes, source: object) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError("not TOML", file=source, got=str(error)) from None


def _entries(log: Mapping[str, Any], source: Path) -> Sequence[dict[str, Any]]:
    entries = log.get("amendment", [])
    if set(log) - {"amendment"} or not isinstance(entries, list):
        raise InputError("not a log of amendments", file=source, expected="[[amendment]] tables")
    for number, entry in enumerate(entries):
        for name, kind in LOG_FIELDS.items():
            # A date without quotes is a date of TOML's own.
            if name == "date" and name in entry:
                entry[name] = str(entry[name])
            if not isinstance(entry.get(name), kind):
                where: dict[str, Any] = {"file": source, "row": number, "field": name}
                expected = "a value" if kind is object else kind.__name__
                raise InputError("missing or bad", **where, expected=expected, got=entry.get(name))
        if extra := sorted(set(entry) - set(LOG_FIELDS)):
            raise InputError("unknown field", file=source, row=number, field=extra[0])
        _known(entry["field"], source, number)
        try:
            datetime.fromisoformat(entry["date"])
        except ValueError:
            where = {"file": source, "row": number, "field": "date"}
            expected = "a date such as 2026-01-31"
            raise InputError("no date", **where, expected=expected, got=entry["date"]) from None
    return entries


def _known(field: str, source: object, row: int | None = None) -> None:
    names = [each.name for each in fields(Settings)]
    if field not in names:
        expected = ", ".join(names)
        raise InputError("no such setting", file=source, row=row, field=field, expected=expected)


def _settings(
    given: Mapping[str, Any], base: Settings | None, source: object, row: int | None = None
) -> Settings:
    checked: dict[str, Any] = {}
    for name, value in given.items():
        _known(name, source, row)
        holds, expected = _RULES[name]
        value = tuple(value) if isinstance(value, list) else value
        if isinstance(value, bool) or not holds(value):
            where: dict[str, Any] = {"file": source, "row": row, "field": name}
            raise InputError("bad setting", **where, expected=expected, got=value)
        checked[name] = value
    return Settings(**checked) if base is None else replace(base, **checked)


def _number(low: float, high: float, *, whole: bool = False) -> tuple[Any, str]:
    kinds = (int,) if whole else (int, float)
    kind = "a whole number" if whole else "a number"
    return (
        lambda value: isinstance(value, kinds) and low <= value <= high,
        f"{kind} from {low:g} to {high:g}",
    )


def _one_a_metric(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) != len(METRICS):
        return False
    metrics = [
        METRICS[1] if str(name).startswith("filler@") else VARIANTS[name].metric
        for name in value
        if name in VARIANTS or str(name).startswith("filler@")
    ]
    return metrics == list(METRICS)


def _band(value: Any) -> bool:
    holds, _ = _number(0, 1)
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(map(holds, value))
        and (value[0] < value[1])
    )


_RULES: dict[str, tuple[Any, str]] = {
    "variants": (_one_a_metric, f"one variant each of {', '.join(METRICS)}"),
    "trace_cut": _number(0, 99),
    "min_traces": _number(1, 10**6, whole=True),
    "n_resamples": _number(LEAST_RESAMPLES, 10**5, whole=True),
    "seed": _number(0, 2**32 - 1, whole=True),
    "reversal_level": _number(0.5, 1),
    "judge": (lambda value: isinstance(value, str), "a name"),
    "elicitation": (lambda value: isinstance(value, str), "text"),
    "judge_kappa": _number(-1, 1),
    "robust_tau": _number(-1, 1),
    "robust_shift": _number(0, 10**6),
    "accuracy_band": (_band, "two shares, the lower first"),
    "truncation_cap": _number(0, 1),
}
