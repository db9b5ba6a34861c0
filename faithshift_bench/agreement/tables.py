"""A table of a report: the same rows as CSV, as Markdown, and on the page."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from faithshift_bench.agreement.ranking import Ranking
from faithshift_bench.board import figure, span
from faithshift_bench.stats.bootstrap import MAX_UNDEFINED
from faithshift_data.spreadsheets import no_formula

SPAN = "95%"
DASH = (
    "An interval is - where its figure is, and where it is undefined on over "
    f"{MAX_UNDEFINED:.0%} of the resamples."
)
Cell = str | int | float | bool | tuple[float, float] | None


@dataclass(frozen=True)
class Table:
    """A named table; a cell that is a tuple is an interval, None is undefined, "" is left out.

    Attributes:
        name: of its files.
        title: above it.
        columns: headings.
        rows: a cell a column.
        note: how to read it.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def to_csv(self) -> str:
        """Comma-separated text; an interval is two columns, what is undefined is empty.

        No cell is a formula.
        """
        spans = {k for row in self.rows for k, cell in enumerate(row) if isinstance(cell, tuple)}
        spans |= {k for k, name in enumerate(self.columns) if name == SPAN}
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        header: list[str] = []
        for k, name in enumerate(self.columns):
            header += ["low", "high"] if k in spans else [name]
        writer.writerow(map(no_formula, _distinct(header)))
        for row in self.rows:
            cells: list[str] = []
            for k, cell in enumerate(row):
                ends = (cell or (None, None)) if k in spans else (cell,)
                cells += [_exact(each) for each in ends]  # type: ignore[union-attr]
            writer.writerow(cells)
        return file.getvalue()

    def to_markdown(self) -> str:
        """The title, a Markdown table, and the remarks; tags in a cell are text."""
        lines = [self.columns, ["---"] * len(self.columns), *self.shown()]
        body = "\n".join("| " + " | ".join(map(_escaped, line)) + " |" for line in lines)
        remarks = f"\n{self.remarks}\n" if self.remarks else ""
        return f"## {self.title}\n\n{body}\n{remarks}"

    @property
    def remarks(self) -> str:
        """The note, and what the dash of an interval means, where there is one."""
        spans = [k for k, name in enumerate(self.columns) if name == SPAN]
        dashed = any(row[k] is None for row in self.rows for k in spans)
        return " ".join(filter(None, (self.note, DASH if dashed else "")))

    def shown(self) -> list[list[str]]:
        """Cells as a reader sees them: three decimals, a dash where undefined."""
        return [[_shown(cell) for cell in row] for row in self.rows]


def _shown(cell: Cell) -> str:
    if isinstance(cell, tuple):
        return span(cell)
    if cell is None or isinstance(cell, float):
        return figure(cell)
    return str(cell)


def _exact(cell: Cell) -> str:
    if isinstance(cell, str):
        return no_formula(cell)
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _escaped(cell: str) -> str:
    return " ".join(no_markup(cell).replace("|", "\\|").split())


def no_markup(text: str) -> str:
    """Text for Markdown, in which no tag of HTML is one."""
    return html.escape(text, quote=False)


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, numbered from the second time on."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return found


def rank_rows(ranking: Ranking) -> Iterator[tuple[Cell, ...]]:
    """A row a model: metric, variant, model, score, interval, traces, rank, why not."""
    for each in ranking.models:
        rank = "" if each.rank is None else f"{each.rank:g}"
        yield (ranking.metric, ranking.variant, each.model, each.value, each.interval, each.n,
               rank, each.reason or "")  # fmt: skip
