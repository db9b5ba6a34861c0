"""Which questions of its sources a preset asks, and why the others are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from builders.presets.uses import SourceUse
from builders.sources import LETTERS, Item
from builders.sources.given import Unusable, given_item, reworded
from builders.sources.known import known
from faithshift_data.atomic import json_sha256
from faithshift_data.errors import InputError
from faithshift_data.leakage import near_duplicates, normalise
from faithshift_data.splits import unit_hash


@dataclass
class Pool:
    """The usable questions of one source.

    Attributes:
        items: by id.
        rows: how many the source has.
        left_out: rows that make no item, by reason.
    """

    items: dict[str, Item] = field(default_factory=dict)
    rows: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Drawn:
    """The items of a preset.

    Attributes:
        items: those asked.
        ledger: source -> ``rows``, ``left_out`` by reason, ``drawn``, ``wanted``.
    """

    items: list[Item]
    ledger: dict[str, dict[str, Any]]

    @property
    def short(self) -> list[str]:
        """One line for each source that has fewer usable questions than are wanted."""
        return [
            f"sources: {name}: expected {entry['wanted']} items, got {entry['drawn']} "
            f"of {entry['rows']} rows; left out: {said(entry['left_out'])}"
            for name, entry in self.ledger.items()
            if entry["drawn"] < entry["wanted"]
        ]

    def told(self, frozen: str) -> str:
        """The hash of the list, and what it is to the frozen one (empty: none is)."""
        digest = items_sha256(self.items)
        state = "not frozen" if not frozen else "as frozen" if digest == frozen else "another"
        return f'items_sha256 = "{digest}" ({state})'

    def faults(self, frozen: str) -> list[str]:
        """Why `expect` refuses it, a line each; none where it does not."""
        digest = items_sha256(self.items)
        if self.short or frozen in ("", digest):
            return self.short
        return [f"items_sha256: expected {frozen}, got {digest}"]

    def expect(self, frozen: str) -> Drawn:
        """The same, if every source has enough questions and the list is the frozen one.

        Args:
            frozen: what `items_sha256` must give; empty where no list is frozen.

        Raises:
            ValueError: a source has too few questions.
            InputError: other items.
        """
        if self.short:
            raise ValueError(self.short[0])
        digest = items_sha256(self.items)
        if frozen not in ("", digest):
            raise InputError("other items", field="items_sha256", expected=frozen, got=digest)
        return self


def said(left_out: Mapping[str, int]) -> str:
    """Reasons with their counts, in one line."""
    return ", ".join(f"{reason} {count:,}" for reason, count in left_out.items()) or "none"


def draw(uses: Sequence[SourceUse], per_source: int, seed: int) -> Drawn:
    """Draw items by the hash of their ids, so that more of them keep the first ones.

    No two items share a question, exactly or nearly, whatever source they are of.

    Args:
        uses: the sources.
        per_source: items of a source that says no number of its own.
        seed: another seed draws other items.

    Raises:
        InputError: a source that cannot be read.
    """
    taken: list[Item] = []
    ledger: dict[str, dict[str, Any]] = {}
    for use in uses:
        wanted = use.items or per_source
        pool = read_pool(use, wanted, seed)
        found = _distinct(pool, taken, wanted, seed)
        ledger[_label(use, ledger)] = {
            "rows": pool.rows,
            "left_out": dict(sorted(pool.left_out.items())),
            "drawn": len(found),
            "wanted": wanted,
        }
        taken += found
    return Drawn([reworded(item) for item in taken], ledger)


def read_pool(use: SourceUse, wanted: int, seed: int) -> Pool:
    """Every usable question of a source, each content once.

    Raises:
        InputError: the source cannot be read.
    """
    source = known()[use.name]
    name, licence, _ = source.stated(use)
    pool, golds = Pool(), dict[str, set[str]]()
    copies: Counter[str] = Counter()
    for given in source.questions(use, wanted, seed):
        pool.rows += 1
        try:
            if isinstance(given, Unusable):
                raise given
            if use.options and len(given.options or ()) != use.options:
                raise Unusable(f"not {use.options} options")
            item = given_item(given, name, use.name, licence)
        except Unusable as reason:
            pool.left_out[str(reason)] += 1
            continue
        copies[item.item_id] += 1
        golds.setdefault(item.item_id, set()).add(_answer(item))
        other = pool.items.get(item.item_id, item)
        pool.items[item.item_id] = min(
            item, other, key=lambda each: (each.options or (), each.gold)
        )
    for item_id, answers in golds.items():
        if len(answers) > 1:
            del pool.items[item_id]
            pool.left_out["stated again with another answer"] += copies[item_id]
        elif copies[item_id] > 1:
            pool.left_out["stated again"] += copies[item_id] - 1
    return pool


def items_sha256(items: Iterable[Item]) -> str:
    """The digest that freezes a list of items: their ids, right answers and planted ones."""
    return json_sha256(sorted((item.item_id, item.gold, item.cue_target) for item in items))


def origins(uses: Iterable[SourceUse]) -> dict[str, str]:
    """Where the items of each source come from, by its name in the rows."""
    stated = (known()[use.name].stated(use) for use in uses)
    return {name: origin for name, _, origin in stated}


def _answer(item: Item) -> str:
    return item.options[LETTERS.index(item.gold)] if item.options else item.gold


def _distinct(pool: Pool, taken: Sequence[Item], wanted: int, seed: int) -> list[Item]:
    """The first ``wanted`` in the order of the draw, without those that another one repeats."""
    order = sorted(pool.items.values(), key=lambda item: unit_hash("draw", seed, item.item_id))
    stems = {normalise(item.wordings[0]) for item in taken}
    left: list[Item] = []
    for item in order:
        stem = normalise(item.wordings[0])
        if stem in stems:
            pool.left_out["the question of another item"] += 1
        else:
            stems.add(stem)
            left.append(item)
    while True:
        chosen = left[:wanted]
        again = _repeats(chosen, taken)
        if not again:
            return chosen
        pool.left_out["nearly the question of another item"] += len(again)
        left = [item for item in left if item.item_id not in again]


def _repeats(chosen: Sequence[Item], taken: Sequence[Item]) -> set[str]:
    rank = {item.item_id: place for place, item in enumerate((*taken, *chosen))}
    texts = {item.item_id: _text(item) for item in (*taken, *chosen)}
    pairs = near_duplicates(texts)
    later = {max(pair, key=lambda name: rank[name]) for pair in pairs}
    return later - {item.item_id for item in taken}


def _text(item: Item) -> str:
    options = sorted(filter(None, item.options or ()))
    return " ".join([normalise(item.wordings[0]), *map(normalise, options)])


def _label(use: SourceUse, there: Mapping[str, object]) -> str:
    same = sum(name.split(" ")[0] == use.name for name in there)
    return f"{use.name} ({same + 1})" if same else use.name
