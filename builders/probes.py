"""Which interventions every withheld trace has, so that their number tells nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from faithshift_data.measure.interventions import Probe
from faithshift_data.schema import AnswerStatus, Role
from faithshift_data.withheld import probe_name

Row = dict[str, Any]
_ANSWERED = ("response", "answer", "answer_status", "changed", "injection_verified")
_NOTHING = {
    "response": None,
    "answer": None,
    "answer_status": str(AnswerStatus.NONE),
    "changed": None,
    "injection_verified": False,
}


def common_probes(
    traces: Mapping[str, Row],
    rows: Iterable[Row],
    original: Mapping[str, str],
    new_id: Callable[..., str],
) -> tuple[list[Row], tuple[str, ...]]:
    """Feature interventions that every trace has, without seeds and injected texts.

    A build probes anchors more than their partners, and cued traces also without their cue: what
    only some traces have is left out. Where a probe does not apply to a trace by its words alone,
    as a cut that would change nothing, it is there without an answer.

    Args:
        traces: the withheld rows by their new id.
        rows: their interventions.
        original: their ids before, by which a probe draws its words.
        new_id: makes an id from a prefix and parts.

    Returns:
        The rows, and the name of each intervention as often as every trace has it, sorted.
    """
    found: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if row["role"] == Role.FEATURE:
            name = probe_name(row["kind"], row["fraction"])
            found.setdefault(name, {}).setdefault(row["trace_id"], []).append(row)
    kept, names = [], []
    for name, by_trace in sorted(found.items()):
        example = next(iter(by_trace.values()))[0]
        probe = Probe(example["kind"], example["fraction"], example["seed"], Role.FEATURE)
        lacking = [key for key in traces if key not in by_trace]
        if any(_applies(probe, original[key], traces[key]) for key in lacking):
            continue
        count = min(map(len, by_trace.values()))
        names += [name] * count
        for key in traces:
            by_seed = sorted(by_trace.get(key, ()), key=lambda row: row["seed"])
            for number in range(count):
                answered = by_seed[number] if by_seed else _NOTHING
                kept.append(
                    {
                        "intervention_id": new_id("f", key, name, number),
                        "trace_id": key,
                        "kind": probe.kind,
                        "fraction": probe.fraction,
                        "role": str(Role.FEATURE),
                        **{column: answered[column] for column in _ANSWERED},
                    }
                )
    return kept, tuple(names)


def _applies(probe: Probe, trace_id: str, trace: Row) -> bool:
    """Whether a probe should have been there; one of an unknown kind should."""
    try:
        return probe.inject(trace_id, trace["reasoning"] or "") is not None
    except ValueError:
        return True
