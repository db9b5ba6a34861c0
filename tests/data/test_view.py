"""A View shows a detector what it may read, aligned, and nothing else."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import faithshift_data as fd
from tests.synthetic import write_synthetic

ALL = ("text", "interventions", "descriptors", "states")
PARTS = [("train", None), ("validation", "tune"), ("validation", "calib"), ("test", None)]


@pytest.fixture(scope="module")
def ds(synthetic: Path) -> fd.FaithShift:
    return fd.open(synthetic)


@pytest.mark.parametrize(("split", "fold"), PARTS)
def test_rows_are_aligned(ds: fd.FaithShift, split: str, fold: str | None) -> None:
    view = ds.view(split, fold, needs=ALL)
    rows = {r["trace_id"]: r for r in ds.table("traces", split).to_pylist() if r["fold"] == fold}
    assert list(view.trace_ids) == sorted(rows)
    assert len(view) == len(rows) == len(view.text) == len(view.states)
    psi, mask = view.descriptors
    assert psi.shape == (len(rows), 16, 32)
    assert psi.dtype == view.states.dtype == np.float32
    for at, trace_id in enumerate(view.trace_ids):
        row = rows[trace_id]
        assert view.item_ids[at] == row["item_id"]
        assert view.text[at]["reasoning"] == row["reasoning"]
        assert mask[at].sum() == len(row["steps"])
        assert not psi[at][~mask[at]].any()
        stored = ds.trajectories.get("psi", [trace_id])[0]
        assert np.array_equal(psi[at][mask[at]], stored.astype(np.float32))


def test_text_holds_nothing_that_tells_the_label(ds: fd.FaithShift) -> None:
    allowed = {"prompt", "question", "options", "answer_kind", "reasoning", "steps", "answer"}
    for row in ds.view("test").text:
        assert set(row) == allowed | {"model_id"}


@pytest.mark.parametrize(("split", "fold"), [*PARTS, ("validation", None)])
def test_labels_only_on_train_and_tune(ds: fd.FaithShift, split: str, fold: str | None) -> None:
    view = ds.view(split, fold)
    if split == "train" or fold == "tune":
        by_id = {r["trace_id"]: r["label"] for r in ds.table("traces", split).to_pylist()}
        expected = [-1 if by_id[i] is None else by_id[i] for i in view.trace_ids]
        assert view.labels.tolist() == expected
        assert view.labels.dtype == np.int8
        assert set(expected) == {-1, 0, 1}
    else:
        with pytest.raises(fd.InputError, match="labels are not a detector's"):
            _ = view.labels


def test_interventions_by_hand(ds: fd.FaithShift) -> None:
    view = ds.view("test", needs=("interventions",))
    profile = view.interventions
    assert profile.names == ("filler", "scramble", "truncate@0.0", "truncate@0.4", "truncate@0.8")
    expected: dict[str, dict[str, float]] = defaultdict(dict)
    for row in ds.table("interventions", "test").to_pylist():
        if row["role"] == "feature":
            name = row["kind"] + ("" if row["fraction"] is None else f"@{row['fraction']}")
            changed = math.nan if row["changed"] is None else float(row["changed"])
            expected[row["trace_id"]][name] = changed
    for at, trace_id in enumerate(view.trace_ids):
        wanted = [expected[trace_id][name] for name in profile.names]
        assert np.array_equal(profile.changed[at], wanted, equal_nan=True)
    assert np.isnan(profile.changed).any()


def test_label_rows_never_reach_a_view(tmp_path: Path) -> None:
    def flip_label_rows(rows: dict) -> None:
        for row in rows["interventions"]:
            if row["role"] == "label" and row["changed"] is not None:
                row["changed"] = not row["changed"]

    plain = fd.open(write_synthetic(tmp_path / "a", 20)).view("test", needs=ALL)
    other = fd.open(write_synthetic(tmp_path / "b", 20, mutate=flip_label_rows))
    other_view = other.view("test", needs=ALL)
    assert plain.text == other_view.text
    assert np.array_equal(
        plain.interventions.changed, other_view.interventions.changed, equal_nan=True
    )


def test_several_seeds_of_one_intervention_are_averaged(tmp_path: Path) -> None:
    def more_seeds(rows: dict) -> None:
        first = next(r for r in rows["interventions"] if r["kind"] == "filler")
        rows["only"] = [first["trace_id"]]
        first.update(changed=True, answer="0", answer_status="explicit")
        for seed, changed in ((101, False), (102, False), (103, None)):
            known = changed is not None
            copy = {**first, "seed": seed, "changed": changed, "intervention_id": f"int-{seed}"}
            copy |= {"answer": "0" if known else None}
            copy |= {"answer_status": "explicit" if known else "none"}
            rows["interventions"].append(copy)

    kept: dict = {}
    folder = write_synthetic(
        tmp_path / "d", 8, mutate=lambda rows: (more_seeds(rows), kept.update(rows))
    )
    view = fd.open(folder).view("train", needs=("interventions",))
    at = list(view.trace_ids).index(kept["only"][0])
    assert view.interventions.changed[at, 0] == pytest.approx(1 / 3)


def test_parts_not_asked_for_raise(ds: fd.FaithShift) -> None:
    view = ds.view("train")
    for part in ("interventions", "descriptors", "states"):
        with pytest.raises(fd.InputError, match=f"{part} was not asked for"):
            getattr(view, part)
    with pytest.raises(fd.InputError, match="text was not asked for"):
        _ = ds.view("train", needs=("states",)).text


def test_a_view_is_frozen(ds: fd.FaithShift) -> None:
    view = ds.view("train", needs=ALL)
    arrays = (view.trace_ids, view.labels, view.states, *view.descriptors)
    for array in (*arrays, view.interventions.changed):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(AttributeError):
        view.split = "test"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("split", "fold", "needs", "field"),
    [
        ("dev", None, ("text",), "split"),
        ("train", "tune", ("text",), "fold"),
        ("validation", "half", ("text",), "fold"),
        ("train", None, ("labels",), "needs"),
    ],
)
def test_bad_arguments(
    ds: fd.FaithShift, split: str, fold: str | None, needs: tuple[str, ...], field: str
) -> None:
    with pytest.raises(fd.InputError, match=f"field {field}"):
        ds.view(split, fold, needs)


def test_environments_by_hand(ds: fd.FaithShift) -> None:
    view = ds.view("train", needs=("environments",))
    rows = {r["trace_id"]: r for r in ds.table("traces", "train").to_pylist()}
    preserving = {axis.name for axis in ds.manifest.axes if axis.kind == "preserving"}
    names = dict(zip(view.trace_ids.tolist(), view.environments.names.tolist(), strict=True))
    for trace_id, name in names.items():
        row = rows[trace_id]
        if row["anchor_id"] is None:
            assert name == "base"
        elif row["axis"] in preserving:
            assert name == row["axis"]
        else:
            assert name == names[row["anchor_id"]]
    assert len(set(names.values())) > 2
    verified = {
        (r["anchor_id"], r["partner_id"], r["axis"])
        for r in ds.table("pairs", "train").to_pylist()
        if r["verified"] and r["kind"] == "preserving"
    }
    found = view.environments
    got = {
        (view.trace_ids[a], view.trace_ids[b], axis)
        for (a, b), axis in zip(found.pairs, found.axes, strict=True)
    }
    assert got == verified
    assert found.models.tolist() == [rows[i]["model_id"] for i in view.trace_ids]


def test_environments_only_where_labels_may_be_read(ds: fd.FaithShift) -> None:
    with pytest.raises(fd.InputError, match="environments are not a detector's"):
        _ = ds.view("test", needs=("environments",)).environments
    with pytest.raises(fd.InputError, match="environments was not asked for"):
        _ = ds.view("train").environments
    assert len(ds.view("test", needs=("true_environments",)).true_environments)


def test_a_mixed_axis_that_changed_the_label_stays_with_its_anchor(tmp_path: Path) -> None:
    def mix(rows: dict) -> None:
        moved = next(
            r for r in rows["pairs"] if r["split"] == "train" and r["axis"] == "paraphrase"
        )
        moved.update(kind="altering", anchor_label=1, partner_label=0, direction=-1)
        rows["moved"] = moved

    kept: dict = {}
    folder = write_synthetic(tmp_path / "d", 12, mutate=lambda rows: (mix(rows), kept.update(rows)))
    data = fd.open(folder)
    view = data.view("train", needs=("environments", "true_environments"))
    at = list(view.trace_ids).index(kept["moved"]["partner_id"])
    assert view.environments.names[at] == "base"
    assert view.true_environments[at] == "paraphrase"  # an oracle of axes looks at no label


def test_scalars_come_with_descriptors_where_there_are_any(ds: fd.FaithShift) -> None:
    assert ds.view("train", needs=("descriptors",)).scalars is None
    organisms = fd.open("organisms")
    view = organisms.view("test", needs=("descriptors",))
    assert view.scalars is not None
    assert view.scalars.shape == (len(view), 4)
    assert view.scalars.dtype == np.float32
    stored = organisms.trajectories.get("scalars", [view.trace_ids[3]])[0]
    assert np.array_equal(view.scalars[3], stored.astype(np.float32))
    with pytest.raises(fd.InputError, match="descriptors was not asked for"):
        _ = organisms.view("test").scalars
