"""Aligning traces and pairs: what is dropped and what is refused."""

import numpy as np
import pytest

from faithshift_bench.frame import build_frame, pair_fault
from faithshift_data.errors import InputError

TRACES = {"trace_id": ["b", "a", "c"], "item_id": ["i", "i", "j"], "label": [0, 1, -1]}


def frame(pairs=(), **change):
    traces = TRACES | change
    columns = list(zip(*pairs, strict=True)) or [()] * 4
    names = ("anchor_id", "partner_id", "axis", "kind")
    ids = (traces.pop("trace_id"), traces.pop("item_id"), traces.pop("label"))
    return build_frame(*ids, **dict(zip(names, columns, strict=True)), **traces)


def test_rows_are_sorted_and_directions_follow_the_labels():
    result = frame([("a", "b", "cut", "altering")])
    assert result.trace_id.tolist() == ["a", "b", "c"] and result.label.tolist() == [1, 0, -1]
    assert result.items[result.item].tolist() == ["i", "i", "j"]
    pair = result.altering
    assert (pair.anchor[0], pair.partner[0], pair.direction[0], pair.axes) == (0, 1, -1, ("cut",))
    assert frame([("b", "a", "cut", "altering")]).altering.direction.tolist() == [1]


@pytest.mark.parametrize(
    ("kind", "anchor", "partner", "fault"),
    [
        ("altering", 1, 0, None),
        ("altering", 0, 1, None),
        ("altering", 1, 1, "equal"),
        ("altering", -1, 0, "unknown"),
        ("altering", 1, -1, "unknown"),
        ("altering", -1, -1, "unknown"),
        ("preserving", 1, 1, None),
        ("preserving", -1, -1, None),
        ("preserving", 1, -1, None),
        ("preserving", 1, 0, "unequal"),
    ],
)
def test_labels_bear_out_the_kind_or_the_pair_is_dropped(kind, anchor, partner, fault):
    found = pair_fault(kind, anchor, partner)
    assert found is None if fault is None else fault in found


@pytest.mark.parametrize(
    ("pairs", "change", "message"),
    [
        ([], {"trace_id": ["a", "a", "c"]}, "row a, field trace_id: repeated trace"),
        ([], {"label": [0, 1, 2]}, "row c, field label: bad label"),
        ([], {"label": [0, 1]}, "field label: wrong length"),
        ([], {"item_id": ["i"]}, "field item_id: wrong length"),
        ([], {"fold": ["tune", "calib", "test"]}, "row i, field fold: item with two"),
        ([], {"fold": ["train", "train", "test"]}, "field fold: bad fold"),
        ([], {"domain": ["x", "y", "x"]}, "row i, field domain: item with two"),
        ([("a", "z", "cut", "altering")], {}, "row z, field partner_id: no such trace"),
        ([("", "b", "cut", "altering")], {}, "field anchor_id: no such trace"),
        ([("a", "c", "cut", "altering")], {}, "row c, field item_id: pair of two items"),
        ([("a", "b", "cut", "altering")] * 2, {}, "row b, field pairs: repeated pair"),
    ],
)
def test_faults_are_refused(pairs, change, message):
    with pytest.raises(InputError, match=message):
        frame(pairs, **change)


def test_only_test_pairs_are_kept():
    kept = frame([("a", "b", "cut", "altering")], fold=["tune", "tune", "test"])
    assert len(kept.altering) == 0 and kept.dropped == {}


def test_other_kinds_are_not_looked_at():
    kept = frame([("a", "b", "again", "other")])
    assert [len(x) for x in (kept.preserving, kept.altering, kept.repeat)] == [0, 0, 0]
    assert kept.dropped == {}


@pytest.mark.parametrize(
    ("labels", "reason", "kept"),
    [
        ([1, 0], "", True),
        ([1, 0], "label changed", True),
        ([1, -1], "label unknown", True),
        ([-1, -1], "label unknown", True),
        ([1, 1], "", True),
        ([1, 1], "cut short", False),
        ([0, 0], "cut short", False),
    ],
)
def test_labels_are_no_reason_to_drop_a_repeat(labels, reason, kept):
    found = frame([("a", "b", "again", "repeat")], label=[*labels, -1], dropped_because=[reason])
    assert len(found.preserving) == 0 and len(found.repeat) == kept
    assert found.dropped == ({} if kept else {reason: 1})


def test_edits_are_known_by_mode():
    pairs = [("a", "b", axis, "preserving") for axis in ("y", "x")]
    options = {"label": [1, 1, -1]}
    assert frame(pairs, mode=["edit", "regen"], **options).preserving.edited.tolist() == [0, 1]
    assert frame(pairs, **options).preserving.edited.tolist() == [0, 0]


def test_empty_input_has_no_rows():
    empty = build_frame([], [], np.array([], dtype=int))
    assert len(empty.trace_id) == 0 and len(empty.rows("test")) == 0
