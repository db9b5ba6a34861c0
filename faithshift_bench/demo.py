"""The whole loop on one dataset: fit, score, evaluate, print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from faithshift_bench.board import render_board
from faithshift_bench.detectors.registry import BASELINES, CONTROLS, detector_class
from faithshift_bench.detectors.runs import run_detector, save_scores
from faithshift_bench.evaluation import evaluate_scores
from faithshift_bench.render import reports_html
from faithshift_data.atomic import write_text
from faithshift_data.dataset import embedded
from faithshift_data.dataset import open as open_data
from faithshift_data.errors import InputError
from faithshift_data.withheld import need_labels

SEEDS = (0, 1, 2, 3)
# The embedded data whose faithfulness is known by mechanism, and seeds enough to show it.
KNOWN, KNOWN_SEEDS = "organisms", (0, 1)


def run_known(
    out: str | Path, *, progress: Callable[[str], None] = lambda line: None
) -> str | None:
    """The demo's second part: detectors where the truth is known; None where that data is not.

    Args:
        out: folder of the demo; this part writes into its folder ``organisms``.
        progress: called with a line at each step.
    """
    if KNOWN not in embedded():
        return None
    board = run_demo(KNOWN, Path(out) / KNOWN, seeds=KNOWN_SEEDS, progress=progress)
    return f"Where faithfulness is known by mechanism\n\n{board}"


def run_demo(
    data: str | Path,
    out: str | Path,
    *,
    seeds: Sequence[int] = SEEDS,
    n_resamples: int = 1000,
    progress: Callable[[str], None] = lambda line: None,
) -> str:
    """Score and evaluate controls and baselines; one whose parts the data lack is left out.

    Writes ``report.html`` (where the extra ``report`` is installed) and
    ``scores/<detector>.parquet`` into ``out``.

    Args:
        data: embedded name or folder.
        out: folder to write into; files of an earlier run are replaced.
        seeds: training seeds.
        n_resamples: bootstrap resamples of the intervals.
        progress: called with a line at each step.

    Returns:
        Two blocks of text: at full coverage, and certified.

    Raises:
        InputError: no such dataset, or one that withholds labels.
    """
    started = perf_counter()
    out = Path(out)
    dataset = open_data(data)
    need_labels(dataset)
    reports = []
    for name in (*CONTROLS, *BASELINES):
        try:
            table = run_detector(name, dataset, seeds)
        except InputError as error:
            if set(detector_class(name).needs) <= {"text"}:
                raise
            progress(f"{name} left out: {error}")
            continue
        scores = save_scores(table, out / "scores" / f"{name}.parquet")
        reports.append(evaluate_scores(scores, dataset, n_resamples=n_resamples))
        progress(f"{name}: {len(seeds)} seeds in {perf_counter() - started:.0f} s")
    try:
        write_text(out / "report.html", reports_html(reports))
        progress(f"wrote {out / 'report.html'} and {out / 'scores'}")
    except ImportError as error:
        progress(f"wrote {out / 'scores'}, but no report.html: {error}")
    return render_board(reports)
