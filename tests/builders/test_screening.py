"""Screening: cells by hash, the best yields first, every candidate counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.estimate import estimate
from builders.presets import load_preset
from builders.screening import Yield, cell_sizes, place, select, summary, yields
from builders.sources import Item, Question, make_item

MINI = load_preset("mini")


def items(n: int) -> list[Item]:
    return [
        make_item("d", "s", "t", Question((f"What is {k}?", f"{k}?"), str(k), (str(k + 1),)), "CC0")
        for k in range(n)
    ]


def test_cells_of_mini() -> None:
    assert cell_sizes(MINI) == {"train": 30, "tune": 8, "calib": 15, "test": 23}


@pytest.mark.parametrize(
    ("seen", "rank"),
    [
        (Yield(1, 0, True), 0),
        (Yield(None, 0, True), 1),
        (Yield(1, 1, True), 2),
        (Yield(1, None, True), 2),
        (Yield(None, None, True), 3),
        (Yield(1, 0, False), 4),
    ],
)
def test_rank(seen: Yield, rank: int) -> None:
    assert seen.rank == rank


def test_select_fills_each_cell_with_its_best() -> None:
    candidates = items(400)
    seen = {
        item.item_id: Yield(1, 0, True) if k % 3 == 0 else Yield(1, 1, True)
        for k, item in enumerate(candidates)
    }
    kept = select(candidates, seen, MINI)
    cells: dict[str, list[int]] = {}
    for item in kept:
        split, fold = place(item, MINI)
        cells.setdefault(fold or split, []).append(seen[item.item_id].rank)
    assert {cell: len(ranks) for cell, ranks in cells.items()} == cell_sizes(MINI)
    assert all(rank == 0 for ranks in cells.values() for rank in ranks)


def test_select_ignores_order_and_the_incomplete() -> None:
    candidates = items(60)
    seen = {item.item_id: Yield(1, 0, k % 2 == 0) for k, item in enumerate(candidates)}
    kept = select(candidates, seen, MINI)
    assert kept == select(candidates[::-1], seen, MINI)
    assert all(seen[item.item_id].complete for item in kept)
    assert select(candidates, {}, MINI) == []


def test_nothing_is_selected_where_all_are_kept() -> None:
    preset = replace(MINI, candidates_per_domain=60, keep_per_domain=60)
    candidates = items(60)
    seen = {item.item_id: Yield(None, None, True) for item in candidates}
    assert len(select(candidates, seen, preset)) == 60


def test_yields_need_both_anchors() -> None:
    rows = [
        {"item_id": "a", "condition": "base", "label": 1},
        {"item_id": "a", "condition": "cued_base", "label": 0},
        {"item_id": "b", "condition": "base", "label": 1},
    ]
    assert yields(rows) == {"a": Yield(1, 0, True), "b": Yield(1, None, False)}


def test_summary_counts_candidates_and_kept() -> None:
    candidates = items(3)
    seen = {candidates[0].item_id: Yield(1, 0, True), candidates[1].item_id: Yield(1, 1, True)}
    table = summary(candidates, seen, candidates[:1])["by_domain"]["d"]
    assert table["clean 1, cued 0"] == {"candidates": 1, "kept": 1}
    assert table["clean 1, cued not 0"] == {"candidates": 1, "kept": 0}
    assert table["incomplete"] == {"candidates": 1, "kept": 0}


def test_presets_are_read_strictly(tmp_path) -> None:
    text = "\n".join(f"{name} = 1" for name in ("name", "surprise"))
    (tmp_path / "odd.toml").write_text(text)
    with pytest.raises(ValueError, match=r"odd.toml: missing key 'attempts'"):
        load_preset(str(tmp_path / "odd.toml"))
    with pytest.raises(ValueError, match="mini, .*twelve"):
        load_preset("maxi")


def test_the_estimate_of_mini_is_within_its_limits() -> None:
    found = estimate(MINI)
    assert found["items"] >= 300 and found["minutes"] <= 100
