"""An explanation as a picture: heat maps of families over steps and over layer bands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.explain.explanation import Explanation
from faithshift_bench.explain.text import LARGEST, name_of
from faithshift_data.atomic import open_atomic
from faithshift_data.errors import InputError

# Cells of a heat map beyond which their numbers would not be legible.
LEGIBLE = 96
UNIT = "adds to the log-odds of faithful"


class Axis(NamedTuple):
    """An attribute of `Feature` as the columns of a heat map."""

    key: str
    label: str
    other: str
    shift: int


AXES = (Axis("step", "step of the trace", "whole\ntrace", 1), Axis("band", "layer band", "none", 0))


def draw(found: Explanation, path: str | Path) -> Path:
    """Write the picture as PNG; needs the extra ``report``.

    Left, families over the steps of the trace; right, families over layer bands. A detector that
    knows neither gets bars of its largest parts. Blue speaks for faithful, red against it.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        message = "a picture needs matplotlib: pip install 'faithshift[report]'"
        raise InputError(message, field="-o") from error

    shown = [grid for axis in AXES if (grid := _grid(found, axis)) is not None]
    widths = [2 + len(grid.columns) for grid in shown] or [8]
    rows = max((len(grid.families) for grid in shown), default=0) or min(LARGEST, len(found.parts))
    figure = Figure(
        figsize=(max(7.0, 0.62 * sum(widths) + 2), 0.42 * rows + 2), layout="constrained"
    )
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
    most = max((float(np.nanmax(np.abs(grid.values))) for grid in shown), default=0.0) or 1.0
    for ax, grid in zip(axes, shown, strict=False):
        mesh = _heat(ax, grid, most)
    if shown:
        figure.colorbar(mesh, ax=axes.tolist(), label=UNIT)
    else:
        _bars(axes[0], found.by("family", "channel", "band", "step"))
    difference = found.log_odds - found.baseline
    figure.suptitle(
        f"{found.detector}: score {found.score:.2f} for {found.trace_id}\n"
        f"log-odds {found.log_odds:+.2f}, {difference:+.2f} from the mean of train",
        fontsize=10,
    )
    with open_atomic(Path(path)) as temporary:
        figure.savefig(temporary, format="png", dpi=120, metadata={"Software": None})
    return Path(path)


@dataclass(frozen=True)
class Grid:
    """Sums of parts, (families, columns); NaN where there is no such feature."""

    families: list[str]
    columns: list[str]
    values: NDArray[np.float64]
    label: str


def _grid(found: Explanation, axis: Axis) -> Grid | None:
    """Families over the values of an attribute of `Feature`; None where no feature has one."""
    sums = found.by("family", axis.key)
    places: list[Any] = sorted({place for _, place in sums if place is not None})
    if not places:
        return None
    if any(place is None for _, place in sums):
        places.append(None)
    families = list(dict.fromkeys(family for family, _ in sums))
    values = np.array([[sums.get((f, place), np.nan) for place in places] for f in families])
    names = [axis.other if place is None else str(place + axis.shift) for place in places]
    return Grid(families, names, values, axis.label)


def _heat(ax: Any, grid: Grid, most: float) -> Any:
    mesh = ax.imshow(grid.values, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
    ax.set_xticks(range(len(grid.columns)), grid.columns, fontsize=8)
    ax.set_yticks(range(len(grid.families)), grid.families, fontsize=9)
    ax.set_xlabel(grid.label)
    ax.set_facecolor("0.93")
    if grid.values.size <= LEGIBLE:
        for (row, column), value in np.ndenumerate(grid.values):
            if not np.isnan(value):
                ink = "white" if abs(value) > 0.6 * most else "black"
                ax.text(column, row, f"{value:+.2f}", ha="center", va="center", color=ink, size=7)
    return mesh


def _bars(ax: Any, sums: Mapping[tuple[Any, ...], float]) -> None:
    largest = sorted(sums.items(), key=lambda each: -abs(each[1]))[:LARGEST][::-1]
    colours = ["#b2182b" if value < 0 else "#2166ac" for _, value in largest]
    ax.barh([name_of(*key) for key, _ in largest], [value for _, value in largest], color=colours)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_xlabel(UNIT)
