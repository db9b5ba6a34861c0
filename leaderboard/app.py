"""The board's interactive pages, in Gradio: table, figures, parts; submit; history; rules.

What a row shows is defined in :mod:`leaderboard.rows`, as for the static page. Texts of strangers
reach a page as cells of a ``gr.Dataframe`` of plain text, or escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from faithshift_bench.submission.bounds import FORMATS
from faithshift_bench.submission.card import MAX_BYTES
from faithshift_data.errors import InputError
from leaderboard import fragments
from leaderboard.desk import CARD, Desk
from leaderboard.export import FILES
from leaderboard.figures import PLOTS
from leaderboard.ranking import Row, Table, tables
from leaderboard.rows import (
    COLUMNS,
    MEANING,
    PARTS,
    PLACES,
    RANKED,
    TITLES,
    Cell,
    Column,
    cells,
    chosen,
    lower_is_better,
    ordered,
    parts,
)

HERE = Path(__file__).parent
CSS = "".join((HERE / "templates" / name).read_text("utf-8") for name in ("figures.css", "app.css"))
THEME = gr.themes.Base(
    primary_hue="blue",
    neutral_hue="slate",
    radius_size="sm",
    font=["system-ui", "sans-serif"],
    font_mono=["ui-monospace", "monospace"],
)
ACCESS = ("both", "black box", "white box")
ORDERS = (RANKED, *(column.title for column in COLUMNS))
# A page stays light: a history goes on in `/api/entries`.
MOST_LINES = 200
# Where the menu of a column sorts what is undefined: behind the best.
LOWEST, HIGHEST = -1, 10**9
WIDTHS = {"detector": 210, "place": 80, "group": 84, "certificate": 170, "reads": 170, "n": 180}
WIDTHS |= {"submission": 520, "outcome": 520}
LINES = ("received", "detector", "revision", "submission")
VIEWERS, CHECKS = 8, 2


def pages(desk: Desk, *, login: bool = False) -> gr.Blocks:
    """The app; nothing is read before somebody opens it.

    Args:
        desk: takes submissions.
        login: only people who are logged in with the Hub may submit; on a Space.
    """
    with gr.Blocks(
        title="FaithShift leaderboard", analytics_enabled=False, delete_cache=(600, 1800)
    ) as made:
        gr.HTML(
            "<h1>FaithShift leaderboard</h1><p>Detectors of unfaithful reasoning, ranked by "
            "whether their verdicts move when they should, and only then.</p>",
            elem_classes="lead",
        )
        with gr.Tabs():
            with gr.Tab("Leaderboard") as first:
                _board(desk, made, first)
            with gr.Tab("Submit"):
                _submit(desk, login)
            with gr.Tab("History") as third:
                _history(desk, third)
            with gr.Tab("Rules"):
                gr.Markdown((HERE / "RULES.md").read_text("utf-8"), elem_classes="text")
    # Mounted, it is never launched; Gradio would then open any file of the server that is named.
    made.has_launched = True
    made.queue(default_concurrency_limit=VIEWERS, api_open=False, max_size=200)
    return made


def _board(desk: Desk, page: gr.Blocks, tab: gr.Tab) -> None:
    with gr.Row(elem_classes="choices"):
        table = gr.Radio([], label="Table", scale=3)
        words = gr.Textbox("", label="Search", placeholder="name, revision, trained on", scale=2)
        access = gr.Radio(ACCESS, value=ACCESS[0], label="Access", scale=2)
        order = gr.Dropdown(ORDERS, value=ORDERS[0], label="Order, the best first", scale=1)
    about = gr.HTML(elem_classes="text")
    rows = gr.Dataframe(elem_id="board", **_grid(COLUMNS))
    with gr.Row():
        plots = [gr.HTML(elem_classes="plot") for _ in PLOTS]
    more = []
    for title in PARTS.values():
        with gr.Accordion(title, open=False):
            more.append(gr.Dataframe(**_grid()))
    with gr.Accordion("About these entries", open=False):
        cards = gr.HTML(elem_classes="text")
    links = " · ".join(f'<a href="{name}" download>{name}</a>' for name in FILES)
    gr.HTML(
        f"<p>All tables: {links} · <a href='api/entries'>entries as JSON</a></p>"
        f"<h3>How to read it</h3><p>{MEANING}</p><p>{PLACES}</p>"
        "<p>The ⋮ in a column's head sorts by it, too; “Clear sort” takes that back.</p>",
        elem_classes="text",
    )

    def show(name: str | None, search: str | None, box: str, by: str) -> list[Any]:
        found = _named(tables(desk.store.entries()))
        if not found:
            return ["<p>No entries yet.</p>", *[gr.skip()] * (len(outputs) - 1)]
        kept = name in found
        name = name if kept else next(iter(found))
        shown = ordered(chosen(found[name].rows, search or "", box), by)
        narrowed = Table(found[name].kind, found[name].data, found[name].metric, tuple(shown))
        return [
            fragments.about(found[name], len(shown)),
            # A late answer takes back no choice that was made since.
            gr.Radio(list(found)) if kept else gr.Radio(list(found), value=name),
            gr.Dataframe(_values(COLUMNS, [cells(row) for row in shown], shown)),
            *(fragments.plot(plot(shown), caption) for plot, caption in PLOTS),
            *(_part(narrowed, part) for part in PARTS),
            fragments.cards(shown),
        ]

    outputs = [about, table, rows, *plots, *more, cards]
    told_ = {"inputs": [table, words, access, order], "outputs": outputs}
    private = {"api_visibility": "private", "show_progress": "hidden"}
    chosen_ = [page.load, tab.select, table.input, access.input, order.input]
    gr.on(chosen_, show, **told_, **private)
    words.change(show, **told_, **private, trigger_mode="always_last")


def _submit(desk: Desk, login: bool) -> None:
    gr.HTML(
        "<p>Scores, never code: one score a trace of validation and test, once a seed, the "
        "probability that the trace is faithful. All seeds of a detector go into one file. The "
        "same content is one submission, however often it is sent. From a shell: <code>faithshift "
        "submit scores.parquet --card card.toml --to ADDRESS</code></p>",
        elem_classes="text",
    )
    if login:
        gr.LoginButton()
    with gr.Row():
        with gr.Column():
            scores = gr.File(
                label="Scores (Parquet, CSV, JSON lines)",
                file_types=list(FORMATS),
                elem_id="scores",
            )
            below = gr.Checkbox(label="An AUROC under .5 on validation is meant")
            with gr.Row():
                looked = gr.Button("Check")
                taken = gr.Button("Submit", variant="primary")
            outcome = gr.HTML(elem_id="outcome")
        card = gr.Textbox(
            CARD, label="Detector card (TOML)", lines=20, elem_id="card", max_length=MAX_BYTES
        )

    def look(path: str | None, text: str, meant: bool) -> str:
        try:
            return fragments.outcome(desk.look(Path(path) if path else None, text, meant))
        except InputError as error:
            return fragments.outcome(str(error), bad=True)

    def take(path: str | None, text: str, meant: bool, request: gr.Request) -> str:
        who = submitter(request)
        if login and who is None:
            return fragments.outcome("Log in first.", bad=True)
        try:
            name, said = desk.take(Path(path) if path else None, text, meant, who)
        except InputError as error:
            return fragments.outcome(str(error), bad=True)
        return fragments.outcome(
            f"{said} Its outcome will stand under History, and at", f"api/submissions/{name}"
        )

    told_ = {"inputs": [scores, card, below], "outputs": outcome}
    once = {"concurrency_limit": CHECKS, "concurrency_id": "check", "api_visibility": "private"}
    looked.click(look, **told_, **once)
    taken.click(take, **told_, **once)


def _history(desk: Desk, tab: gr.Tab) -> None:
    test = gr.HTML()
    gr.HTML("<h3>Waiting</h3>")
    queue = gr.Dataframe(elem_id="queue", **_grid([Column(each, False) for each in LINES]))
    gr.HTML("<h3>Judged, the last first</h3>")
    lines = [*LINES, "outcome"]
    judged = gr.Dataframe(elem_id="judged", **_grid([Column(each, False) for each in lines]))

    def show() -> list[Any]:
        why = {each["id"]: f"rejected: {each['reason']}" for each in desk.store.rejections()}
        waiting, done = set(desk.store.queue()), desk.store.submissions()[::-1]
        found = [_line(desk.store.about(name)) for name in desk.store.queue()[:MOST_LINES]]
        past = [
            [*_line(desk.store.about(name)), why.get(name, "entered")]
            for name in done
            if name not in waiting
        ][:MOST_LINES]
        return [
            fragments.tested(desk),
            {"headers": LINES, "data": found},
            {"headers": lines, "data": past},
        ]

    tab.select(show, None, [test, queue, judged], api_visibility="private", show_progress="hidden")


def submitter(request: gr.Request) -> str | None:
    """The name of who is logged in with the Hub; None where nobody is."""
    session = request.request.scope.get("session") or {}
    info = (session.get("oauth_info") or {}).get("userinfo") or {}
    return info.get("preferred_username")


def _named(found: Sequence[Table]) -> dict[str, Table]:
    """Each table under a name of its own, in their order."""
    named: dict[str, Table] = {}
    for table in found:
        name = f"{TITLES[table.kind].split(':')[0]} · {table.data}"
        for more in ("", f" · metric {table.metric}", f" · {len(named) + 1}"):
            if (name := name + more) not in named:
                break
        named[name] = table
    return named


def _grid(columns: Sequence[Column] = ()) -> dict[str, Any]:
    return {
        "headers": [column.title for column in columns] or None,
        "datatype": ["number" if column.number else "str" for column in columns] or "str",
        "column_widths": [WIDTHS.get(column.title, 118) for column in columns] or None,
        "pinned_columns": 1,
        "interactive": False,
        "wrap": True,
        "buttons": ["fullscreen"],
        "max_height": 640,
        "show_label": False,
    }


def _values(
    columns: Sequence[Column], grid: Sequence[Sequence[Cell]], rows: Sequence[Row]
) -> dict[str, Any]:
    """What sorts, what is shown, and how: controls are soft, names are strong."""
    style = ["color: var(--body-text-color-subdued)" if r.entry["control"] else "" for r in rows]
    return {
        "headers": [column.title for column in columns],
        "data": [
            [
                _undefined(column.title) if column.number and cell.key == "" else cell.key
                for column, cell in zip(columns, line, strict=True)
            ]
            for line in grid
        ],
        "metadata": {
            "display_value": [["\n".join(filter(None, c[::2])) for c in line] for line in grid],
            "styling": [[each] * len(columns) for each in style],
        },
    }


def _undefined(title: str) -> int:
    return HIGHEST if lower_is_better(title) else LOWEST


def _part(table: Table, part: str) -> Any:
    columns, grid = parts(table, part)
    if not columns:
        return gr.Dataframe({"headers": ["none"], "data": []})
    shape = _grid(columns)
    return gr.Dataframe(
        _values(columns, grid, table.rows),
        datatype=shape["datatype"],
        column_widths=shape["column_widths"],
    )


def _line(about: dict[str, str]) -> list[str]:
    return [about["at"].replace("T", " ")[:16], about["detector"], about["revision"], about["id"]]
