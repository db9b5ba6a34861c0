"""What is not content is at chance on the embedded set; planted leaks are found."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import builders.withhold
import faithshift_data as fd
from builders.blind import MODELS, TARGETS, Blindness, blindness
from builders.content import content_baselines
from builders.surface import surface
from builders.withhold import withhold
from faithshift_data.schema import CONFIGS, Role
from faithshift_data.withheld import part_of, probe_name
from tests.folders import Rows, agree, change
from tests.synthetic import write_synthetic

SALT = "a salt that is fixed, so that the figures are"
ENDS = ("trace_id", "anchor_id", "partner_id")


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The embedded set in two folders. Read them, never write to them."""
    folder = tmp_path_factory.mktemp("mini")
    withhold("mini", folder / "public", folder / "key", salt=SALT)
    return folder / "public", folder / "key"


def test_models_on_what_is_not_content_are_at_chance(parted: tuple[Path, Path]) -> None:
    found = blindness(*parted)
    assert [(each.target, each.model) for each in found] == [
        (t, m) for t in TARGETS for m in MODELS
    ]
    for each in found:
        assert each.low is not None and each.high is not None
        assert each.low <= 0.5 <= each.high and not each.leaks, str(each)
        # An interval that held everything would say nothing.
        assert each.high - each.low < 0.3, str(each)


def test_rows_are_alike_in_everything_but_content(parted: tuple[Path, Path]) -> None:
    _, names, x = surface(parted[0])
    key = fd.open(parted[1]).table("traces").to_pylist()
    hidden = sum(part_of(row["split"], row["fold"]) in ("calib", "test") for row in key)
    assert x.shape[0] == hidden
    # Ids and places are drawn anew; no other column that is not content varies.
    drawn = re.compile(
        r"(trace|item|intervention) (\d\d|number)|(table|probes) rank( of question)?"
    )
    assert [name for name in names if not drawn.fullmatch(name)] == []


def by_condition(key: Path) -> dict[str, tuple[str, str]]:
    rows = fd.open(key).table("traces").to_pylist()
    return {
        row["trace_id"]: (row["item_id"], f"{bool(row['axis'])}{row['condition']}") for row in rows
    }


def sorted_rows(public: Path, key: Path) -> None:
    """As a build makes them: item by item, an item's anchors first."""
    place = by_condition(key)
    change(public / "traces", lambda rows: sorted(rows, key=lambda row: place[row["trace_id"]]))


def sorted_index(public: Path, key: Path) -> None:
    place = by_condition(key)
    order = lambda rows: sorted(rows, key=lambda row: place[row["trace_id"]])  # noqa: E731
    change(public / "trajectories" / "index.parquet", order)


def numbered(public: Path, key: Path) -> None:
    """Ids in the order of making."""
    place = by_condition(key)
    names = {old: f"t-{number:08x}" for number, old in enumerate(sorted(place, key=place.get))}

    def rename(rows: Rows) -> None:
        for row in rows:
            row |= {end: names[row[end]] for end in ENDS if row.get(end) is not None}

    for folder in (public, key):
        for config in CONFIGS:
            change(folder / config, rename)
        agree(folder)


def more_probes(public: Path, key: Path) -> None:
    """What a build asks anchors beside all others."""
    anchors = {row["anchor_id"] for row in fd.open(key).table("pairs").to_pylist()}
    extra = {"kind": "truncate", "fraction": 0.2}
    for split in ("validation", "test"):
        change(
            public / "interventions" / f"{split}.parquet",
            lambda rows: [
                *rows,
                *(
                    row | extra
                    for row in rows
                    if row["trace_id"] in anchors and row["kind"] == "filler"
                ),
            ],
        )


def a_column(name: str) -> Callable[[Path, Path], None]:
    """A column of the key that was left in the public folder."""

    def leak(public: Path, key: Path) -> None:
        told = {row["trace_id"]: row for row in fd.open(key).table("traces").to_pylist()}
        change(
            public / "traces",
            lambda rows: [row | {name: told[row["trace_id"]][name]} for row in rows],
        )

    return leak


