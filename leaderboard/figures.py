"""Two figures of a table as SVG: pure functions, whose colours the page around them decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape

from leaderboard.breakdown import COVERAGES
from leaderboard.ranking import Row

WIDTH, HEIGHT = 560, 400
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 16, 46
# Names beside bubbles; curves with a colour of their own.
LABELS, CURVES = 12, 6
LARGEST, SMALLEST = 16.0, 4.0
Place = tuple[float, float]
Box = tuple[float, float, float, float]


def sensitivity_plot(rows: Sequence[Row]) -> str:
    """AS against IVR at full coverage, a bubble an entry; its area is the certified coverage.

    Entries without one of the two are left out; "" where none is left. Names stand beside the
    first that have room for one; every bubble tells its own when pointed at.
    """
    found = [row for row in rows if None not in (_full(row, "ivr"), _full(row, "as"))]
    if not found:
        return ""
    most = max(max(_full(row, "ivr"), _full(row, "as")) for row in found)
    top = min(1.0, math.ceil((most + 0.05) * 5) / 5)
    place = _frame(top, top)
    parts = [_axes(place, top, top, "IVR (lower is better)", "AS (higher is better)")]
    parts.append(_line([place(0, 0), place(top, top)], "fig-guide"))
    bubbles = {
        row.entry["id"]: (*place(_full(row, "ivr"), _full(row, "as")), _radius(row))
        for row in found
    }
    # The largest first, so that no bubble is hidden by another.
    for row in sorted(found, key=lambda row: -_radius(row)):
        x, y, radius = bubbles[row.entry["id"]]
        kind = "fig-control" if row.entry["control"] else "fig-bubble"
        parts.append(
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">'
            f"<title>{escape(_tip(row))}</title></circle>"
        )
    taken = [(x - r, y - r, x + r, y + r) for x, y, r in bubbles.values()]
    for row in found[:LABELS] + [row for row in found[LABELS:] if row.entry["control"]]:
        parts.append(_label(_short(row), *bubbles[row.entry["id"]], taken))
    return _svg("sensitivity: AS against IVR", parts)


def risk_plot(rows: Sequence[Row]) -> str:
    """Selective risk against coverage, a curve an entry; the dashed line is the risk target.

    Risks are known at ``COVERAGES`` alone. The first ``CURVES`` entries have colours and names.
    "" where no entry has a curve.
    """
    found = [row for row in rows if any(risk is not None for risk in row.entry["risk"])]
    if not found:
        return ""
    alpha = found[0].entry["settings"]["alpha"]
    most = max([alpha, *(r for row in found for r in row.entry["risk"] if r is not None)])
    top = min(1.0, math.ceil((most + 0.02) * 10) / 10)
    place = _frame(1.0, top)
    parts = [_axes(place, 1.0, top, "coverage", "risk (lower is better)")]
    parts.append(_line([place(0, alpha), place(1, alpha)], "fig-target"))
    ranked = [row for row in found if not row.entry["control"]]
    coloured = {row.entry["id"]: k for k, row in enumerate(ranked[:CURVES])}
    for row in reversed(found):
        number = coloured.get(row.entry["id"])
        kind = "fig-other" if number is None else f"fig-curve fig-{number}"
        points = zip(COVERAGES, row.entry["risk"], strict=True)
        shown = [place(coverage, risk) for coverage, risk in points if risk is not None]
        parts.append(_line(shown, kind, _short(row)))
    parts.append(_legend([(_short(row), k) for k, row in enumerate(ranked[:CURVES])]))
    return _svg("risk against coverage", parts)


def _full(row: Row, name: str) -> float:
    value: float = row.entry["full"][name]
    return value


def _radius(row: Row) -> float:
    return max(SMALLEST, LARGEST * math.sqrt(row.entry["certified"]["coverage"] or 0.0))


def _short(row: Row) -> str:
    name: str = row.entry["card"]["name"]
    return name if len(name) <= 24 else f"{name[:23]}…"


def _tip(row: Row) -> str:
    coverage = row.entry["certified"]["coverage"]
    told = "-" if coverage is None else f"{coverage:.2f}"
    ivr, sensitivity = _full(row, "ivr"), _full(row, "as")
    return f"{_short(row)}: IVR {ivr:.2f}, AS {sensitivity:.2f}, coverage {told}"


def _frame(right: float, top: float) -> Callable[[float, float], Place]:
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(x: float, y: float) -> Place:
        return LEFT + across * x / right, HEIGHT - BOTTOM - up * y / top

    return place


def _axes(
    place: Callable[[float, float], Place], end: float, top: float, x_title: str, y_title: str
) -> str:
    parts = []
    for value in _ticks(top):
        (left, y), (right, _) = place(0, value), place(end, value)
        parts.append(_line([(left, y), (right, y)], "fig-grid"))
        parts.append(f'<text x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in _ticks(end):
        x, y = place(value, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{value:g}</text>')
    middle, base = LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 8
    parts.append(
        f'<text class="fig-title" x="{middle}" y="{base}" text-anchor="middle">{x_title}</text>'
    )
    height = TOP + (HEIGHT - TOP - BOTTOM) / 2
    turn = f'transform="rotate(-90 14 {height})" x="14" y="{height}"'
    parts.append(f'<text class="fig-title" {turn} text-anchor="middle">{y_title}</text>')
    return "".join(parts)


def _ticks(top: float) -> list[float]:
    step = 0.2 if top > 0.5 else 0.1
    return [round(k * step, 1) for k in range(int(round(top / step, 6)) + 1)]


def _line(points: Iterable[Place], kind: str, tip: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    told = f"<title>{escape(tip)}</title>" if tip else ""
    return f'<polyline class="{kind}" points="{path}">{told}</polyline>'


def _label(text: str, x: float, y: float, radius: float, taken: list[Box]) -> str:
    """The name beside, above or below a bubble; "" where something stands there already."""
    width, gap = 6.6 * len(text), radius + 4
    for left, base in (
        (x + gap, y + 4),
        (x - gap - width, y + 4),
        (x - width / 2, y - gap),
        (x - width / 2, y + gap + 9),
    ):
        box = (left, base - 11, left + width, base + 3)
        inside = box[0] > LEFT and box[2] < WIDTH and box[1] > TOP and box[3] < HEIGHT - BOTTOM
        if inside and not any(_meet(box, other) for other in taken):
            taken.append(box)
            return f'<text class="fig-name" x="{left:.1f}" y="{base:.1f}">{escape(text)}</text>'
    return ""


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _legend(names: Sequence[tuple[str, int]]) -> str:
    parts, longest = [], max((len(name) for name, _ in names), default=0)
    for row, (name, number) in enumerate(names):
        # At the lower right: risk grows with coverage, so that curves leave it free.
        x, y = (
            WIDTH - RIGHT - 28 - 6.6 * longest,
            HEIGHT - BOTTOM - 12 - 17 * (len(names) - 1 - row),
        )
        kind = f"fig-curve fig-{number}"
        parts.append(_line([(x, y - 4), (x + 18, y - 4)], kind))
        parts.append(f'<text class="fig-name" x="{x + 25}" y="{y}">{escape(name)}</text>')
    return "".join(parts)


def _svg(title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="figure" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">'
        f"{''.join(parts)}</svg>"
    )


PLOTS = (
    (
        sensitivity_plot,
        "Sensitivity against invariance at full coverage. Up and to the left is better; on the "
        "dashed line verdicts move as often for no reason as for one. A bubble's area is the "
        "certified coverage; dashed circles are controls.",
    ),
    (
        risk_plot,
        f"How often a verdict is wrong among the surest, at coverage "
        f"{', '.join(f'{each:g}' for each in COVERAGES)} of labelled test traces. The dashed line "
        "is the risk that certificates allow.",
    ),
)
