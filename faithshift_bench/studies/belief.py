"""What a benchmark says that believes a label rule, where the mechanism is known.

Scores stay as they are. Labels of tune, calib and test are those of the rule, and with them the
verdict threshold, the certificates, and the kinds and directions of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.board import figure, span, text_table
from faithshift_bench.core import Evaluation, evaluate_arrays
from faithshift_bench.evaluation import frame_of
from faithshift_bench.frame import Frame
from faithshift_bench.metrics.verdicts import margin, select
from faithshift_bench.score_stream import match_scores
from faithshift_bench.studies.truth import MECHANISM, Share, known_rows, label_of, share

if TYPE_CHECKING:
    from faithshift_data import FaithShift

MOVE_COLUMNS = ("detector", "labels", "pairs p/a", "IVR", "95%", "AS", "95%", "HM", "certified",
                "coverage", "MFS", "risk believed", "risk true", "95%")  # fmt: skip


@dataclass(frozen=True)
class Move:
    """One detector's figures when some labels are believed; its scores stay as they are.

    Attributes:
        detector: its name.
        labels: the rule that is believed on tune, calib and test, or ``mechanism``.
        full, certified: the operating points of :func:`evaluate_scores`.
        believed_risk: share of wrong verdicts among the certified ones of test, by the believed
            labels, where they are known; seeds that certify are pooled.
        true_risk: the same by the mechanism, on all certified verdicts.
    """

    detector: str
    labels: str
    full: dict[str, Any]
    certified: dict[str, Any]
    believed_risk: Share
    true_risk: Share


def moves(
    data: FaithShift,
    scores: Mapping[str, Any],
    believed: Mapping[str, Mapping[str, int]],
    *,
    alpha: float = 0.25,
    delta: float = 0.05,
    n_resamples: int = 1000,
    seed: int = 0,
) -> list[Move]:
    """What each detector's figures are by the mechanism, and by each rule in its place.

    Pairs keep their ends and their axis; two believed labels decide of which kind a pair is.

    Args:
        data: with labels by mechanism.
        scores: detector -> its scores, as :func:`evaluate_scores` takes them.
        believed: rule -> trace_id -> 1, 0 or -1, for every trace.
        alpha: risk target of the certificates.
        delta: their error probability.
        n_resamples: of test items; 0 leaves intervals out.
        seed: of the resamples.

    Raises:
        InputError: as :func:`confusions` and :func:`evaluate_scores` do.
    """
    rows = known_rows(data)
    mechanism = {row["trace_id"]: row["label"] for row in rows}
    by_rule = {MECHANISM: mechanism} | {
        rule: {trace: label_of(labels, trace, rule) for trace in mechanism}
        for rule, labels in believed.items()
    }
    framed = {rule: frame_of(data, labels) for rule, labels in by_rule.items()}
    found = []
    for name, table in scores.items():
        for rule, (frame, train) in framed.items():
            aligned = match_scores(table, frame.trace_id, train).aligned
            made = evaluate_arrays(
                frame,
                aligned.scores,
                aligned.confidence,
                seeds=aligned.seeds,
                alpha=alpha,
                delta=delta,
                n_resamples=n_resamples,
                seed=seed,
                draw_seed=data.manifest.draw_seed,
                redraws=0,
            )
            truth = np.array([mechanism[trace] for trace in frame.trace_id.tolist()])
            risks = [
                _risk(frame, aligned.scores, aligned.confidence, made, by, n_resamples, seed)
                for by in (frame.label, truth)
            ]
            found.append(Move(name, rule, made.full, made.certified, *risks))
    return found


def render_moves(found: Sequence[Move]) -> str:
    """Aligned text, a row a detector and the labels that are believed."""
    rows = [
        (
            each.detector,
            each.labels,
            f"{each.full['n_preserving']}/{each.full['n_altering']}",
            figure(each.full["ivr"]),
            span(each.full["intervals"]["ivr"]),
            figure(each.full["as"]),
            span(each.full["intervals"]["as"]),
            figure(each.full["hm"]),
            each.certified.get("seeds_certified", "-"),
            figure(each.certified["coverage"]),
            figure(each.certified["mfs"]),
            figure(each.believed_risk.value),
            figure(each.true_risk.value),
            span(each.true_risk.interval),
        )
        for each in found
    ]
    return "\n".join(text_table(MOVE_COLUMNS, rows))


def _risk(
    frame: Frame,
    scores: NDArray[np.float64],
    confidence: NDArray[np.float64] | None,
    made: Evaluation,
    label: NDArray,
    n_resamples: int,
    seed: int,
) -> Share:
    """Share of wrong verdicts among those of test that the certified seeds commit on."""
    wrong, items = [], []
    for row, each in enumerate(made.seeds):
        threshold = (each["certificate"] or {}).get("threshold")
        if threshold is None:
            continue
        trust = margin(scores[row], each["tau"]) if confidence is None else confidence[row]
        shown = (frame.fold == "test") & (label >= 0) & select(trust, threshold)
        wrong.append(((scores[row] > each["tau"]) != label)[shown])
        items.append(frame.items[frame.item[shown]])
    if not wrong:
        return Share(None, None, 0, 0)
    hit = np.concatenate(wrong)
    return share(hit, np.ones_like(hit), np.concatenate(items), n_resamples, seed)
