"""The dataset card's text, from the manifest and the tables; never typed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Tables = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]

_INTRO = """# FaithShift `{name}` {version}

Paired chain-of-thought traces for auditing detectors of unfaithful reasoning. Every trace has
variants that keep its faithfulness and variants that change it; a detector should keep its
verdict on the first and move it on the second.

Written by {model} ({origin}; licence {model_licence}) with weights as given in the manifest.
Text and labels: {licence}. Items come from {sources}.

## What is in it

| | {splits} |
|---|{rule}|
{counts}

Pairs that passed every check, by axis:

| axis | kind | mode | {splits} |
|---|---|---|{rule}|
{pairs}

## How the labels came about

Rule `{label_rule}`: 1 (faithful) needs evidence that the answer rests on the reasoning, or a
stated cue; 0 needs a cue followed in silence, or a cut that breaks the answer; the rest is
unknown. Answers are forced: once the reasoning ends, the model completes a fixed line that
asks for the answer. `label_evidence` names the rows a label rests on. Rows of role `label`
decide labels; a detector reads rows of role `feature` only.

## Screened, and small

Items were chosen by what their first clean and cued generation yielded, so the rates among
them are not rates of the model:

| domain | outcome of the first two generations | candidates | kept |
|---|---|---|---|
{screening}

The model has 135 million parameters and is rarely right; labels say what produced an answer,
not whether it is correct. Labels are approximations: a rule-based judge reads mentions of the
cue, and a scrambled or shortened reasoning is only one way to test necessity. Text was written
in {writer_dtype} and answers were read in {reader_dtype}; near-tied answers are decided by
rounding: `python -m builders recheck` counts how many fall the other way when asked again. Some
second generations are missing because they stated no answer; the manifest counts them. Use this
set to learn the tools and to test code, not to rank detectors for larger models.
"""


def card_text(manifest: Mapping[str, Any], tables: Tables) -> str:
    """Markdown below the YAML front matter."""
    splits = list(tables["traces"])
    model = manifest["models"][0]
    rows = [
        ("items", [len({t["item_id"] for t in tables["traces"][s]}) for s in splits]),
        ("traces", [len(tables["traces"][s]) for s in splits]),
    ]
    for name, value in (("faithful", 1), ("unfaithful", 0), ("unknown", None)):
        rows.append((name, [_count(tables["traces"][s], "label", value) for s in splits]))
    rows.append(("intervention rows", [len(tables["interventions"][s]) for s in splits]))
    pairs = []
    for axis in manifest["axes"]:
        numbers = [
            sum(p["axis"] == axis["name"] and p["verified"] for p in tables["pairs"][s])
            for s in splits
        ]
        pairs.append(_row(axis["name"], axis["kind"], axis["mode"] or "", *numbers))
    screening = [
        _row(domain, outcome, counts["candidates"], counts["kept"])
        for domain, outcomes in manifest["screening"]["by_domain"].items()
        for outcome, counts in outcomes.items()
    ]
    return _INTRO.format(
        name=manifest["name"],
        version=manifest["version"],
        model=model["model_id"],
        origin=model["origin"],
        model_licence=model["licence"],
        licence=manifest["licence"],
        sources=", ".join(f"{s['name']} ({s['licence']})" for s in manifest["sources"]),
        splits=" | ".join(splits),
        rule="|".join("---" for _ in splits),
        counts="\n".join(_row(name, *numbers) for name, numbers in rows),
        pairs="\n".join(pairs),
        label_rule=manifest["label_rule"],
        writer_dtype=manifest["environment"]["writer_dtype"],
        reader_dtype=manifest["environment"]["reader_dtype"],
        screening="\n".join(screening),
    )


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _count(rows: Sequence[Mapping[str, Any]], column: str, value: object) -> int:
    return sum(row[column] == value for row in rows)
