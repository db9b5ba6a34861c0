"""Parts of the app's pages in HTML; texts of strangers are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from leaderboard.desk import Desk
from leaderboard.ranking import Row, Table
from leaderboard.rows import TITLES, details, told
from leaderboard.worker import self_tested

# A page stays light: cards beyond are in `/api/entries`.
MOST_CARDS = 100


def about(table: Table, n_shown: int) -> str:
    """A table's title, what is told of it, and whether a search leaves nothing."""
    none = "" if n_shown else "<p>Nothing here has these words and this access.</p>"
    return f"<h2>{escape(TITLES[table.kind])}</h2><p>{escape(told(table))}</p>{none}"


def plot(figure: str, caption: str) -> str:
    """A figure over its caption; nothing where there is none."""
    return f"{figure}<p>{escape(caption)}</p>" if figure else ""


def cards(rows: Sequence[Row]) -> str:
    """What the first ``MOST_CARDS`` entries say of themselves."""
    made = []
    for each in [details(row.entry) for row in rows[:MOST_CARDS]]:
        url = escape(each["url"])
        link = f'<li><a rel="nofollow noopener" href="{url}">{url}</a></li>' if url else ""
        lines = "".join(f"<li>{escape(line)}</li>" for line in each["lines"])
        title = f"{escape(each['name'])} <small>{escape(each['revision'])}</small>"
        made.append(f"<h4>{title}</h4><ul>{link}{lines}</ul>")
    return "".join(made)


def tested(desk: Desk) -> str:
    """When a baseline was last run anew, and what came of it."""
    found = self_tested(desk.store)
    if found is None:
        return "<p>The daily self-test has not run yet.</p>"
    at, outcome = escape(found["at"][:16].replace("T", " ")), escape(found["outcome"])
    kind = "good" if found["same"] else "bad"
    return f'<p class="{kind}">Self-test, {at} UTC: a baseline, run anew, is {outcome}.</p>'


def outcome(text: str, link: str = "", *, bad: bool = False) -> str:
    """What came of a check, in green or red, and perhaps where to look later."""
    more = f' <a href="{link}">{link}</a>' if link else ""
    return f'<p class="{"bad" if bad else "good"}" role="status">{escape(text)}{more}</p>'
