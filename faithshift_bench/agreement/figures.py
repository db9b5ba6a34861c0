"""The figures of a comparison, as SVG and PNG bytes: the same input gives the same bytes."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.agreement.analysis import Agreements
from faithshift_bench.agreement.ranking import LEVELS, Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
# Okabe and Ito's colours, told apart with any colour vision; then greys.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5f5f5f", "#000000")
MARKS = ("o", "s", "D", "^", "v", "P", "X", "*")
MOST_PAIRS = 40
STYLE = {
    "svg.hashsalt": "faithshift",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def figures_of(made: Agreements) -> dict[str, dict[str, bytes]]:
    """Name -> {"svg": ..., "png": ...} of every figure that has something to show.

    Raises:
        ImportError: matplotlib is absent.
    """
    import matplotlib

    found = {}
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the tables have it in full.
        warnings.filterwarnings("ignore", r"Glyph \d+ .*missing from", UserWarning)
        for name, draw in (
            ("ranks", _ranks),
            ("preferences", _preferences),
            ("reversal_curve", _curve),
            ("judge_swap", _judges),
        ):
            figure = draw(made)
            if figure is not None:
                found[name] = _bytes(figure)
    return found


def _ranks(made: Agreements) -> Figure | None:
    """Rank slope chart: a line a model, a column a metric."""
    from matplotlib.figure import Figure

    rankings = list(made.rankings.values())
    ranks = np.array([[m.rank if m.rank else np.nan for m in r.models] for r in rankings])
    if np.isnan(ranks).all():
        return None
    n, names = ranks.shape[1], [_text(m.model) for m in rankings[0].models]
    # Columns are 1.9 inches apart; beside the outer ones there is room for the longest name.
    margin = 0.2 + 0.038 * max(map(len, names))
    width = 1.9 * (len(rankings) - 1 + 2 * margin) + 0.9
    figure = Figure(figsize=(max(width, 7.0), 1.5 + 0.42 * max(n, 4)), layout="constrained")
    axes = figure.add_subplot()
    reversing = {name for r in made.reversals for name in (r.higher, r.lower)}
    for m, model in enumerate(rankings[0].models):
        strong = model.model in reversing
        axes.plot(
            range(len(rankings)),
            ranks[:, m],
            color=COLOURS[m % len(COLOURS)],
            # Beyond eight models a colour comes again, with another mark.
            marker=MARKS[(m + m // len(COLOURS)) % len(MARKS)],
            linewidth=2.2 if strong else 1.4,
            linestyle="-" if strong else "--",
            markersize=6,
        )
    shown = ~np.isnan(ranks)
    for column in range(len(rankings)):
        # In the middle only those are named that have no end.
        middle = 0 < column < len(rankings) - 1
        named = shown[column] & ~(shown[0] | shown[-1]) if middle else shown[column]
        _name(axes, column, ranks[column], names, named, right=column > 0)
    axes.set_xticks(range(len(rankings)), [_words(r.metric) for r in rankings])
    axes.set_xlim(-margin, len(rankings) - 1 + margin)
    axes.set_ylim(n + 0.6, 0.4)
    axes.set_yticks(range(1, n + 1))
    axes.set_ylabel("rank (1: most faithful)")
    axes.set_title("Rank of each model by metric; solid: in a pair that reverses", fontsize=10)
    return figure


def _name(
    axes: Axes, column: int, ranks: Floats, names: Sequence[str], named: Bools, *, right: bool
) -> None:
    """Names beside the points of a column; of models that tie, below each other."""
    for rank in sorted(set(ranks[named].tolist())):
        tied = [name for name, own in zip(names, named & (ranks == rank), strict=True) if own]
        axes.text(
            column + (0.07 if right else -0.07),
            rank,
            "\n".join(tied),
            ha="left" if right else "right",
            va="center",
            fontsize=9,
            linespacing=0.95,
        )


def _preferences(made: Agreements) -> Figure | None:
    """P(first model scores higher) under each metric, a row a pair of models."""
    from matplotlib.figure import Figure

    metrics = list(made.preferences)
    pairs = [
        (pair[0].first, pair[0].second, [each.value for each in pair])
        for pair in zip(*made.preferences.values(), strict=True)
    ]
    pairs = [pair for pair in pairs if any(value is not None for value in pair[2])]
    if not pairs:
        return None
    pairs = sorted(pairs, key=lambda pair: -_spread(pair[2]))
    shown, total = pairs[:MOST_PAIRS], len(pairs)
    level = made.plan.settings.reversal_level
    reversing = {frozenset((r.higher, r.lower)) for r in made.reversals}
    labels = [f"{_text(a)} > {_text(b)}" for a, b, _ in shown]
    figure = Figure(figsize=(_width(labels), 1.7 + 0.32 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    for low, high in ((0, 1 - level), (level, 1)):
        axes.axvspan(low, high, color="#eeeeee", zorder=0)
    axes.axvline(0.5, color="#999999", linewidth=0.8, zorder=1)
    for row, (_, _, values) in enumerate(shown):
        known = [value for value in values if value is not None]
        axes.plot([min(known), max(known)], [row, row], color="#bbbbbb", linewidth=1, zorder=1)
    for k, metric in enumerate(metrics):
        # Metrics that say the same must not hide each other.
        lift = 0.2 * (k - (len(metrics) - 1) / 2)
        points = [(v[k], row + lift) for row, (_, _, v) in enumerate(shown) if v[k] is not None]
        if points:
            x, y = zip(*points, strict=True)
            axes.scatter(x, y, s=34, color=COLOURS[k], marker=MARKS[k], label=_words(metric),
                         zorder=2, edgecolor="white", linewidth=0.5)  # fmt: skip
    axes.set_yticks(range(len(shown)), labels)
    for label, (a, b, _) in zip(axes.get_yticklabels(), shown, strict=True):
        label.set_fontweight("bold" if frozenset((a, b)) in reversing else "normal")
        label.set_fontsize(8.5)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("share of resamples in which the first model scores higher")
    more = f" ({len(shown)} of {total} pairs)" if total > len(shown) else ""
    title = f"Which model each metric prefers{more}; bold: reverses at {level:g}"
    axes.set_title(title, fontsize=10, pad=28)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(metrics), frameon=False)
    return figure


def _curve(made: Agreements) -> Figure | None:
    """Number of reversing pairs at each level."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    if not any(sum(curve.counts) for curve in made.curves):
        return None
    figure = Figure(figsize=(7.6, 3.2), layout="constrained")
    axes = figure.add_subplot()
    for k, curve in enumerate(made.curves):
        label = f"{_words(curve.first)} / {_words(curve.second)}"
        line = ("-", "--", ":")[k % 3]
        axes.step(LEVELS, curve.counts, where="post", color=COLOURS[k], linestyle=line, linewidth=2,
                  label=label)  # fmt: skip
    chance = max((curve.by_chance for curve in made.curves), key=sum)
    axes.plot(LEVELS, chance, color="#999999", linewidth=1.2, label="by chance, if all were equal")
    level, standing = made.plan.settings.reversal_level, made.plan.standing("reversal_level")
    axes.axvline(level, color="#999999", linewidth=0.8)
    axes.set_xlabel(f"level p (the line: {level:g}, {standing})")
    axes.set_ylabel("pairs that reverse")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    title = f"Reversals among {made.n_comparable} pairs of models"
    axes.set_title(title, fontsize=10, pad=42)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8.5)
    return figure


