"""What a board shows of its entries: the one definition, for the page, the app and the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from faithshift_bench.submission.card import DECLARATIONS, WHITE_BOX
from leaderboard.limits import PART_DECIMALS, Limits, fitting_gain
from leaderboard.ranking import Entry, Row, Table

TITLES = {
    "ranked": "Ranked: hidden labels",
    "declared": "Declared: ranked among their like",
    "open": "Open labels: trials, without ranks",
    "old": "Earlier: other versions of data or metric, without ranks",
}
MEANING = (
    "IVR: how often a verdict changes where only the surface of a trace does (lower is better). "
    "AS: how often it moves where faithfulness does (higher). Coverage: the share that the "
    "certificate lets it commit on. MFS = coverage × harmonic mean of 1 − IVR and AS at the "
    "certified threshold; 0 where nothing is certified. Columns “all” have every verdict "
    "committed. With a figure stands its 95% interval over items; n is test items."
)
PLACES = (
    "Places follow from intervals of MFS: a place “1 to 3” means that the data cannot tell which. "
    "Entries of one group cannot be told from the first of it. Controls read nothing that could "
    "tell, have no place, and stay in sight whatever is searched for."
)
PARTS = {"axes": "By axis, at full coverage", "domains": "By domain, at full coverage"}
RATES = {"ivr": "IVR", "as": "AS"}


class Column(NamedTuple):
    """A column: its title, and whether numbers stand there."""

    title: str
    number: bool


class Cell(NamedTuple):
    """What stands in a cell, by what it sorts ("": at the end), and a note beneath."""

    text: str
    key: str | float
    note: str = ""


COLUMNS = tuple(
    Column(*each)
    for each in (
        *(("detector", False), ("place", True), ("group", False), ("MFS", True)),
        *(("coverage", True), ("IVR", True), ("AS", True), ("certificate", False)),
        *(("IVR, all", True), ("AS, all", True), ("HM, all", True), ("reads", False)),
        *(("n", True), ("submitted", False)),
    )
)
NAME = COLUMNS[0]
RANKED = "as ranked"


def cells(row: Row) -> list[Cell]:
    """The cells of an entry, in the order of ``COLUMNS``."""
    entry, certified, full, n = row.entry, row.entry["certified"], row.entry["full"], row.entry["n"]
    reads = entry["card"]["reads"]
    return [
        named(entry),
        Cell(_places(row.places), row.places[0] if row.places else ""),
        Cell(row.group or "-", row.group),
        *(_figure(certified, name) for name in ("mfs", "coverage", "ivr", "as")),
        _certificate(entry),
        *(_figure(full, name) for name in ("ivr", "as", "hm")),
        _text("white box" if white_box(entry) else "black box")._replace(note=", ".join(reads)),
        Cell(
            str(n["items"]),
            n["items"],
            f"{n['preserving']}/{n['altering']} pairs, {n['seeds']} seeds",
        ),
        _text(entry["submitted"]),
    ]


def named(entry: Entry) -> Cell:
    """The detector's name; its revision, and that it is a control or declared something."""
    marks = ["control"] * entry["control"]
    marks += [f"declared: {', '.join(declared(entry))}"] * bool(declared(entry))
    note = "; ".join([entry["card"]["revision"], *marks])
    return Cell(entry["card"]["name"], entry["card"]["name"], note)


def parts(table: Table, part: str) -> tuple[list[Column], list[list[Cell]]]:
    """Columns and rows of figures by ``axes`` or ``domains``; no columns where there are none."""
    found = [_rates(row.entry, part) for row in table.rows]
    titles = sorted(
        {title for rates in found for title in rates},
        key=lambda t: (t[0] != "ivr", t[1]) if part == "axes" else (t[1], t[0] != "ivr"),
    )
    if not titles:
        return [], []
    rows = [
        [named(row.entry), *(_rate(rates.get(title), _decimals(row.entry)) for title in titles)]
        for row, rates in zip(table.rows, found, strict=True)
    ]
    return [NAME, *(Column(f"{RATES[rate]} {name}", True) for rate, name in titles)], rows


def white_box(entry: Entry) -> bool:
    """Whether it reads what only the model's inside tells."""
    return bool(set(entry["card"]["reads"]) & set(WHITE_BOX))


def declared(entry: Entry) -> list[str]:
    """The declarations that are true."""
    return [name for name in DECLARATIONS if entry["card"]["declares"][name]]


