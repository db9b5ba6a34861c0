"""The metric's page: rows of scored traces in, the Meta-Faithfulness Score and its parts out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COLUMNS = ("predictions", "references", "trace_id", "anchor_id", "item_id", "axis", "kind")
EXAMPLE = [
    [0.9, 1, "a", "", "i", "", ""],
    [0.8, 1, "a1", "a", "i", "paraphrase", "preserving"],
    [0.2, 0, "a2", "a", "i", "cue_injection", "altering"],
    [0.6, 1, "b", "", "j", "", ""],
    [0.7, 0, "b1", "b", "j", "cue_injection", "altering"],
]
ABOUT = """How steady and how sensitive a detector of unfaithful reasoning is: one row a trace.
`predictions` is its score, `references` is 1 faithful, 0 unfaithful or -1 unknown; `anchor_id`,
`axis` and `kind` (preserving or altering) say what a trace was made from, and are empty for an
anchor."""


def score(rows: Sequence[Sequence[Any]], threshold: float) -> dict[str, Any]:
    """The figures of a table; what is wrong with it, if something is."""
    from faithshift_bench.meta_faithfulness.compute import meta_faithfulness

    filled = [row for row in rows if any(str(cell).strip() for cell in row)]
    try:
        columns: dict[str, list[Any]] = {
            name: [row[place] for row in filled] for place, name in enumerate(COLUMNS)
        }
        for name in COLUMNS[:2]:
            columns[name] = [float(cell) for cell in columns[name]]
        for name in COLUMNS[2:]:
            columns[name] = [str(cell or "").strip() for cell in columns[name]]
        return meta_faithfulness(**columns, threshold=threshold)
    except ValueError as error:
        return {"error": str(error)}


def main() -> None:
    """Serve the page."""
    import gradio

    table = gradio.Dataframe(EXAMPLE, headers=list(COLUMNS), type="array", label="scored traces")
    threshold = gradio.Slider(0, 1, 0.5, label="a verdict is score > threshold")
    page = gradio.Interface(
        score, [table, threshold], gradio.JSON(), title="meta_faithfulness", description=ABOUT
    )
    page.launch()


if __name__ == "__main__":
    main()
