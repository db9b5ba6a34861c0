"""Which entries stand in one table, in which order, and which places the data can tell apart."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Entry = dict[str, Any]
NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Row:
    """An entry in its table.

    Attributes:
        entry: as stored.
        places: the first and last place that its interval leaves open; None where it has no rank.
        group: entries of one letter cannot be told from the first of them; "" without a rank.
    """

    entry: Entry
    places: tuple[int, int] | None = None
    group: str = ""


@dataclass(frozen=True)
class Table:
    """Entries that may be compared: of one data version, metric version and setting.

    Attributes:
        kind: ``ranked``, ``declared`` (marked entries, ranked among themselves), ``open`` (labels
            are public: no ranks) or ``old`` (another data or metric version: no ranks).
        data: name and version.
        metric: its version.
        rows: by MFS, then by HM at full coverage, then by name and id.
    """

    kind: str
    data: str
    metric: str
    rows: tuple[Row, ...]


def tables(entries: Sequence[Entry]) -> list[Table]:
    """All tables of a board; every entry stands in one, controls in every ranked one.

    Current is the highest version of a data set, and of the metric.
    """
    found: dict[tuple, list[Entry]] = {}
    for entry in entries:
        found.setdefault(_edition(entry), []).append(entry)
    latest = {edition[:2]: edition for edition in sorted(found, key=_age)}
    made = []
    for edition, rows in found.items():
        name, hidden, version, metric, *_ = edition
        told = (f"{name} {version}", metric)
        if latest[name, hidden] != edition:
            made.append(Table("old", *told, _plain(rows)))
        elif not hidden:
            made.append(Table("open", *told, _plain(rows)))
        else:
            controls = [e for e in rows if e["control"]]
            marked, others = (
                [e for e in rows if not e["control"] and _declares(e) == which]
                for which in (True, False)
            )
            made.append(Table("ranked", *told, _ranked([*others, *controls])))
            if marked:
                made.append(Table("declared", *told, _ranked([*marked, *controls])))
    order = ("ranked", "declared", "open", "old")
    return sorted(made, key=lambda t: (order.index(t.kind), t.data, t.metric))


def _edition(entry: Entry) -> tuple:
    data, settings = entry["data"], entry["settings"]
    chosen = tuple(str(settings[key]) for key in sorted(settings))
    return data["name"], data["hidden"], data["version"], entry["metric"], chosen, data["hash"]


def _age(edition: tuple) -> tuple:
    """Versions by their numbers: 0.10 comes after 0.9."""
    _, _, version, metric, *rest = edition
    return [int(n) for n in NUMBER.findall(version)], [int(n) for n in NUMBER.findall(metric)], rest


def _declares(entry: Entry) -> bool:
    return any(entry["card"]["declares"].values())


def _plain(entries: Sequence[Entry]) -> tuple[Row, ...]:
    return tuple(Row(entry) for entry in _ordered(entries))


def _ordered(entries: Sequence[Entry]) -> list[Entry]:
    def key(entry: Entry) -> tuple:
        mfs, hm = entry["certified"]["mfs"], entry["full"]["hm"]
        down = (-1.0 if mfs is None else -mfs, 1.0 if hm is None else -hm)
        return (mfs is None, *down, entry["card"]["name"], entry["id"])

    return sorted(entries, key=key)


def _ranked(entries: Sequence[Entry]) -> tuple[Row, ...]:
    """Places by the intervals of MFS: one entry is before another only if they do not overlap."""
    ordered = _ordered(entries)
    spans = {e["id"]: _span(e) for e in ordered if not e["control"]}
    ranked = {name: span for name, span in spans.items() if span is not None}
    lows, highs = (sorted(span[end] for span in ranked.values()) for end in (0, 1))
    rows, letter, leader = [], -1, None
    for entry in ordered:
        span = ranked.get(entry["id"])
        if span is None:
            rows.append(Row(entry))
            continue
        before, after = len(lows) - bisect_right(lows, span[1]), bisect_left(highs, span[0])
        if leader is None or span[1] < leader[0]:
            letter, leader = letter + 1, span
        rows.append(Row(entry, (before + 1, len(ranked) - after), _letters(letter)))
    return tuple(rows)


def _span(entry: Entry) -> tuple[float, float] | None:
    """The interval of MFS; one point at 0 where nothing is certified."""
    certified = entry["certified"]
    interval = certified["intervals"].get("mfs")
    if interval is not None:
        return interval[0], interval[1]
    return None if certified["mfs"] is None else (certified["mfs"], certified["mfs"])


def _letters(number: int) -> str:
    text = ""
    while number >= 0:
        text = chr(ord("A") + number % 26) + text
        number = number // 26 - 1
    return text