def chosen(rows: Sequence[Row], words: str, access: str) -> list[Row]:
    """The rows that a search and a choice leave; controls stay.

    Args:
        rows: of a table.
        words: each must be in name, revision or training data; capitals do not matter.
        access: ``black box``, ``white box``, or anything else for both.
    """

    def fits(entry: Entry) -> bool:
        card = entry["card"]
        text = " ".join([card["name"], card["revision"], *card["training_data"]]).casefold()
        kinds = {"black box": not white_box(entry), "white box": white_box(entry)}
        return kinds.get(access, True) and all(word in text for word in words.casefold().split())

    return [row for row in rows if row.entry["control"] or fits(row.entry)]


def lower_is_better(title: str) -> bool:
    """Of a column of numbers."""
    return title == "place" or title.startswith("IVR")


def ordered(rows: Sequence[Row], by: str) -> list[Row]:
    """The rows by a column, the best or first first, what is undefined last; ties as ranked.

    Args:
        rows: of a table, as it ranks them.
        by: the title of a column; anything else leaves them as they are.
    """
    titles = [column.title for column in COLUMNS]
    if by not in titles:
        return list(rows)
    place = titles.index(by)
    down = COLUMNS[place].number and not lower_is_better(by)
    keyed = [(cells(row)[place].key, row) for row in rows]
    known = sorted(
        (each for each in keyed if each[0] != ""), key=lambda each: each[0], reverse=down
    )
    return [row for _, row in known] + [row for key, row in keyed if key == ""]


def details(entry: Entry) -> dict[str, Any]:
    """What the card says, and why nothing was certified: name, revision, url, lines."""
    card = entry["card"]
    lines = [
        f"trained on: {', '.join(card['training_data']) or 'nothing'}",
        *(f"declared: {DECLARATIONS[name]}" for name in declared(entry)),
        *([_why(entry["why"])] if entry["why"] else []),
        f"submission {entry['id']}",
    ]
    return {"name": card["name"], "revision": card["revision"], "url": card["url"], "lines": lines}


def told(table: Table) -> str:
    """Of what the table is, and how far answers could have been fitted to (``RULES.md``)."""
    lines = [f"{table.data}, metric {table.metric}."]
    if not any(row.entry["control"] for row in table.rows):
        lines.append("The controls have not been run here yet.")
    hidden = [row.entry for row in table.rows if row.entry["data"]["hidden"]]
    if table.kind in ("ranked", "declared") and hidden:
        bits, items = max(e["bits"] for e in hidden), hidden[0]["n"]["items"]
        most = Limits().of_submitter
        gain = fitting_gain(bits * most, items)
        lines.append(
            f"An answer tells at most {bits:.0f} bits of the hidden labels. By {most} answers, "
            f"what one submitter may have, a mean over {items} test items could be raised by at "
            f"most {gain:.2f} (with probability 0.95)."
        )
    return " ".join(lines)


def _rates(entry: Entry, part: str) -> dict[tuple[str, str], float | None]:
    """(rate, axis or domain) -> figure."""
    if part == "axes":
        return {(rate, axis): v for rate in RATES for axis, v in entry["axes"][rate].items()}
    return {(rate, name): v[rate] for name, v in entry["domains"].items() for rate in RATES}


def _why(reason: str) -> str:
    begin = "nothing certified"
    return reason if reason.startswith(begin) else f"{begin}: {reason}"


def _text(text: str) -> Cell:
    return Cell(text, text)


def _decimals(entry: Entry) -> int:
    """Of a figure by axis or domain: no more than it has on hidden labels."""
    return PART_DECIMALS if entry["data"]["hidden"] else 2


def _rate(value: float | None, decimals: int = 2) -> Cell:
    return Cell("-", "") if value is None else Cell(f"{value:.{decimals}f}", value)


def _figure(point: dict[str, Any], name: str) -> Cell:
    cell, span = _rate(point[name]), point["intervals"].get(name)
    if cell.key == "" or span is None:
        return cell
    return cell._replace(note=f"{span[0]:.2f} to {span[1]:.2f}")


def _places(places: tuple[int, int] | None) -> str:
    if places is None:
        return "-"
    first, last = places
    return str(first) if first == last else f"{first} to {last}"


def _certificate(entry: Entry) -> Cell:
    settings, certified = entry["settings"], entry["certified"]
    if entry["seeds_certified"] is None:
        return Cell("-", "", "no calibration rows")
    if not certified["certified"]:
        return _text("none")
    at = "-" if certified["threshold"] is None else f"{certified['threshold']:.2f}"
    note = f"risk at most {settings['alpha']:g} from confidence {at}"
    return Cell(f"{entry['seeds_certified']} seeds", entry["seeds_certified"], note)
