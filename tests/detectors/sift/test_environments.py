"""Which rows are trained on: dropped environments, the one left out, what chooses the epoch."""

from __future__ import annotations

import numpy as np
import pytest

from faithshift_bench.detectors.sift.environments import ALL, group, select
from faithshift_bench.detectors.sift.plan import Plan
from faithshift_data.environments import Environments
from faithshift_data.errors import InputError
from tests.detectors.sift.views import sift_view
from tests.detectors.views import make_view


def test_small_and_one_sided_environments_are_dropped_and_said() -> None:
    names = np.array(["a"] * 16 + ["b"] * 15 + ["c"] * 20)
    labels = np.array([0, 1] * 8 + [0, 1] * 7 + [0] + [1] * 20)
    found = group(np.arange(51), names, labels)
    assert found.names == ("a",)
    assert found.rows.tolist() == list(range(16))
    assert found.codes.tolist() == [0] * 16
    assert found.record["environments"] == {"a": {"traces": 16, "faithful": 0.5}}
    assert found.record["dropped"] == {
        "b": "15 traces, fewer than 16",
        "c": "all 20 traces have label 1",
    }


def test_without_any_environment_left_all_rows_are_one() -> None:
    found = group(np.arange(8), np.array(["a", "b"] * 4), np.array([0, 1] * 4))
    assert found.names == (ALL,)
    assert found.rows.tolist() == list(range(8))
    assert set(found.record["dropped"]) == {"a", "b"}


def test_held_out_items_choose_the_epoch_and_are_not_trained_on() -> None:
    view = sift_view()
    chosen = select(view, None, Plan(), 3)
    assert not chosen.tuned
    assert 0 < len(chosen.judge) < len(view) / 3
    items = [set(view.item_ids[rows]) for rows in (chosen.train.rows, chosen.judge)]
    assert not items[0] & items[1]
    other = select(view, None, Plan(), 4)
    assert chosen.judge.tolist() != other.judge.tolist()


def test_a_tune_view_chooses_the_epoch_and_all_of_train_is_trained_on() -> None:
    view, tune = sift_view(), sift_view(24, seed=1)
    tune.labels[:5] = -1
    chosen = select(view, tune, Plan(), 0)
    assert chosen.tuned
    assert chosen.judge.tolist() == list(range(5, 24))
    assert chosen.train.rows.tolist() == list(range(len(view)))
    tune.labels[:] = -1
    assert not select(view, tune, Plan(), 0).tuned


def test_the_environment_that_is_left_out_neither_trains_nor_chooses() -> None:
    view, tune = sift_view(), sift_view(24, seed=1)
    chosen = select(view, tune, Plan(leave_out="paraphrase"), 0)
    assert chosen.train.names == ("base", "language")
    for part, rows in ((view, chosen.train.rows), (tune, chosen.judge)):
        assert set(part.environments.names[rows]) == {"base", "language"}
    with pytest.raises(InputError, match="base, language, paraphrase, got budget"):
        select(view, tune, Plan(leave_out="budget"), 0)


def test_pairs_are_places_among_the_rows_that_are_trained_on() -> None:
    view = sift_view()
    view.labels[0] = -1
    chosen = select(view, sift_view(24, seed=1), Plan(), 0)
    back = chosen.train.rows[chosen.pairs]
    assert back.tolist() == [pair for pair in view.environments.pairs.tolist() if 0 not in pair]


def test_environments_may_be_models() -> None:
    n = 64
    models = np.array(["x", "y"] * (n // 2))
    found = Environments(np.full(n, "base"), models, np.empty((0, 2), int), np.empty(0, str))
    view = make_view([0, 0, 1, 1] * (n // 4), environments=found)
    chosen = select(view, None, Plan(environments="model"), 0)
    assert chosen.train.names == ("x", "y")
    assert (models[chosen.train.rows] == np.array(["x", "y"])[chosen.train.codes]).all()


def test_what_is_left_must_have_both_labels() -> None:
    view = sift_view()
    view.labels[view.environments.names != "base"] = 1
    with pytest.raises(InputError, match="nothing to learn from without it"):
        select(view, None, Plan(leave_out="base"), 0)
