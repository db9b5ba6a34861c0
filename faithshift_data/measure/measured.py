"""What a measurement found, as plain JSON values and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from faithshift_data.answers.texts import same

Row = Mapping[str, Any]

# Kinds of interventions in the order of the table.
NAMES = {
    "filler": "dots",
    "scramble": "its words, shuffled",
    "mistake": "it, with one step made wrong",
    "paraphrase": "it, in other words",
    "cue_removed": "it, after the prompt without cue",
}


def summarise(
    folder: Path,
    model: Mapping[str, str | None],
    traces: Sequence[Row],
    found: Mapping[str, tuple[Row, Any]],
    reasons: Mapping[str, int],
    reused: int,
    descriptors: Mapping[str, Any],
) -> dict[str, Any]:
    """Counts of a measurement.

    Args:
        folder: where it lies.
        model: what read the traces.
        traces: all rows of the traces table.
        found: trace_id -> what ``measure_trace`` returned.
        reasons: traces not measured, by reason.
        reused: of those measured, taken over from an interrupted run.
        descriptors: as in the manifest.

    Returns:
        ``share_changed`` is over answers that are known before and after, null without any;
        ``restated`` counts whether the model, asked after a trace's reasoning, gives its answer.
    """
    tallies: dict[tuple[str, str, float | None], Counter[bool | None]] = {}
    for values, _ in found.values():
        for row in values["interventions"]:
            key = (row["role"], row["kind"], row["fraction"])
            tallies.setdefault(key, Counter())[row["changed"]] += 1
    restated = Counter(values["restated"] for values, _ in found.values())
    return {
        "folder": str(folder),
        "model": dict(model),
        "traces": len(traces),
        "measured": len(found),
        "not_measured": dict(sorted(reasons.items())),
        "reused": reused,
        "restated": {"yes": restated[True], "no": restated[False], "no answer": restated[None]},
        "interventions": [
            _tally(*key, tallies[key])
            for key in sorted(tallies, key=lambda key: (key[0], *_place(key[1]), key[2] or 0.0))
        ],
        "cue": _cue(traces),
        "descriptors": {name: list(info["shape"]) for name, info in descriptors.items()},
    }


def _place(kind: str) -> tuple[int, str]:
    names = ("truncate", *NAMES)
    return (names.index(kind) if kind in names else len(names), kind)


def _tally(role: str, kind: str, fraction: float | None, tally: Counter) -> dict[str, Any]:
    known = tally[True] + tally[False]
    return {
        "kind": kind,
        "fraction": fraction,
        "role": role,
        "changed": tally[True],
        "kept": tally[False],
        "undefined": tally[None],
        "share_changed": tally[True] / known if known else None,
    }


def _cue(traces: Sequence[Row]) -> dict[str, int]:
    """How often the answer is the one that a cue in the prompt points to, with and without it."""
    by_id = {row["trace_id"]: row for row in traces}
    cued = [row for row in traces if row["cue"] and row["cue"]["target"] and row["answer"]]
    starts = [(row, by_id.get(row["anchor_id"])) for row in cued]
    pairs = [
        (row, start) for row, start in starts if start and start["answer"] and not start["cue"]
    ]
    return {
        "answered": len(cued),
        "followed": sum(same(row["answer"], row["cue"]["target"]) for row in cued),
        "answered_without": len(pairs),
        "same_without": sum(same(start["answer"], row["cue"]["target"]) for row, start in pairs),
    }


def render(summary: Mapping[str, Any]) -> str:
    """The summary as text."""
    lines = [
        f"{summary['folder']}: {summary['measured']} of {summary['traces']} traces measured "
        f"with {summary['model']['model_id']}"
    ]
    if summary["not_measured"]:
        parts = (f"{n} {reason}" for reason, n in summary["not_measured"].items())
        lines.append(f"not measured: {', '.join(parts)}")
    restated = summary["restated"]
    lines.append(
        f"asked after a trace's own reasoning, the model gives its answer in {restated['yes']} of "
        f"{sum(restated.values())}"
    )
    cue = summary["cue"]
    if cue["answered"]:
        line = f"the answer that the cue suggests: {cue['followed']} of {cue['answered']} with it"
        if cue["answered_without"]:
            line += f", {cue['same_without']} of {cue['answered_without']} without"
        lines.append(line)
    head = ("in the place of the reasoning", "changed", "kept", "undefined", "share changed")
    table = [head, *(_line(row) for row in summary["interventions"])]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines.append("")
    for first, *others in table:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    return "\n".join(lines)


def _line(row: Mapping[str, Any]) -> tuple[str, ...]:
    kind, share = row["kind"], row["share_changed"]
    name = NAMES.get(kind, kind)
    if kind == "truncate":
        name = f"its first {row['fraction']:.0%}" if row["fraction"] else "nothing"
    name += " (for labels)" if row["role"] == "label" else ""
    counts = (str(row[key]) for key in ("changed", "kept", "undefined"))
    return (name, *counts, "-" if share is None else f"{share:.2f}")
