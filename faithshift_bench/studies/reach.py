"""How far a detector carries: from one model to itself, another seed, another architecture.

For data of several models whose faithfulness is known by mechanism. A detector is fitted on the
traces of one model at a time and judged on traces of test that have a cue; without one the
mechanisms may leave no mark before the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.registry import load_detector
from faithshift_bench.detectors.runs import Say, fit, silent
from faithshift_bench.metrics.separation import no_separation, separation
from faithshift_data.schema import LabelRule

if TYPE_CHECKING:
    from faithshift_data import FaithShift

SAME, SEED, ARCHITECTURE = REACHES = ("same model", "another seed", "another architecture")


@dataclass(frozen=True)
class Writers:
    """Which model, of which architecture, wrote each of n traces; str (n,)."""

    models: NDArray[np.str_]
    families: NDArray[np.str_]


def learned_on(reach: str) -> str:
    """The split that is learned from: test's models write validation, others write train."""
    return "validation" if reach == SAME else "train"


def meetings(
    learned: Writers, judged: Writers, reach: str
) -> Iterator[tuple[str, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Each model that is learned from, its rows among ``learned``, and the rows it is judged on.

    Args:
        learned: of the split `learned_on`.
        judged: of test.
        reach: one of ``REACHES``.
    """
    for model in sorted(set(learned.models.tolist())):
        rows = learned.models == model
        family = learned.families[rows][0]
        if reach == SAME:
            yield model, rows, judged.models == model
        else:
            yield model, rows, (judged.families == family) == (reach == SEED)


def has_reaches(data: FaithShift) -> bool:
    """Whether labels are known by mechanism, and several models wrote."""
    return data.manifest.label_rule == LabelRule.MECHANISM and len(data.manifest.models) > 1


def carry(
    name: str,
    data: FaithShift,
    seeds: Sequence[int],
    *,
    n_resamples: int = 1000,
    progress: Say = silent,
) -> dict[str, dict[str, Any]]:
    """AUROC by reach, mean over seeds, with an interval over items.

    Nothing is stopped early on tune, whose traces are of the models that judge. Where several
    fits judge one trace, as other architectures do, their scores are pooled.

    Args:
        name: a detector's name.
        data: `has_reaches`.
        seeds: training seeds.
        n_resamples: of the intervals.
        progress: called with a line a fit.

    Returns:
        Reach -> what `separation` returns.

    Raises:
        InputError: data without the parts that the detector needs.
    """
    rows = {split: _Rows(data, split) for split in ("train", "validation", "test")}
    judge = rows["test"]
    needs = load_detector(name).needs
    view = data.view("test", needs=needs, only=judge.ids)
    at = np.searchsorted(judge.ids, view.trace_ids)
    found: dict[str, list[NDArray]] = {reach: [] for reach in REACHES}
    places: dict[str, list[NDArray]] = {reach: [] for reach in REACHES}
    fits: dict[tuple[str, str, int], NDArray] = {}
    sources = {"train": data, "validation": data.with_train("validation")}
    for reach in REACHES:
        split = learned_on(reach)
        for model, learned, judged in meetings(rows[split].writers, judge.writers, reach):
            if len(set(rows[split].labels[learned].tolist())) < 2 or not judged[at].any():
                continue
            for seed in seeds:
                if (split, model, seed) not in fits:
                    train = sources[split].view("train", needs=needs, only=rows[split].ids[learned])
                    detector = fit(load_detector(name), train, seed=seed)
                    progress(f"{name}: seed {seed}, fitted on {model} alone")
                    fits[split, model, seed] = detector.score(view)
            scores = np.stack([fits[split, model, seed] for seed in seeds])
            found[reach].append(scores[:, judged[at]])
            places[reach].append(at[judged[at]])
    return {
        reach: _figures(found[reach], places[reach], judge, n_resamples)
        if found[reach]
        else no_separation("no two models to compare")
        for reach in REACHES
    }


def _figures(
    scores: list[NDArray], places: list[NDArray], judge: _Rows, n_resamples: int
) -> dict[str, Any]:
    rows = np.concatenate(places)
    labels, items = judge.labels[rows], judge.items[rows]
    return separation(np.concatenate(scores, axis=1), labels, items, n_resamples=n_resamples)


class _Rows:
    """The traces of a split that have a cue, by trace id."""

    def __init__(self, data: FaithShift, split: str) -> None:
        columns = ["trace_id", "item_id", "model_id", "model_family", "label", "cue"]
        rows = data.table("traces", split).select(columns).sort_by("trace_id").to_pylist()
        rows = [row for row in rows if row["cue"] is not None]
        self.ids = np.array([row["trace_id"] for row in rows], dtype=str)
        self.items = np.array([row["item_id"] for row in rows], dtype=str)
        self.labels = np.array([-1 if row["label"] is None else row["label"] for row in rows])
        self.writers = Writers(
            np.array([row["model_id"] for row in rows], dtype=str),
            np.array([row["model_family"] for row in rows], dtype=str),
        )
