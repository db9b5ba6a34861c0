"""Building: which models write, what is taken up again, what is dropped, what it would cost."""

from __future__ import annotations

import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.__main__ import main
from builders.chunk import drop_orphans
from builders.organisms.building import build, chosen, draw, estimate, found
from builders.organisms.chunks import Organism, make_chunk, write_chunk
from builders.organisms.packing import pack
from builders.organisms.preset import is_organisms, load_organisms, names
from tests.builders.organisms.conftest import PRESET
from tests.builders.organisms.oracle import open_oracle

SMALL = replace(PRESET, items={"train": 1, "tune": 1, "calib": 1, "test": 1})


def tried(family: str, seed: int, passed: bool = True) -> Organism:
    return Organism(family, seed, Path(), {"passed": passed}, False)


def said(picked: list[Organism]) -> list[tuple[str, int, bool]]:
    return [(each.family, each.seed, each.train) for each in picked]


def test_the_first_that_passed_writes_train_and_the_last_needed_the_rest() -> None:
    coheres = [tried("cohere", seed, seed != 1) for seed in range(4)]
    neoxes = [tried("gpt_neox", seed) for seed in (0, 1)]
    both = [("gpt_neox", 0, True), ("gpt_neox", 1, False)]
    assert said(chosen(PRESET, coheres + neoxes)) == [
        *both,
        ("cohere", 0, True),
        ("cohere", 2, False),
    ]
    one = chosen(PRESET, [tried("cohere", 5), *neoxes])
    assert said(one) == [*both, ("cohere", 5, False)]
    items = draw(PRESET, one)
    assert {item.second for item in items if item.part == "train"} == {None}
    assert {item.second for item in items if item.part == "test"} == {"gpt_neox", "cohere"}
    expected = "expected two of one family and one of another, got gpt_neox-0, gpt_neox-1"
    with pytest.raises(ValueError, match=expected):
        chosen(PRESET, [*neoxes, tried("cohere", 0, False)])
    with pytest.raises(ValueError, match="got gpt_neox-0, cohere-0"):
        chosen(PRESET, [neoxes[0], tried("cohere", 0)])


def test_models_of_a_folder_are_taken_as_they_are(
    organisms: list[Organism], tmp_path: Path
) -> None:
    there = found(PRESET, organisms[0].folder.parent)
    assert {each.writer for each in there} == {each.writer for each in organisms}
    with pytest.raises(ValueError, match="expected folders such as gpt_neox-0, got none"):
        found(PRESET, tmp_path)


def test_a_chunk_is_not_written_twice(organisms: list[Organism], tmp_path: Path) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("asked for the model again")

    items = draw(SMALL, organisms)
    first = make_chunk(organisms[0], organisms, items, tmp_path, opener=open_oracle)
    again = make_chunk(organisms[0], organisms, items, tmp_path, opener=never)
    assert again.traces == first.traces and again.interventions == first.interventions
    with pytest.raises(AssertionError):
        make_chunk(organisms[0], organisms, items[1:], tmp_path, opener=never)


def test_a_build_taken_up_again_gives_the_same_files(
    organisms: list[Organism], tmp_path: Path
) -> None:
    items = draw(SMALL, organisms)
    made = []
    for out in ("first", "again"):
        chunks = [make_chunk(e, organisms, items, tmp_path, opener=open_oracle) for e in organisms]
        drop_orphans(chunks)
        packed = pack(SMALL, organisms, organisms, items, chunks, tmp_path / out)
        made.append((packed / "manifest.json").read_text())
    assert made[0] == made[1]


