"""Items that lie in two parts of the data, by id, by question, or nearly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from faithshift_data.problems import Problem

SHINGLE = 4
NEAR = 0.9


def normalise(text: str) -> str:
    """Lower case, letters and digits only, single spaces: equal for trivially equal questions."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def check_leakage(traces: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
    """Problems of rows with trace_id, item_id, split, fold, question and options."""
    part_of: dict[str, tuple[str, str | None]] = {}
    questions: dict[str, set[str]] = {}
    texts: dict[str, str] = {}
    reported: set[str] = set()
    for row in traces:
        item, part = row["item_id"], (row["split"], row["fold"])
        question = normalise(row["question"])
        if part_of.setdefault(item, part) != part and item not in reported:
            reported.add(item)
            yield Problem(
                "leak",
                "an item in two parts",
                file=f"traces/{row['split']}.parquet",
                row=row["trace_id"],
                field="item_id",
                expected=_part(part_of[item]),
                got=_part(part),
            )
        questions.setdefault(question, set()).add(item)
        options = sorted(filter(None, row["options"] or ()))
        texts.setdefault(item, " ".join([question, *map(normalise, options)]))
    for question, items in questions.items():
        if len(items) > 1:
            yield Problem(
                "same question",
                "one question in several items",
                file="traces",
                field="question",
                got=f"{question[:60]!r} in {', '.join(sorted(items))}",
            )
    for left, right in near_duplicates(texts):
        if part_of[left] != part_of[right]:
            yield Problem(
                "near-duplicate",
                "nearly equal questions in different parts",
                file="traces",
                field="question",
                got=f"{left} in {_part(part_of[left])}, {right} in {_part(part_of[right])}",
            )


def near_duplicates(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pairs of ids whose normalised texts have the same numbers and nearly the same wording.

    Nearly the same: Jaccard similarity of at least 0.9 over runs of 4 words. Numbers must agree
    in order, since word problems of one template with other numbers are different problems.
    Equal texts are left to the exact check.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for key in sorted(texts):
        groups.setdefault(tuple(re.findall(r"\d+", texts[key])), []).append(key)
    found = []
    for keys in groups.values():
        shingles = {key: _shingles(texts[key].split()) for key in keys}
        holders: dict[tuple[str, ...], list[str]] = {}
        for key in keys:
            shared: dict[str, int] = {}
            for shingle in shingles[key]:
                for other in holders.setdefault(shingle, []):
                    shared[other] = shared.get(other, 0) + 1
                holders[shingle].append(key)
            for other, common in shared.items():
                union = len(shingles[key]) + len(shingles[other]) - common
                if common >= NEAR * union and texts[key] != texts[other]:
                    found.append((other, key))
    return sorted(found)


def _shingles(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1))}


def _part(part: tuple[str, str | None]) -> str:
    return "/".join(filter(None, part))
