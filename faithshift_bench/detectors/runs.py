"""Fit a detector on train, score validation and test, once a seed; or score with a saved one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from faithshift_bench.detectors import training as trainings
from faithshift_bench.detectors.base import Progress, check_device
from faithshift_bench.detectors.failures import in_one_line
from faithshift_bench.detectors.registry import chosen_params, load_detector
from faithshift_bench.detectors.saved import fitted_on, fitting_views, load_all
from faithshift_bench.detectors.scored import Scored
from faithshift_bench.detectors.scored import save_scores as save_scores
from faithshift_bench.detectors.transfer import check_transfer, share_interventions
from faithshift_bench.targets import check_folder
from faithshift_data.errors import InputError
from faithshift_data.schema import SPLITS

if TYPE_CHECKING:
    import pyarrow as pa

    from faithshift_bench.detectors.base import Detector
    from faithshift_data import FaithShift, View

SCORED = ("validation", "test")
Say = Callable[[str], None]
# Given what is being trained, what to call after each of its epochs.
Watch = Callable[[str], Progress]


def silent(line: str) -> None:
    """Say nothing."""


def unwatched(label: str) -> Progress:
    """Show no epochs."""
    return lambda epoch, of, figures: None


def run_detector(
    name: str,
    data: FaithShift,
    seeds: Sequence[int] = (0, 1, 2, 3),
    *,
    fit_on: FaithShift | None = None,
    params: dict[str, float | int | str] | None = None,
    save: str | Path | None = None,
    device: str = "cpu",
    progress: Say = silent,
    watch: Watch = unwatched,
) -> pa.Table:
    """Scores of every trace of validation and test, once a seed.

    Traces that `faithshift measure` could not measure get no score from a detector that reads
    descriptors or states.

    Args:
        name: a detector's name.
        data: an open dataset.
        seeds: training seeds, all different.
        fit_on: another dataset to fit on, by its train split; traces of train are then scored, too.
            Both must hold the same descriptors, and interventions that only one holds are left out.
        params: parameters of the detector.
        save: folder for the fitted detectors, ``save/seed-0`` and so on, each with what it was
            fitted on.
        device: such as ``cpu`` or ``cuda``; most detectors run on the first alone.
        progress: called with a line at each seed: when it starts, what its training came to, and
            whether it hardly learned; and where something is left out.
        watch: given a label of a seed, what to call after each epoch.

    Returns:
        Columns trace_id, seed, score in [0, 1] (probability that the trace is faithful) and, where
        the detector has one of its own, confidence in [0, 1]. Its schema's metadata names the
        detector and holds its trainings.

    Raises:
        InputError: unknown detector, parameter or device, repeated seeds, data without the parts
            that the detector needs or of another shape, scores outside [0, 1], or whatever its
            fit or score raises.
    """
    if save is not None:
        check_folder(Path(save))
    if not seeds or len(set(seeds)) != len(seeds) or min(seeds) < 0:
        expected = "different seeds, 0 or more"
        raise InputError("bad seeds", field="seeds", expected=expected, got=list(seeds))
    params = params or {}
    detector = load_detector(name, **params)
    check_device(detector, device)
    if fit_on is not None:
        check_transfer(fit_on, data, detector.needs, progress)
    source = fit_on or data
    learned = learning_views(detector, source)
    views = _views(data, detector, SCORED if fit_on is None else SPLITS, progress)
    if fit_on is not None and "interventions" in detector.needs:
        learned, views = share_interventions(learned, views, progress)
    scored = Scored()
    for seed in seeds:
        detector = load_detector(name, **params)
        detector.device = device
        fit(detector, *learned, seed=seed, progress=progress, watch=watch)
        if save is not None:
            detector.fitted = {**fitted_on(source, learned[0]), "seed": seed}
            detector.save(Path(save) / f"seed-{seed}")
        scored.add(detector, views, seed)
    about = {} if fit_on is None else {"fit_on": fit_on.name}
    chosen = chosen_params(type(detector), detector.params)
    return scored.table(detector, params=chosen, **about)


def apply_saved(
    name: str,
    data: FaithShift,
    folder: str | Path,
    seeds: Sequence[int] | None = None,
    *,
    device: str = "cpu",
    progress: Say = silent,
) -> pa.Table:
    """Scores from what ``run_detector(..., save=folder)`` kept, on the same data or on others.

    Of the data it was fitted on, validation and test are scored; of others, every trace.

    Args:
        name: the detector's name.
        data: an open dataset.
        folder: of the saved detectors, or of a single one.
        seeds: which of them; all where omitted.
        device: as of `run_detector`.
        progress: called with a line a seed, and where something is left out.

    Raises:
        InputError: no saved detector of that name there, no such seed, or data that it cannot read.
    """
    from faithshift_bench.evaluation import data_hash

    found = load_all(folder, name, seeds)
    scored = Scored()
    for seed, detector in found.items():
        check_device(detector, device)
        detector.device = device
        progress(f"{name}: seed {seed}, fitted on {detector.fitted.get('data', 'unknown data')}")
        own = detector.fitted.get("hash") == data_hash(data.manifest.files)
        views = _views(data, detector, SCORED if own else SPLITS, progress)
        scored.add(detector, fitting_views(detector, views, data, progress), seed)
    about = {} if own else {"fit_on": detector.fitted.get("data")}
    chosen = chosen_params(type(detector), detector.params)
    return scored.table(detector, params=chosen, **about)


def fit(
    detector: Detector,
    train: View,
    tune: View | None = None,
    *,
    seed: int,
    progress: Say = silent,
    watch: Watch = unwatched,
) -> Detector:
    """Fit, with the tune view where the detector takes one; its record becomes plain JSON.

    Args:
        detector: an unfitted one.
        train: what it learns from.
        tune: labelled rows to stop early on.
        seed: of the training.
        progress: as of `run_detector`.
        watch: as there.
    """
    label = f"{detector.name}: seed {seed}"
    progress(label)
    detector.progress = watch(label)
    more = {} if tune is None or len(tune) == 0 else {"tune": tune}
    with in_one_line(detector.name, "fit"):
        detector.fit(train, seed=seed, **more)
    detector.training = trainings.plain(detector.training, detector.name)
    if line := trainings.closing_line(detector.training):
        progress(f"{label}: {line}")
    for line in trainings.warnings(detector.training):
        progress(f"{label}: {line}")
    return detector


def learning_views(
    detector: Detector, data: FaithShift, *, only: Collection[str] | None = None
) -> list[View]:
    """The views that `fit` takes: train, and tune where the detector's fit has that keyword.

    Args:
        detector: says what it needs.
        data: an open dataset.
        only: trace ids; other traces are left out.
    """
    views = [data.view("train", needs=detector.needs, only=only)]
    if "tune" in inspect.signature(detector.fit).parameters:
        views.append(data.view("validation", "tune", needs=detector.needs, only=only))
    return views


def _views(
    data: FaithShift, detector: Detector, splits: Sequence[str], progress: Say
) -> list[View]:
    views = [data.view(split, needs=detector.needs) for split in splits]
    left_out = sum(data.table("traces", split).num_rows for split in splits) - sum(map(len, views))
    if left_out:
        progress(f"not measured, and without a score: {left_out} traces")
    return views