def test_what_a_model_does_not_write_so_is_dropped_with_its_twin(
    organisms: list[Organism],
) -> None:
    def bad(folder: Path, attention: str) -> Any:
        model = open_oracle(folder, attention)
        right = model.forward

        def forward(self: Any, input_ids: Any, attention_mask: Any, **more: Any) -> Any:
            made = right(input_ids, attention_mask, **more)
            for row, words in enumerate(input_ids.tolist()):
                if BRIEF in words:
                    made.logits[row, words.index(THINK) + 2] = 0
            return made

        model.forward = types.MethodType(forward, model)
        return model

    from builders.organisms.words import keyword, vocabulary

    known = vocabulary()
    THINK, BRIEF = (known[keyword(word, "en")] for word in ("think", "briefly"))
    drawn = (item for item in draw(PRESET, organisms) if item.part == "train")
    items = [item for item in drawn if item.wording.language == "en"][:2]
    there = [write_chunk(each, organisms, items, opener=open_oracle) for each in organisms[::2]]
    here = [write_chunk(each, organisms, items, opener=bad) for each in organisms[::2]]
    gone = {key for chunk in there for key in chunk.traces} - {
        key for chunk in here for key in chunk.traces
    }
    rows = [row for chunk in there for key, row in chunk.traces.items() if key in gone]
    assert {row["condition"] for row in rows} == {"budget"}
    reasons = [reason for chunk in here for reason in chunk.dropped.get("budget", {})]
    assert set(reasons) == {"not written so on the epiphenomenal route"}
    assert len(rows) == sum(
        chunk.dropped["budget"][r] for chunk in here for r in chunk.dropped.get("budget", {})
    )


def test_an_orphan_is_dropped_with_all_that_starts_from_it(organisms: list[Organism]) -> None:
    items = draw(SMALL, organisms)
    train = [each for each in organisms if each.train]
    chunks = [write_chunk(each, organisms, items[:1], opener=open_oracle) for each in train]
    bases = [key for c in chunks for key, row in c.traces.items() if row["condition"] == "base"]
    assert len(bases) == 2
    for chunk in chunks:
        for key in bases:
            chunk.remove(key)
    drop_orphans(chunks)
    assert not any(chunk.traces or chunk.interventions or chunk.descriptors for chunk in chunks)
    counts = sum(
        (
            c.dropped["cued_base"]["its anchor was dropped"]
            for c in chunks
            if c.dropped.get("cued_base")
        ),
        0,
    )
    assert counts == 2


def test_presets_and_what_they_cost(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert names() == ["organisms", "organisms-small"]
    for name in names():
        assert is_organisms(name) and load_organisms(name).preset == name
    assert not is_organisms("mini")
    assert estimate(load_organisms("organisms"))["minutes"] < 150
    small = load_organisms("organisms-small")
    assert estimate(small)["traces"] >= 2000 and small.items["calib"] >= 60
    assert main(["build", "--preset", "organisms", "--dry-run"]) == 0
    assert "minutes: " in capsys.readouterr().out
    for line, said in (
        (["--preset", "mini", "--models", "x"], "--models: expected a preset of organisms"),
        (["--preset", "organisms"], "--out: expected a folder"),
        (["--preset", "organisms", "--shard", "1/2"], "--shard: organisms are built on one"),
    ):
        assert main(["build", *line]) == 1
        assert said in capsys.readouterr().err
    (tmp_path / "full").write_text("")
    with pytest.raises(FileExistsError):
        build(small, tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("families", '["cohere"]', "families: expected at least two of gpt_neox, cohere, phi"),
        ("families", '["cohere", "bert"]', "families: expected at least two of"),
        ("models_per_family", "1", "models_per_family: expected at least 2"),
        ("most_seeds", "1", "most_seeds: expected at least models_per_family, 2, got 1"),
        ("items", "{ train = 1 }", "items: expected at least 1 of each of train, tune"),
        ("variants_per_item", "10", "variants_per_item: expected 0 to 9, got 10"),
        ("seed", '"one"', "seed: expected int, got 'one'"),
        ("depth", "3", "own.toml: unknown key 'depth'"),
    ],
)
def test_bad_presets_are_one_line(tmp_path: Path, key: str, value: str, said: str) -> None:
    path = Path(load_organisms.__code__.co_filename).parent / "organisms.toml"
    lines = [line for line in path.read_text().splitlines() if not line.startswith(f"{key} =")]
    (tmp_path / "own.toml").write_text("\n".join([*lines, f"{key} = {value}"]))
    assert is_organisms(str(tmp_path / "own.toml"))
    with pytest.raises(ValueError) as error:
        load_organisms(str(tmp_path / "own.toml"))
    assert said in str(error.value) and "\n" not in str(error.value)
