"""Chunks: they come back as they were, and nothing stale, foreign, torn or altered is taken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import chunk as chunks
from builders.chunk import BrokenChunk, Chunk, chunk_path, inputs_digest, load, save
from builders.presets import load_preset
from builders.sources import Question, make_item
from builders.weights import Weights

MINI = load_preset("mini")
MODEL = (Weights(Path("m"), "m", "sha256:1", "llama", "MIT", "here"),)
ITEMS = [
    make_item("d", "s", "t", Question((f"What is {k}?", f"{k}?"), str(k), (str(k + 1),)), "CC0")
    for k in range(3)
]
INPUTS = "ab" * 32


def sample() -> Chunk:
    trace = {"trace_id": "t1", "item_id": ITEMS[0].item_id, "condition": "base", "label": None}
    made = Chunk({"t1": trace}, {"t1": [{"kind": "truncate", "fraction": 0.1}]})
    made.descriptors["t1"] = {"psi": np.ones((2, 3), np.float16), "state": np.zeros(4, np.float16)}
    made.drop({"condition": "language"}, "no answer")
    made.tokens = 7
    return made


def stored(folder: Path, made: Chunk | None = None) -> Path:
    path = chunk_path(folder, "build", 3, INPUTS)
    save(path, made or sample(), INPUTS, {"machine": "x"})
    return path


def test_a_chunk_comes_back(tmp_path: Path) -> None:
    path = stored(tmp_path)
    assert path.name == f"build-0003-{INPUTS[:16]}.json"
    back, made_by = load(path)
    assert made_by == {"machine": "x"}
    whole = sample()
    assert (back.traces, back.interventions) == (whole.traces, whole.interventions)
    assert (back.dropped, back.errors, back.tokens) == ({"language": {"no answer": 1}}, {}, 7)
    for name, array in whole.descriptors["t1"].items():
        assert back.descriptors["t1"][name].dtype == np.float16
        assert np.array_equal(back.descriptors["t1"][name], array)
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".json", ".npz"]


def test_the_same_chunk_has_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for one, other in zip(
        sorted(stored(tmp_path / "a").parent.iterdir()),
        sorted(stored(tmp_path / "b").parent.iterdir()),
        strict=True,
    ):
        assert one.read_bytes() == other.read_bytes()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = stored(tmp_path_factory.mktemp("sound"))
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@settings(deadline=None)
@given(data=st.data())
def test_any_cut_or_flipped_byte_is_found(
    suffix: str, data: st.DataObject, sound: dict[str, bytes], tmp_path_factory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name, whole in sound.items():
        (folder / name).write_bytes(whole)
    path = next(folder / name for name in sound if name.endswith(".json"))
    victim = path.with_suffix(suffix)
    whole = sound[victim.name]
    at = data.draw(st.integers(0, len(whole) - 2))
    flipped = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    for bad in (whole[:at], flipped):
        victim.write_bytes(bad)
        try:
            again, _ = load(path)
        except BrokenChunk:
            continue
        # Only in white space or in what describes the machine may a byte differ unseen.
        assert suffix == ".json" and bad is flipped
        assert chunks._body(again) == chunks._body(sample())


def test_a_missing_array_file_is_found(tmp_path: Path) -> None:
    path = stored(tmp_path)
    path.with_suffix(".npz").unlink()
    with pytest.raises(BrokenChunk, match="npz"):
        load(path)


def test_a_chunk_under_another_name_is_foreign(tmp_path: Path) -> None:
    path = stored(tmp_path)
    other = chunk_path(tmp_path, "build", 3, "cd" * 32)
    path.rename(other)
    path.with_suffix(".npz").rename(other.with_suffix(".npz"))
    with pytest.raises(BrokenChunk, match="other inputs"):
        load(other)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"traces": 1}', "\x00", "[" * 5000])
def test_no_chunk_at_all_is_broken(text: str, tmp_path: Path) -> None:
    path = chunk_path(tmp_path, "screen", 0, INPUTS)
    path.write_text(text)
    with pytest.raises(BrokenChunk):
        load(path)


def test_a_failed_row_is_left_out_with_its_reason() -> None:
    made = sample()
    made.fail(made.traces["t1"], ValueError("a\nlong   story"))
    assert made.errors == {"t1": "base: ValueError: a long story"}
    assert not made.traces and not made.interventions and not made.descriptors


def digest(**changes: object) -> str:
    given = {"method": "build", "preset": MINI, "models": MODEL, "items": ITEMS, "taken": {}}
    return inputs_digest(**{**given, **changes})  # type: ignore[arg-type]


def test_the_digest_follows_from_all_that_rows_follow_from(monkeypatch) -> None:
    before = digest()
    assert digest() == before and len(before) == 64
    taken = {ITEMS[0].item_id: sample()}
    other = sample()
    other.traces["t1"]["label"] = 1
    changed = [
        digest(method="screen"),
        digest(items=ITEMS[::-1]),
        digest(items=[replace(ITEMS[0], gold="9"), *ITEMS[1:]]),
        digest(models=(replace(MODEL[0], revision="sha256:2"),)),
        digest(models=(*MODEL, replace(MODEL[0], revision="sha256:2"))),
        digest(taken=taken),
        digest(taken={ITEMS[0].item_id: other}),
        *(
            digest(preset=replace(MINI, **{key: value}))
            for key, value in {
                "label_rule": "construct",
                "cue_format": "professor",
                "attempts": 4,
                "max_tokens": 81,
                "temperature": 0.71,
                "top_p": 0.96,
                "writer_dtype": "bfloat16",
                "reader_dtype": "bfloat16",
            }.items()
        ),
    ]
    monkeypatch.setattr(chunks, "CODE_VERSION", 0)
    changed.append(digest())
    monkeypatch.setattr(chunks, "engine_versions", lambda: {"torch": "0"})
    changed.append(digest())
    assert len({before, *changed}) == len(changed) + 1


@pytest.mark.parametrize(
    ("name", "method", "recorded"),
    [
        ("mini", "screen", "5a4787b3d3a7624c6ba7f4c72a6fac43a13bd93affa8bfa6367d42574d4c3b4c"),
        ("mini", "build", "ad5e4f61ff22ed8e23832773e91ece571468c39fc24f59156313081db659b0b9"),
        ("twelve", "build", "495f5baad1a6f810b3d3687b5de1320c92dd512a2ceeb22baab9a44913d7e8a6"),
    ],
)
def test_builds_that_were_begun_before_are_taken_up(
    name: str, method: str, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CODE_VERSION", 2)
    monkeypatch.setattr(chunks, "engine_versions", lambda: {"engine": "1"})
    model = Weights(Path("m"), "org/m", "r1", "f", "l", "o")
    number = Question(("How many?", "What number?"), "7", ("8", "9"))
    choice = Question(("Which?", "Which one?"), "right", ("w1", "w2", "w3"))
    items = [
        make_item("word_problems", "s", "t", number, "CC0"),
        make_item("commonsense", "s", "t", choice, "CC0"),
    ]
    assert inputs_digest(method, load_preset(name), [model], items, {}) == recorded


def test_the_digest_does_not_follow_from_what_lies_around() -> None:
    around = replace(
        MINI, name="other", version="9", draw_seed=1, keep_per_domain=1, shares=MINI.shares | {}
    )
    moved = (replace(MODEL[0], path=Path("elsewhere")),)
    assert digest(preset=around, models=moved) == digest()
    # Rows of other items in a screened chunk are not taken over.
    more = sample()
    more.traces["t2"] = {**more.traces["t1"], "trace_id": "t2", "item_id": "another"}
    key = ITEMS[0].item_id
    assert digest(taken={key: more}) == digest(taken={key: sample()})


def test_a_stored_chunk_is_canonical_json(tmp_path: Path) -> None:
    text = stored(tmp_path).read_text()
    assert json.dumps(json.loads(text), sort_keys=True, indent=2) + "\n" == text
