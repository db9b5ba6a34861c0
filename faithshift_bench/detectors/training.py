"""What a detector says of its training: in plain values, in a line, and what to be warned of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from faithshift_data.errors import InputError

# A detector that kept no later epoch is hardly more than its start.
EARLY = 1


def plain(training: Any, detector: str) -> dict[str, Any]:
    """The record as JSON values: numpy numbers become Python's, what is not finite becomes null.

    Raises:
        InputError: it is no mapping, or holds something that JSON has no form for.
    """
    value = _plain(training, detector)
    if not isinstance(value, dict):
        got = type(training).__name__
        raise InputError("bad record", file=detector, field="training", expected="a dict", got=got)
    return value


def closing_line(training: Mapping[str, Any]) -> str | None:
    """Which epoch was kept and when training ended; None where nothing was trained by epochs."""
    found = list(_trainings(training))
    if not found:
        return None
    if len(found) > 1:
        kept = ", ".join(str(each["epoch"]) for _, each in found)
        return f"epochs kept by its {len(found)} members: {kept}"
    record = found[0][1]
    line = f"epoch {record['epoch']} of {record.get('of', '?')} kept"
    ran, most = record.get("epochs"), record.get("of")
    if isinstance(ran, int) and isinstance(most, int) and ran < most:
        line += f", stopped early after {ran}"
    best = _value_at(record)
    return line if best is None else f"{line}; {record['chosen_by']} {best:.3f}"


def warnings(training: Mapping[str, Any]) -> list[str]:
    """One line for each training that diverged, or kept its start, first epoch or a warm-up's."""
    lines = []
    for who, record in _trainings(training):
        kept = f"{who}kept epoch {record['epoch']} of {record.get('of', '?')}: "
        weight, full = record.get("irm_weight"), record.get("irm_weight_full")
        if record.get("diverged") is True:
            lines.append(kept + "it ended by a loss that is not finite")
        elif record["epoch"] <= EARLY:
            lines.append(kept + "no later one was better, so it hardly learned")
        elif isinstance(weight, float) and isinstance(full, float) and weight < full:
            lines.append(f"{kept}in the warm-up, its IRM penalty weighing {weight:g} of {full:g}")
    return lines


def seed_warnings(trainings: Any) -> list[str]:
    """The warnings by seed, from what a file of scores says of itself."""
    if not isinstance(trainings, Mapping):
        return []
    return [f"seed {seed} {line}" for seed, found in trainings.items() for line in warnings(found)]


def _trainings(training: Any, who: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The records in a training by who they are of; what is no record has none."""
    if not isinstance(training, Mapping):
        return
    if isinstance(training.get("epoch"), int):
        yield who, training
    members = training.get("members")
    for number, member in enumerate(members if isinstance(members, list) else (), 1):
        yield from _trainings(member, f"{who}member {number} ")


def _value_at(record: Mapping[str, Any]) -> float | None:
    curves, at = record.get("curves"), record["epoch"] - 1
    curve = curves.get(record.get("chosen_by")) if isinstance(curves, Mapping) else None
    value = curve[at] if isinstance(curve, list) and 0 <= at < len(curve) else None
    return value if isinstance(value, float | int) else None


def _plain(value: Any, detector: str) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each, detector) for key, each in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each, detector) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    message = "cannot be written as JSON"
    raise InputError(message, file=detector, field="training", got=type(value).__name__)