def _judges(made: Agreements) -> Figure | None:
    """Score by biasing features under each judge, a row a model."""
    from matplotlib.figure import Figure

    rankings = list(made.judge_rankings.values())
    if len(rankings) < 2:
        return None
    scored = [
        m
        for m in range(len(rankings[0].models))
        if any(r.models[m].value is not None for r in rankings)
    ]
    if not scored:
        return None
    order = sorted(scored, key=lambda m: -(rankings[0].models[m].value or 0.0))
    labels = [_text(rankings[0].models[m].model) for m in order]
    figure = Figure(figsize=(_width(labels), 1.7 + 0.42 * len(order)), layout="constrained")
    axes = figure.add_subplot()
    for k, ranking in enumerate(rankings):
        offset = 0.24 * (k - (len(rankings) - 1) / 2)
        for row, m in enumerate(order):
            each = ranking.models[m]
            if each.value is None:
                continue
            label = _text(ranking.metric) if row == _first(ranking, order) else None
            axes.plot([each.value], [row + offset], color=COLOURS[k % 8], marker=MARKS[k % 8],
                      linestyle="", label=label, markersize=6)  # fmt: skip
            if each.interval:
                axes.plot(each.interval, [row + offset] * 2, color=COLOURS[k % 8], linewidth=1.4)
    axes.set_yticks(range(len(order)), labels)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("biasing features: share that acknowledges the hint, 95%")
    axes.set_title("The same traces under different judges", fontsize=10, pad=28)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(rankings), frameon=False)
    return figure


def _first(ranking: Ranking, order: Sequence[int]) -> int:
    return next(row for row, m in enumerate(order) if ranking.models[m].value is not None)


def _spread(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return max(known) - min(known)


def _width(labels: Sequence[str]) -> float:
    """Inches that leave five for the data beside the longest label."""
    return 5.6 + 0.085 * max(map(len, labels))


def _words(metric: str) -> str:
    return _text(metric.replace("_", " "))


def _text(name: str) -> str:
    """A name as matplotlib prints it: a dollar sign starts no formula; long ones are cut."""
    short = name if len(name) <= 32 else name[:29] + "..."
    return short.replace("$", r"\$")


def _bytes(figure: Figure) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    metadata: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {"Software": None}}
    for kind, about in metadata.items():
        file = io.BytesIO()
        figure.savefig(file, format=kind, dpi=160, metadata=about)
        found[kind] = file.getvalue()
        # The first drawing has found the layout, which costs as much again.
        figure.set_layout_engine("none")
    return found
