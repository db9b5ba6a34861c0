"""Write a comparison into a folder: tables, figures, one page; whole or not at all."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from faithshift_bench.agreement.analysis import Agreements
from faithshift_bench.agreement.figures import figures_of
from faithshift_bench.agreement.judge_tables import sheet_of, verdicts_of
from faithshift_bench.agreement.report_tables import tables_of
from faithshift_bench.agreement.study import Study
from faithshift_bench.agreement.summary import claim_toml, headline_lines
from faithshift_bench.agreement.tables import Table, no_markup
from faithshift_bench.board import counted
from faithshift_data.atomic import canonical_json, new_folder
from faithshift_data.errors import InputError

CAPTIONS = {
    "ranks": "Rank of each model by metric.",
    "preferences": "Share of resamples in which one model scores higher than the other.",
    "reversal_curve": "Pairs of models that reverse, by the level that is asked of both metrics.",
    "judge_swap": "Biasing features under each judge.",
}


def write_report(made: Agreements, study: Study, folder: str | Path) -> Path:
    """Write ``report.html``, ``report.md``, ``agreement.json``, ``claim.toml``, tables, figures.

    Args:
        made: the comparison.
        study: what it compares; its verdicts are kept side by side.
        folder: new or empty.

    Raises:
        InputError: matplotlib or jinja2 is missing, or the folder holds something.
    """
    tables, sheet = tables_of(made), sheet_of(made)
    try:
        figures = figures_of(made)
        page = page_html(made, tables, figures)
    except ImportError as error:
        message = "needs matplotlib and jinja2: pip install 'faithshift[report]'"
        raise InputError(message, got=error.name) from error
    texts = {
        "report.html": page,
        "report.md": report_md(made, tables),
        "agreement.json": canonical_json(made.to_dict()),
        "claim.toml": claim_toml(made),
        "tables/disagreements.csv": sheet.to_csv(),
        "tables/verdicts.csv": verdicts_of(study).to_csv(),
    }
    for table in tables:
        texts[f"tables/{table.name}.csv"] = table.to_csv()
        texts[f"tables/{table.name}.md"] = table.to_markdown()
    with new_folder(Path(folder)) as temporary:
        for name in ("tables", "figures"):
            (temporary / name).mkdir()
        for name, text in texts.items():
            (temporary / name).write_text(text, "utf-8")
        for name, kinds in figures.items():
            for kind, data in kinds.items():
                (temporary / "figures" / f"{name}.{kind}").write_bytes(data)
    return Path(folder)


def report_md(made: Agreements, tables: list[Table]) -> str:
    """What the page says, without its figures."""
    parts = ["# Do the metrics agree?", _listed(headline_lines(made))]
    if made.flags:
        parts += ["## Before you cite this", _listed(f"{flag}." for flag in made.flags)]
    return "\n\n".join([*parts, "\n".join(table.to_markdown() for table in tables)])


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {no_markup(line)}" for line in lines)


def page_html(made: Agreements, tables: list[Table], figures: dict[str, dict[str, bytes]]) -> str:
    """The page, self-contained; every name from the table is escaped.

    Raises:
        ImportError: jinja2 is absent.
    """
    from jinja2 import Environment, StrictUndefined

    text = (files("faithshift_bench") / "templates" / "agreement.html.j2").read_text("utf-8")
    page = Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
    images: list[dict[str, Any]] = [
        {
            "caption": CAPTIONS[name],
            "data": base64.b64encode(kinds["svg"]).decode(),
        }
        for name, kinds in figures.items()
    ]
    sizes = {"model": made.n_models, "question": made.n_questions, "generation": made.n_rows}
    return page.render(
        made=made,
        size=", ".join(counted(n, noun) for noun, n in sizes.items()),
        lines=headline_lines(made),
        tables=tables,
        images=images,
        sheet=counted(len(made.sheet), "disagreement") if made.sheet else "",
    )
