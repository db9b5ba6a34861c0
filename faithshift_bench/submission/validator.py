"""The one validator: what ``faithshift submit`` refuses, the board refuses, in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from faithshift_bench.metrics.ranking import auroc
from faithshift_bench.score_stream import match_scores
from faithshift_bench.submission.bounds import MAX_SEEDS, check_bounds
from faithshift_bench.submission.card import DetectorCard
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_data import FaithShift

CHANCE = 0.5


class Validated(NamedTuple):
    """What a sound submission holds.

    Attributes:
        seeds: of the detector.
        n_traces: of validation and test, each scored once a seed.
        n_ignored: rows of train, which are left out.
        auroc: mean over seeds on validation traces whose label is public, in [0, 1], .5 at
            chance; None where they are of one label or none.
        n_labelled: how many such traces there are.
    """

    seeds: tuple[int, ...]
    n_traces: int
    n_ignored: int
    auroc: float | None
    n_labelled: int


def validate(
    scores: Path,
    card: DetectorCard,
    data: FaithShift,
    *,
    below_chance: bool = False,
    source: str | None = None,
) -> Validated:
    """Check scores and their card against the public folder of a board.

    Args:
        scores: a .parquet, .csv or .jsonl file with all seeds.
        card: of the detector.
        data: the folder that was scored; its labels of test need not be there.
        below_chance: an AUROC under .5 is meant, not scores of the other direction.
        source: what messages call the file; its name where omitted.

    Raises:
        InputError: one line for the first mistake, with file, row and field.
    """
    source = source or scores.name or str(scores)
    traces = data.table("traces").select(["trace_id", "split", "label"]).to_pylist()
    check_bounds(scores, len(traces), source)
    scored = sorted((row["trace_id"], row) for row in traces if row["split"] != "train")
    train = [row["trace_id"] for row in traces if row["split"] == "train"]
    ids = np.array([name for name, _ in scored], dtype=np.str_)
    aligned, _, about = match_scores(scores, ids, train)
    if len(aligned.seeds) > MAX_SEEDS:
        got = len(aligned.seeds)
        expected = f"{MAX_SEEDS} at most"
        raise InputError("too many seeds", file=source, field="seed", expected=expected, got=got)
    if about.get("reads_label_evidence") and not card.declares["label_rule"]:
        message = "the scores say that the detector reads label evidence, the card does not"
        raise InputError(message, file="card", field="declares.label_rule", expected="true")
    label = np.array([-1 if row["label"] is None else row["label"] for _, row in scored])
    known = np.array([row["split"] == "validation" for _, row in scored]) & (label >= 0)
    found = [auroc(row[known], label[known]).value for row in aligned.scores]
    values = [value for value in found if value is not None]
    mean = float(np.mean(values)) if values else None
    if mean is not None and mean < CHANCE and not below_chance:
        raise InputError(
            "below chance on validation: a score is the probability that a trace is faithful; "
            "if that is meant, say --i-mean-it",
            file=source,
            field="score",
            expected=f"an AUROC of {CHANCE} at least",
            got=f"{mean:.3f}",
        )
    return Validated(aligned.seeds, len(ids), aligned.n_ignored, mean, int(known.sum()))
