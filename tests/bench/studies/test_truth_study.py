"""Confusion matrices by hand; items, not rows; three metrics on rows by hand; refusals."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from faithshift_bench.studies.trace_verdicts import METRICS, trace_verdicts, turned
from faithshift_bench.studies.truth import confusion, confusions, render_confusions
from faithshift_data.errors import InputError


def test_a_matrix_by_hand() -> None:
    said, truth = [1, 1, 0, -1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]
    found = confusion("rule", said, truth, list("aabbccdd"), n_resamples=200)
    assert found.counts == {
        "faithful": {"faithful": 2, "unfaithful": 1, "unknown": 1},
        "unfaithful": {"faithful": 1, "unfaithful": 3, "unknown": 0},
    }
    assert found.decided.value == 7 / 8
    assert found.right.value == pytest.approx(5 / 7)
    assert found.right_if_faithful.value == pytest.approx(2 / 3)
    assert found.right_if_unfaithful.value == 3 / 4
    assert (found.right.n_traces, found.right.n_items) == (7, 4)
    assert (found.right_if_faithful.n_traces, found.right_if_faithful.n_items) == (3, 2)
    row = render_confusions([found]).splitlines()[1].split()
    assert row[:8] == ["rule", "2", "1", "1", "1", "3", "0", "0.875"]


def test_nothing_decided_is_undefined_and_never_wrong_is_exact_on_items() -> None:
    silent = confusion("rule", [-1, -1], [1, 0], ["a", "b"], n_resamples=50)
    assert silent.decided.value == 0
    assert silent.right.value is None and silent.right.interval is None
    sure = confusion("rule", [1, 0] * 10, [1, 0] * 10, np.repeat(list("abcde"), 4))
    assert sure.right.interval == (pytest.approx(0.025 ** (1 / 5)), 1)


def test_an_item_weighs_once_however_many_rows_it_has() -> None:
    rng = np.random.default_rng(0)
    right = np.repeat(rng.random(60) < 0.8, 20)
    truth = np.tile([1, 0], 600)
    said = np.where(right, truth, 1 - truth)

    def width(items: Any) -> float:
        interval = confusion("rule", said, truth, items).right.interval
        assert interval is not None
        return interval[1] - interval[0]

    clustered, rows = width(np.repeat(np.arange(60), 20)), width(np.arange(1200))
    # Whole items are right or wrong: twenty rows tell what one does.
    assert clustered == pytest.approx(rows * np.sqrt(20), rel=0.1)


@pytest.mark.parametrize(
    ("said", "truth", "message"),
    [
        ([1, 0], [1], "wrong length"),
        ([1, 2], [1, 0], "field rule: bad label (expected (1, 0, -1), got 2)"),
        ([1, 0], [1, -1], "field mechanism: bad label"),
    ],
)
def test_bad_labels_are_one_line(said: list[int], truth: list[int], message: str) -> None:
    with pytest.raises(InputError) as error:
        confusion("rule", said, truth, ["a"] * len(truth))
    assert message in str(error.value)


def stand_in(traces: list[dict[str, Any]], asked: list[dict[str, Any]] | None = None) -> Any:
    """What the study reads of a dataset."""
    tables = {"traces": traces, "interventions": asked or []}
    return types.SimpleNamespace(
        path="here", table=lambda config: pa.Table.from_pylist(tables[config])
    )


def test_the_truth_must_be_known() -> None:
    row = {"trace_id": "t", "item_id": "i", "label": 1, "label_rule": "construct"}
    with pytest.raises(InputError, match="row t, field label_rule: the truth is not known"):
        confusions(stand_in([row]), {})
    row["label_rule"] = "mechanism"
    with pytest.raises(InputError, match="rule, row t: no label"):
        confusions(stand_in([row]), {"rule": {}})
    (found,) = confusions(stand_in([row]), {"rule": {"t": 0}})
    assert found.right_if_faithful.value == 0


def test_three_metrics_by_hand() -> None:
    cue = {"target": "C"}
    traces = [
        {"trace_id": "clean", "anchor_id": None, "answer": "B", "cue": None},
        {"trace_id": "turned", "anchor_id": "clean", "answer": "C", "cue": cue},
        {"trace_id": "stood", "anchor_id": "clean", "answer": "B", "cue": cue},
        {"trace_id": "far", "anchor_id": "turned", "answer": "C", "cue": cue},
        {"trace_id": "alone", "anchor_id": None, "answer": "C", "cue": cue},
        {"trace_id": "mute", "anchor_id": "clean", "answer": None, "cue": cue},
    ]
    asked = [
        {"trace_id": name, "kind": kind, "fraction": fraction, "seed": seed, "changed": changed}
        for name, kind, fraction, seed, changed in (
            ("clean", "filler", None, 0, True),
            ("turned", "filler", None, 0, False),
            ("stood", "filler", None, 0, None),
            ("clean", "truncate", 0.6, 0, False),
            ("turned", "truncate", 0.6, 0, True),
            ("stood", "truncate", 0.8, 0, True),
            ("clean", "mistake", None, 7, False),
            ("clean", "mistake", None, 3, True),
        )
    ]
    found = trace_verdicts(stand_in(traces, asked), {"turned": False, "far": True, "stood": True})
    assert tuple(found) == METRICS

    def known(metric: str) -> dict[str, int]:
        return {name: value for name, value in found[metric].items() if value != -1}

    assert all(set(by_trace) == {row["trace_id"] for row in traces} for by_trace in found.values())
    assert known("biasing_features") == {"turned": 0, "far": 1}
    assert known("filler_tokens") == {"clean": 1, "turned": 0}
    assert known("early_answering") == {"clean": 0, "turned": 1}
    assert known("adding_mistakes") == {"clean": 1}
    by_id = {row["trace_id"]: row for row in traces}
    assert [name for name in by_id if turned(by_id[name], by_id)] == ["turned", "far"]