@pytest.mark.parametrize(
    ("leak", "target"),
    [
        (sorted_rows, "anchor"),
        (sorted_index, "anchor"),
        (numbered, "anchor"),
        (more_probes, "anchor"),
        (a_column("generation"), "anchor"),
        (a_column("axis"), "kind"),
        (a_column("label_evidence"), "label"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_planted_leak_is_found(
    parted: tuple[Path, Path], tmp_path: Path, leak: Callable[[Path, Path], None], target: str
) -> None:
    public, key = (Path(shutil.copytree(each, tmp_path / each.name)) for each in parted)
    leak(public, key)
    (found,) = blindness(public, key, targets=(target,), models=("boosting",))
    assert found.leaks, str(found)


def test_surplus_probes_are_dropped_and_would_be_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surplus = write_synthetic(tmp_path / "surplus", 20)
    asked_more(surplus)
    withhold(surplus, tmp_path / "p", tmp_path / "k", salt=SALT)
    names = fd.open(tmp_path / "p").manifest.withheld.probes
    assert "mistake" not in names and len(names) == 5
    rows = fd.open(tmp_path / "p").table("interventions", "train").to_pylist()
    assert "mistake" in {row["kind"] for row in rows}
    view = fd.open(tmp_path / "p").view("train", needs=("interventions",))
    assert "mistake" not in view.interventions.names
    assert "mistake" in fd.open(surplus).view("train", needs=("interventions",)).interventions.names

    def all_probes(traces: Any, rows: Rows, original: Any, new_id: Any) -> tuple[Rows, Any]:
        kept = [
            row | {"seed": None, "injected": None} for row in rows if row["role"] == Role.FEATURE
        ]
        return kept, tuple(sorted({probe_name(row["kind"], row["fraction"]) for row in kept}))

    monkeypatch.setattr(builders.withhold, "common_probes", all_probes)
    with pytest.raises(fd.InputError, match="betray what it is"):
        withhold(surplus, tmp_path / "p2", tmp_path / "k2", salt=SALT)
    assert not (tmp_path / "p2").exists()


def asked_more(folder: Path) -> None:
    """Give every anchor a further intervention, as a build does."""
    traces = fd.open(folder).table("traces").to_pylist()
    anchors = {row["trace_id"] for row in traces if row["axis"] is None}
    extra = {"kind": "mistake", "fraction": None, "seed": 100}

    def add(rows: Rows) -> Rows:
        more = [row for row in rows if row["trace_id"] in anchors and row["kind"] == "filler"]
        return [*rows, *(row | extra | {"intervention_id": f"m-{row['trace_id']}"} for row in more)]

    change(folder / "interventions", add)
    agree(folder)


def test_a_probe_that_the_words_rule_out_is_there_without_an_answer(tmp_path: Path) -> None:
    short = write_synthetic(tmp_path / "short", 20)
    traces = fd.open(short).table("traces", "test").to_pylist()
    one = next(row for row in traces if row["axis"] is None)["trace_id"]
    other = next(row for row in traces if row["trace_id"] != one)["trace_id"]

    def cut(rows: Rows) -> None:
        for row in rows:
            if row["trace_id"] == one:
                row |= {"reasoning": "So.", "steps": ["So."]}

    def drop(rows: Rows) -> Rows:
        gone = {(one, "truncate", 0.4), (other, "filler", None)}
        keys = ((row["trace_id"], row["kind"], row["fraction"]) for row in rows)
        return [
            row
            for row, key in zip(rows, keys, strict=True)
            if row["role"] == "label" or key not in gone
        ]

    change(short / "traces" / "test.parquet", cut)
    change(short / "interventions" / "test.parquet", drop)
    agree(short)
    withhold(short, tmp_path / "p", tmp_path / "k", salt=SALT)
    # A cut to no word is the same as that of a label probe; dots would have applied to the other.
    assert "truncate@0.4" in fd.open(tmp_path / "p").manifest.withheld.probes
    assert "filler" not in fd.open(tmp_path / "p").manifest.withheld.probes
    rows = fd.open(tmp_path / "p").table("interventions", "test").to_pylist()
    (row,) = [
        r
        for r in rows
        if r["fraction"] == 0.4 and r["answer_status"] == "none" and not r["injection_verified"]
    ]
    assert (row["response"], row["answer"], row["changed"]) == (None, None, None)


def test_controls_are_measured_and_told(parted: tuple[Path, Path]) -> None:
    controls = fd.open(parted[0]).manifest.withheld.controls
    assert set(controls) == {"length_only", "words_of_reasoning", "words_of_all"}
    for found in controls.values():
        assert 0 < found["low"] < found["auroc"] < found["high"] < 1 and found["reason"] is None
    # With the prompt, words tell at least of the cue.
    assert controls["words_of_all"]["low"] > 0.5
    assert controls["words_of_all"]["auroc"] > controls["words_of_reasoning"]["auroc"]
    card = (parted[0] / "README.md").read_text()
    assert f"{controls['length_only']['auroc']:.3f}" in card


def test_controls_know_words_and_only_words(synthetic: Path) -> None:
    data = fd.open(synthetic)
    found = content_baselines(data, ("test",))
    rows = data.table("traces", "test").to_pylist()
    known = [row["item_id"] for row in rows if row["label"] is not None]
    for each in found.values():
        assert (each["n_traces"], each["n_items"]) == (len(known), len(set(known)))
    # Unfaithful traces of this set are shorter and say so; one in ten does not keep to it.
    assert found["length_only"]["low"] > 0.6 and found["words_of_all"]["low"] > 0.7


def test_a_line_says_what_leaks() -> None:
    assert str(Blindness("kind", "linear", 0.7, 0.6, 0.8, 9)) == (
        "kind by linear: AUROC 0.700 [0.600, 0.800], 9 traces, LEAKS"
    )
    assert not Blindness("kind", "linear", 0.6, 0.5, 0.8, 9).leaks
    none = Blindness("kind", "linear", None, None, None, 0)
    assert not none.leaks and re.search("undefined", str(none))
