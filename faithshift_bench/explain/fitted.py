"""The detector that is explained: a saved one, or one fitted for the purpose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from faithshift_bench.detectors.registry import load_detector
from faithshift_bench.detectors.runs import Say, Watch, fit, learning_views, silent, unwatched
from faithshift_bench.detectors.saved import load_all
from faithshift_bench.detectors.transfer import check_transfer, share_interventions
from faithshift_bench.options import check_number
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_bench.detectors import Detector
    from faithshift_data import FaithShift


def fitted_detector(
    name: str,
    data: FaithShift,
    *,
    load: str | Path | None = None,
    seed: int | None = None,
    explained: FaithShift | None = None,
    params: dict[str, float | int | str] | None = None,
    progress: Say = silent,
    watch: Watch = unwatched,
) -> Detector:
    """A detector to explain.

    Args:
        name: the detector's name.
        data: whose train split it is fitted on, if it is not loaded.
        load: a folder of saved detectors.
        seed: of the training; the first of the folder, or 0, where omitted.
        explained: whose traces it will explain, if not ``data``: what only one of the two holds is
            left out or refused, as by `run_detector`.
        params: parameters, if it is not loaded.
        progress: as of `run_detector`.
        watch: as there.

    Raises:
        InputError: as of `run_detector` and `load_all`, or parameters for a saved detector.
    """
    if seed is not None:
        check_number("seed", seed, least=0, most=999_999, whole=True)
    if load is None:
        detector = load_detector(name, **(params or {}))
        views = learning_views(detector, data)
        if explained is not None:
            check_transfer(data, explained, detector.needs, progress)
            if "interventions" in detector.needs:
                there = explained.view("test", needs=("interventions",), only=())
                views, _ = share_interventions(views, [there], progress)
        return fit(detector, *views, seed=seed or 0, progress=progress, watch=watch)
    if params:
        message = "a saved detector is as it was fitted"
        raise InputError(message, field="--param", expected="nothing beside --load")
    return next(iter(load_all(load, name, None if seed is None else (seed,)).values()))
