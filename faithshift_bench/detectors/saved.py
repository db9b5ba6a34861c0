"""Saved detectors: what they were fitted on, and whether other data can be read by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faithshift_bench.detectors.base import DESCRIPTION, PROFILE, Detector
from faithshift_bench.detectors.registry import load_saved
from faithshift_bench.detectors.transfer import STORED, reader, tell_readers
from faithshift_bench.options import check_whole
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_data import FaithShift, View


def fitted_on(data: FaithShift, train: View) -> dict[str, Any]:
    """What a saved detector says of the data it was fitted on."""
    from faithshift_bench import __version__
    from faithshift_bench.evaluation import data_hash

    manifest = data.manifest
    labels = {"faithful": 1, "unfaithful": 0, "unknown": -1}
    return {
        "data": manifest.name,
        "version": manifest.version,
        "hash": data_hash(manifest.files),
        "licence": manifest.licence,
        "models": [model.model_id for model in manifest.models],
        "read_by": reader(data),
        "label_rule": manifest.label_rule,
        "traces": {name: int((train.labels == label).sum()) for name, label in labels.items()},
        "faithshift": __version__,
    }


def load_all(
    folder: str | Path, name: str, seeds: Sequence[int] | None = None
) -> dict[int, Detector]:
    """Saved detectors by seed, from a folder of ``seed-0`` and so on or from that of one.

    Args:
        folder: what ``faithshift detect --save`` wrote, or one folder in it.
        name: the detector that is wanted.
        seeds: which of them; all where omitted.

    Raises:
        InputError: none there, one of another name, two of one seed, or no such seed.
    """
    folder = Path(folder)
    alone = (folder / DESCRIPTION).is_file()
    places = [folder] if alone else [place.parent for place in folder.glob(f"seed-*/{DESCRIPTION}")]
    if not places:
        expected = f"{DESCRIPTION}, or folders seed-0, seed-1 ..."
        raise InputError("no saved detector", file=folder, expected=expected)
    found: dict[int, Detector] = {}
    for place in places:
        detector = load_saved(place)
        if detector.name != name:
            message = "another detector was saved here"
            raise InputError(message, file=place, expected=name, got=detector.name)
        seed = detector.fitted.get("seed", 0)
        check_whole("seed", seed)
        if seed in found:
            raise InputError("two saved detectors of one seed", file=folder, field="seed", got=seed)
        found[seed] = detector
    wanted = sorted(found) if seeds is None else list(seeds)
    for seed in wanted:
        if seed not in found:
            raise InputError("no such seed", file=folder, expected=sorted(found), got=seed)
    return {seed: found[seed] for seed in wanted}


def fitting_views(
    detector: Detector,
    views: Sequence[View],
    data: FaithShift,
    progress: Callable[[str], None] = lambda line: None,
) -> list[View]:
    """Views of data as a saved detector can read them, with the interventions it was fitted on.

    Args:
        detector: a fitted one.
        views: of ``data``.
        data: another dataset than it was fitted on, or the same.
        progress: called with a line where descriptors come from another model, or interventions
            are left out.

    Raises:
        InputError: the data lack an intervention.
    """
    if read_by := detector.fitted.get("read_by"):
        parts = [part for part in STORED if part in detector.needs]
        tell_readers(parts, read_by, reader(data), progress)
    profile = detector.params.get(PROFILE)
    if profile is None or "interventions" not in detector.needs:
        return list(views)
    names = views[0].interventions.names
    if missing := [name for name in profile if name not in names]:
        message = f"{detector.name} was fitted with interventions that are not here"
        raise InputError(message, file=data.name, expected=", ".join(missing))
    if left_out := [name for name in names if name not in profile]:
        progress(f"interventions that it was not fitted with, left out: {', '.join(left_out)}")
    return [view.with_interventions(profile) for view in views]
